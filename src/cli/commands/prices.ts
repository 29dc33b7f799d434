import type { PricewellClient, Schemas } from '../../client/index.ts'
import { castExtensions, productReader, type Row, whereOption } from '../products.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { type TableRow, table } from '../terminal.ts'

type PriceRow = Schemas['PriceRow']

export function addPrices(program: Program): void {
  const description = 'Reads the prices of a product in a price list, for every matching row.'
  productCommand(program, 'prices', description)
    .option('--promotion-date <day>', 'the day of the promotions; today when left out')
    .option('--as-of <moment>', 'as of a revision, or of a day and time')
    .option('--client <code>', 'the prices that agreements give this client')
    .option('--require-valid', 'fails if the list is not valid on that day')
    .addHelpText(
      'after',
      "\nExample:\n  pricewell prices 'Retail 2026' 85123A --where country=France --dimension retail",
    )
    .action(async (list, code, options) => {
      const client = openClient()
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
      answer(data, table(data.map(columns), noRow))
    })
}

export function addHistory(program: Program): void {
  const description =
    'Shows the prices of a product in a price list over time, for every matching row.'
  productCommand(program, 'history', description)
    .addHelpText('after', "\nExample:\n  pricewell history 'Retail 2026' 85123A --dimension retail")
    .action(async (list, code, options) => {
      const client = openClient()
      const readKeys = await productReader(client, options.where ?? {})
      // A row that has left a list has a history, too.
      const keys = await readKeys(code, productsMax)
      const cells = await inputRows(client, list, {}, options)
      const payload = keys.flatMap((key) => cells.map((cell) => ({ ...key, ...cell })))
      const { data: rows } = await client.POST('/api/v1/prices/get_price_history/', {
        body: { price_list_name: list, payload },
      })
      const data = rows.filter(({ history }) => history.length > 0)
      const entries = data.flatMap(({ history, ...key }) =>
        history.map((entry) => historyRow(key, entry)),
      )
      answer(data, table(entries, noRow))
    })
}

/** A command for the prices of a product: its arguments, and the options that choose them. */
function productCommand(program: Program, name: string, description: string) {
  return program
    .command(name)
    .description(description)
    .argument('<list>', 'the name of the price list')
    .argument('<code>', 'the product code')
    .addOption(whereOption)
    .option('--dimension <name>', 'only this price dimension; all of the list when left out')
    .option('--date <day>', 'the day to read in a calendar list; today when left out')
}

const noRow = 'No row of the list matches.'

/** More have too long a history for one answer. */
const productsMax = 1000

function historyRow(
  key: Row,
  { from, to, price, kind, actor, note }: Schemas['PriceEntry'],
): TableRow {
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
