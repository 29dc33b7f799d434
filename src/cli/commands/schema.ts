import { InvalidArgumentError } from '@commander-js/extra-typings'
import { type PricewellClient, Problem, type Schemas } from '../../client/index.ts'
import { collect } from '../option-values.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { type TableRow, table } from '../terminal.ts'

type Catalog = Schemas['CatalogSchema']
type Competitors = Schemas['HeldCompetitorSchema']

/** `pricewell schema`, with `set`, `add` and `competitor-prices`. */
export function addSchema(program: Program): void {
  const schema = program
    .command('schema')
    .description('Shows the columns of the catalog and of competitor prices, with their types.')
    .addHelpText('after', '\nExample:\n  pricewell schema')
    .action(async () => {
      const client = openClient()
      const [{ data: catalog }, competitors] = await Promise.all([
        client.GET('/api/v1/product_catalog/schema/'),
        readCompetitors(client),
      ])
      const told = { catalog, competitor_prices: competitors ?? null }
      answer(told, `${catalogText(catalog)}\n\n${competitorText(competitors, catalog)}`)
    })
  addDeclaration(schema, {
    name: 'set',
    description:
      'Sets all columns of the catalog; while there are products, only `add` is possible.',
    example: '--extension country --attribute weight:number --cost purchase',
    readPresent: async () => ({}),
  })
  addDeclaration(schema, {
    name: 'add',
    description:
      'Adds columns to the catalog; while there are products, attributes and costs only.',
    example: '--attribute weight:number --cost freight',
    readPresent: async ({ GET }) => declared((await GET('/api/v1/product_catalog/schema/')).data),
  })
  addCompetitors(schema)
}

/** The `schema` command, the parent of the others. */
type SchemaCommand = ReturnType<Program['command']>
type Declared = Schemas['CatalogSchemaInput']

/** The columns as declared, without letters. */
function declared({ attributes, extensions, costs }: Catalog): Declared {
  const withoutLetter = <C extends Column>({ letter: _, ...column }: C) => column
  return {
    attributes: attributes.map(withoutLetter),
    extensions: extensions.map(withoutLetter),
    costs: costs.map(({ name }) => ({ name })),
  }
}

interface Declaration {
  name: string
  description: string
  /** The options of the example in the help. */
  example: string
  /** Reads the columns to keep. */
  readPresent: (client: PricewellClient) => Promise<Declared>
}

function addDeclaration(schema: SchemaCommand, declaration: Declaration): void {
  const { name, description, example, readPresent } = declaration
  schema
    .command(name)
    .description(description)
    .option(
      '--extension <name[:type]>',
      'identifies a row along with the code; may be repeated',
      oneColumn,
    )
    .option('--attribute <name[:type]>', 'describes a code; may be repeated', oneColumn)
    .option('--cost <name>', 'a number, for margins; may be repeated', collect)
    .addHelpText(
      'after',
      `
Types: ${types.join(', ')}; string when left out.

Example:
  pricewell schema ${name} ${example}`,
    )
    .action(async ({ extension = [], attribute = [], cost = [] }) => {
      const client = openClient()
      const present = await readPresent(client)
      const body = {
        attributes: [...(present.attributes ?? []), ...attribute],
        extensions: [...(present.extensions ?? []), ...extension],
        costs: [...(present.costs ?? []), ...cost.map((name) => ({ name }))],
      }
      const { data } = await client.POST('/api/v1/product_catalog/schema/create_schema/', { body })
      answer(data, catalogText(data))
    })
}

const types = ['string', 'integer', 'number', 'boolean', 'date'] as const

type ColumnInput = Schemas['ColumnInput']

/** Adds a column, such as weight:number, to earlier ones. */
function oneColumn(text: string, earlier: ColumnInput[] = []): ColumnInput[] {
  const [, name = text, given = 'string'] = /^(.*):([^:]*)$/s.exec(text) ?? []
  const type = types.find((one) => one === given)
  if (!type || name === '')
    throw new InvalidArgumentError(`Must be a name, or a name and a type: ${types.join(', ')}.`)
  return [...earlier, { name, type }]
}

function addCompetitors(schema: SchemaCommand): void {
  schema
    .command('competitor-prices')
    .description(
      'Sets the columns of the catalog that say which product a competitor price is for.',
    )
    .argument('<column...>', 'code, attributes, extensions')
    .option('--dated', 'a competitor price may be for one day (departure_date)')
    .addHelpText('after', '\nExample:\n  pricewell schema competitor-prices code country')
    .action(async (columns, { dated }) => {
      const client = openClient()
      const path = '/api/v1/competitor_prices/schema/create_schema/'
      const body = { attributes_config: columns, ...(dated && { is_dated: true }) }
      const { data } = await client.POST(path, { body })
      answer(data, `Competitor prices have: ${data.input.dimensions.join(', ')}.`)
    })
}

/** Returns undefined if there is no competitor schema yet. */
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
  values?: readonly unknown[]
}

function described(kind: string, { name, type, letter, values }: Column): TableRow {
  return { column: name, kind, type, letter, 'allowed values': values?.join(', ') }
}

function competitorText(schema: Competitors | undefined, catalog: Catalog): string {
  if (!schema) return 'There is no competitor schema yet.'
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
