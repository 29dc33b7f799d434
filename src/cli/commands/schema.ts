import { type PricewellClient, Problem, type Schemas } from '../../client/index.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { type TableRow, table } from '../terminal.ts'

type Catalog = Schemas['CatalogSchema']
type Competitors = Schemas['HeldCompetitorSchema']

/** `pricewell schema`. */
export function addSchema(program: Program): void {
  program
    .command('schema')
    .description('Shows the columns of the catalog and of competitor prices, with their types.')
    .addHelpText('after', '\nExample:\n  pricewell schema')
    .action(async (_options, command) => {
      const options = command.optsWithGlobals()
      const client = openClient(options)
      const [{ data: catalog }, competitors] = await Promise.all([
        client.GET('/api/v1/product_catalog/schema/'),
        readCompetitors(client),
      ])
      const told = { catalog, competitor_prices: competitors ?? null }
      answer(options, told, `${catalogText(catalog)}\n\n${competitorText(competitors, catalog)}`)
    })
}

/** Undefined if there is none yet. */
async function readCompetitors({ GET }: PricewellClient): Promise<Competitors | undefined> {
  const answered = GET('/api/v1/competitor_prices/schema/').catch((error) => {
    if (error instanceof Problem && error.type === 'not-found') return undefined
    throw error
  })
  return (await answered)?.data
}

function catalogText({ attributes, extensions, costs }: Catalog): string {
  const rows = [
    ...extensions.map((column) => described('extension', column)),
    ...attributes.map((column) => described('attribute', column)),
    ...costs.map((column) => described('cost', { type: 'number', ...column })),
  ]
  const code: TableRow = { column: 'code', kind: 'key', type: 'string', letter: 'A' }
  return `Catalog\n${table([code, ...rows])}`
}

interface Column {
  name: string
  type: string
  letter?: string
  allowed_values?: readonly unknown[]
}

function described(kind: string, { name, type, letter, allowed_values: values }: Column): TableRow {
  return { column: name, kind, type, letter, 'allowed values': values?.join(', ') }
}

function competitorText(schema: Competitors | undefined, catalog: Catalog): string {
  if (!schema) return 'There is no schema of competitor prices yet.'
  const types = new Map<string, string>(
    [...catalog.attributes, ...catalog.extensions].map(({ name, type }) => [name, type]),
  )
  const rows = [
    ...schema.input.dimensions.map((column) => ({ column, type: types.get(column) ?? 'string' })),
    { column: 'competitor_name', type: 'string' },
    ...(schema.is_dated ? [{ column: 'departure_date', type: 'date' }] : []),
  ]
  return `Competitor prices, by\n${table(rows)}`
}
