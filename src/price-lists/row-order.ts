import { type RawBuilder, sql } from 'kysely'
import { keyValues } from '../catalog/columns.ts'
import { type OrderedRows, type OrderKey, orderBy, orderKeys } from '../contract/list-order.ts'
import { Problem } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { joinProducts, priceOf } from './list-rows.ts'
import { withMargin } from './margin-sql.ts'
import { ofList } from './queries.ts'
import type { RowsQuery, ShownRows } from './shown-rows.ts'

/** Rows whose ordering value can be looked up in about half a second; a margin needs the product's costs. */
const lookedUpMax = 100_000

/** A SELECT of rows `r` of a list; `names` are the names of its columns. */
export interface SelectedRows {
  fields: RawBuilder<unknown>
  names: readonly string[]
  /** Joins products `p` if a margin orders the rows. */
  from: RawBuilder<unknown>
}

export interface OrderedListRows extends OrderedRows {
  /** SQL of these columns of all rows, in order; `further` columns break ties. */
  inOrder: (selected: SelectedRows, ...further: string[]) => RawBuilder<unknown>
}

/** The rows in the requested order. Throws `invalid-request` for an order that they do not have, and `too-costly`. */
export async function orderedRows(
  trx: Trx,
  shown: ShownRows,
  query: RowsQuery,
): Promise<OrderedListRows> {
  const { list, rows } = shown
  const value = { name: query.order?.replace('-', ''), index: findDimension(shown, query) }
  if (value.name === 'price' || value.name === 'margin')
    await rejectUnordered(trx, shown, value.name)
  const members = sql`${ofList(list, 'r')} and ${rows.isMember}`
  const keys = rowKeys(shown, query.order)
  return {
    rows: selectValued(shown, value, keysOf(shown, value, rows.fromAll), members),
    // A row that was removed and brought back is in the past twice, with the same id: the one in the revision comes
    // first.
    rowOf: (id) =>
      selectValued(
        shown,
        value,
        keysOf(shown, value, rows.from),
        sql`${ofList(list, 'r')} and r.id = ${id} order by (${rows.isMember}) desc limit 1`,
      ),
    keys,
    inOrder: (selected, ...further) => {
      const listed = selectValued(shown, value, selected, members)
      const last = further.map((name) => ({ value: sql.ref(name) }))
      return sql`select * from ${listed} as listed order by ${orderBy([...keys, ...last])}`
    },
  }
}

function rowKeys({ list, columns, version }: ShownRows, order: string | undefined): OrderKey[] {
  const ties = keyValues(columns).map((value): OrderKey => ({ value }))
  const [code] = ties
  const isStored = version === 'published' && !list.is_calendar
  const price = { value: sql.ref('price'), isNullable: true, isScanned: isStored }
  const margin = { value: sql.ref('margin'), isNullable: true }
  return orderKeys(order, { ...(code && { code }), price, margin }, ties)
}

/** The columns that order a page, of these rows with prices; without prices unless they are needed. */
function keysOf(
  { list, rows }: ShownRows,
  { name }: OrderingValue,
  priced: RawBuilder<unknown>,
): SelectedRows {
  const from = { price: priced, margin: sql`${priced} ${joinProducts(list)}` }[name ?? '']
  const fields = sql`r.id, r.code, r.extensions ${name === 'margin' ? sql`, p.costs` : sql``}`
  return { fields, names: ['id', 'code', 'extensions'], from: from ?? rows.fromKeys }
}

/** The index of the dimension that orders the rows, the first by default. Throws `invalid-request`. */
function findDimension({ list }: ShownRows, { order, price_dimension: name }: RowsQuery): number {
  if (name === undefined) return 0
  const reject = (code: 'not_allowed' | 'unknown_price_dimension', message: string) => {
    throw invalidRequest([{ pointer: '/query/price_dimension', code, message }])
  }
  if (!/^-?(price|margin)$/.test(order ?? ''))
    reject(
      'not_allowed',
      'says whose price or margin orders the rows: it goes with order=price or order=margin',
    )
  const index = list.price_dimensions.indexOf(name)
  if (index < 0) reject('unknown_price_dimension', 'the list has no such price dimension')
  return index
}

/** Throws for prices and margins of the draft, margins of the past, and too many rows to look up values for. */
async function rejectUnordered(
  trx: Trx,
  { list, version, rows }: ShownRows,
  name: 'price' | 'margin',
): Promise<void> {
  const reject = (message: string) => {
    throw invalidRequest([{ pointer: '/query/order', code: 'not_allowed', message }])
  }
  if (version === 'draft') reject('the draft has no prices and margins')
  if (version === 'past' && name === 'margin') reject('margins have no history')
  if (name === 'price' && version === 'published' && !list.is_calendar) return
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from (
      select from ${rows.fromKeys}
      where ${ofList(list, 'r')} and ${rows.isMember}
      limit ${sql.lit(lookedUpMax + 1)}
    ) as counted`
  if (count <= lookedUpMax) return
  const what = name === 'margin' ? 'margin' : version === 'past' ? 'a past price' : 'a day’s price'
  throw new Problem(
    'too-costly',
    `An order by ${what} looks at no more than ${lookedUpMax} rows, these are more. Narrow them by \`filters\` or \`contains\`, or order by \`code\`.`,
  )
}

/** What orders the rows and, for a price or margin, the index of its dimension. */
interface OrderingValue {
  name: string | undefined
  index: number
}

/** SQL of a FROM item with these columns and the ordering value of the rows that `which` selects. */
function selectValued(
  { list, columns, rows, date }: ShownRows,
  { name, index }: OrderingValue,
  { fields, names, from }: SelectedRows,
  which: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const price = priceOf(rows, index, date)
  if (name === 'price')
    return sql`(select ${fields}, ${price} as price from ${from} where ${which})`
  if (name !== 'margin') return sql`(select ${fields} from ${from} where ${which})`
  // A price that was never set reads as 0.
  const cells = sql`(select ${fields}, coalesce(${price}, 0) as price from ${from} where ${which}) as cell`
  return sql`(select * from ${withMargin(list, columns, cells, names)})`
}
