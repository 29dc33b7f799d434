import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { PricewellClient, Schemas } from '../../client/index.ts'
import { UsageFault } from '../faults.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { type TableRow, table } from '../terminal.ts'

type Row = Record<string, unknown>
type PriceRow = Schemas['PriceRow']

export function addPrices(program: Program): void {
  program
    .command('prices')
    .description('Reads the prices of a product in a price list, for every matching row.')
    .argument('<list>', 'the name of the price list')
    .argument('<code>', 'the product code')
    .option(
      '--where <name=value>',
      'only this value of an extension; may be repeated for others',
      pair,
    )
    .option('--dimension <name>', 'only this price dimension; all of the list when left out')
    .option('--date <day>', 'the day to read in a calendar list; today when left out')
    .option('--promotion-date <day>', 'the day of the promotions; today when left out')
    .option('--as-of <moment>', 'as of a revision, or of a day and time')
    .option('--client <code>', 'the prices that agreements give this client')
    .option('--require-valid', 'fails if the list is not valid on that day')
    .addHelpText(
      'after',
      "\nExample:\n  pricewell prices 'Retail 2026' 85123A --where country=France --dimension retail",
    )
    .action(async (list, code, _options, command) => {
      const options = command.optsWithGlobals()
      const client = openClient(options)
      const extensions = await castExtensions(client, options.where ?? {})
      const payload = await inputRows(client, list, { code, ...extensions }, options)
      const { promotionDate: promotion_date, asOf: as_of, client: client_code } = options
      // Costs, and therefore margins, have no history.
      const margins = as_of === undefined ? (['margin', 'active_margin'] as const) : []
      const { data } = await client.POST('/api/v1/prices/get_prices/', {
        body: {
          price_list_name: list,
          include: ['base_price', ...margins],
          payload,
          ...(promotion_date && { promotion_date }),
          ...(as_of !== undefined && { as_of }),
          ...(client_code !== undefined && { client_code }),
          ...(options.requireValid && { require_valid: true }),
        },
      })
      const shown = data.length > 0 ? table(data.map(columns)) : 'No row of the list matches.'
      answer(options, data, shown)
    })
}

export function addHistory(program: Program): void {
  program
    .command('history')
    .description('Shows the prices of a product in a price list over time, for every matching row.')
    .argument('<list>', 'the name of the price list')
    .argument('<code>', 'the product code')
    .option(
      '--where <name=value>',
      'only this value of an extension; may be repeated for others',
      pair,
    )
    .option('--dimension <name>', 'only this price dimension; all of the list when left out')
    .option('--date <day>', 'the day to read in a calendar list; today when left out')
    .addHelpText('after', "\nExample:\n  pricewell history 'Retail 2026' 85123A --dimension retail")
    .action(async (list, code, _options, command) => {
      const options = command.optsWithGlobals()
      const client = openClient(options)
      const keys = await productKeys(client, code, options.where ?? {})
      const cells = await inputRows(client, list, {}, options)
      const payload = keys.flatMap((key) => cells.map((cell) => ({ ...key, ...cell })))
      const { data: rows } = await client.POST('/api/v1/prices/get_price_history/', {
        body: { price_list_name: list, payload },
      })
      const data = rows.filter(({ history }) => history.length > 0)
      const entries = data.flatMap(({ history, ...key }) =>
        history.map((entry) => told(key, entry)),
      )
      answer(options, data, entries.length > 0 ? table(entries) : 'No row of the list matches.')
    })
}

/** The code and extensions of the products with a code, in a list or not: a row that has left a list has a history. */
async function productKeys(
  client: PricewellClient,
  code: string,
  where: Record<string, string>,
): Promise<Row[]> {
  const values = Object.entries(await castExtensions(client, where))
  const filters = {
    code: [code],
    ...Object.fromEntries(values.map(([name, one]) => [name, [one]])),
  }
  const query = { filters: JSON.stringify(filters), limit: productsMax }
  const { data: found } = await client.GET('/api/v1/product_catalog/', { params: { query } })
  if (found.count > productsMax)
    throw new UsageFault(`${found.count} products have this code: choose some with --where.`)
  const { extensions } = (await client.GET('/api/v1/product_catalog/schema/')).data
  const names = ['code', ...extensions.map(({ name }) => name)]
  return (found.results as Row[]).map((product) =>
    Object.fromEntries(names.map((name) => [name, product[name]])),
  )
}

const productsMax = 1000

function told(key: Row, { from, to, price, kind, actor, note }: Schemas['PriceEntry']): TableRow {
  return { ...(key as TableRow), price, from, to: to ?? 'now', kind, who: actor?.name, note }
}

/** A payload row for each price dimension, with the day if the list has a calendar. */
async function inputRows(
  { GET }: PricewellClient,
  name: string,
  row: Row,
  given: { dimension?: string | undefined; date?: string | undefined },
): Promise<Row[]> {
  const { data } = await GET('/api/v1/price_list/', { params: { query: { name } } })
  const list = data.results[0]
  const date = given.date ?? (list?.is_calendar ? new Date().toISOString().slice(0, 10) : undefined)
  const dated = { ...row, ...(date && { date }) }
  const all = list && list.price_dimensions.length > 1 ? list.price_dimensions : []
  const dimensions = given.dimension === undefined ? all : [given.dimension]
  return dimensions.length > 0
    ? dimensions.map((price_dimension) => ({ ...dated, price_dimension }))
    : [dated]
}

async function castExtensions(
  client: PricewellClient,
  given: Record<string, string>,
): Promise<Row> {
  const entries = Object.entries(given)
  if (entries.length === 0) return {}
  const cast = await readCast(client)
  return Object.fromEntries(entries.map(([name, text]) => [name, cast(name, text)]))
}

/** The code, the extensions, what else was requested, and the prices. */
function columns(row: PriceRow): TableRow {
  const { promotions, base_price, active_price, active_margin, price_dimension, date, ...others } =
    row
  const {
    price_list_name,
    price_list_id,
    extended_catalog_id,
    pk,
    margin,
    dynamic_attributes,
    priced,
    explain,
    lowest_price,
    agreement,
    competition,
    sales,
    ...product
  } = others
  const asked = { ...product, price_dimension, date } as TableRow
  const names = promotions.map(({ name, value }) => `${name} ${value}`).join(', ')
  const prices = { base_price, active_price, active_margin }
  return { ...asked, ...prices, promotions: names, agreement: agreement?.name }
}

/** Parses an option like country=France and adds it to the earlier ones. Throws InvalidArgumentError. */
export function pair(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Must be a name and a value, such as country=France.')
  if (Object.hasOwn(earlier, name)) throw new InvalidArgumentError(`${name} has a value already.`)
  return { ...earlier, [name]: value }
}

/** Converts the text of an extension to its JSON value. */
type Cast = (name: string, text: string) => unknown

/**
 * Converts by the catalog's types; the service refuses texts that do not fit. Throws UsageFault for unknown extensions.
 */
async function readCast({ GET }: PricewellClient): Promise<Cast> {
  const { extensions } = (await GET('/api/v1/product_catalog/schema/')).data
  return (name, text) => {
    const column = extensions.find((extension) => extension.name === name)
    if (!column) {
      const names = extensions.map((extension) => extension.name).join(', ') || 'none'
      throw new UsageFault(`There is no extension "${name}"; available: ${names}.`)
    }
    return castTo(column.type, text)
  }
}

/** Converts a text to the JSON value of a type; one that does not fit stays a text, which the service refuses. */
export function castTo(type: Schemas['ColumnType'], text: string): unknown {
  const isNumeric = type === 'integer' || type === 'number'
  if (isNumeric && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}
