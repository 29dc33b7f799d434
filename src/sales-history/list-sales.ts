import { sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import type { Export } from '../contract/export.ts'
import {
  columnKeys,
  type OrderKey,
  orderBy,
  orderKeys,
  readOrderedPage,
  rowsOfTable,
} from '../contract/list-order.ts'
import { type OperationRequest, type Schemas, transaction } from '../contract/operation.ts'
import { filtersOf, onPage, withoutAbsent } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { shownTimestamp } from '../database/shown-timestamp.ts'

/** One page of sales, by id or in the requested order. */
export const listSales = transaction<'listSales'>(async (trx, { account, query }) => {
  const rows = sql`(${filtered(trx, account, query).select(keyColumns)})`
  const ordered = rowsOfTable('sales', account, { rows, keys: saleKeys(query) })
  const page = trx
    .selectFrom('sales')
    .where('account_id', '=', account)
    .where('id', '=', onPage)
    .select(selected)
  const { count, rows: found } = await readOrderedPage(trx, ordered, query, page)
  return { count, results: found.map(saleOf) }
})

/** Exports all sales that pass the filters, in the order of `listSales`. */
export const exportSales: Export<'listSales'> = async (trx, { account, query }) => ({
  columns,
  query: trx
    .selectFrom(filtered(trx, account, query).selectAll().as('listed'))
    .select(selected)
    .orderBy(orderBy(saleKeys(query))),
  rowsOf: (sale: object) => [saleOf(sale)],
})

const columns = [
  'id',
  'transaction_id',
  'price_list_name',
  'price_dimension',
  'code',
  'extension',
  'quantity',
  'revenue',
  'active_price',
  'client_code',
  'agreement_code',
  'departure_date',
  'transaction_date',
  'currency',
] as const

/** The columns of a sale as it is read: decimals are text. */
const selected = columns.map((name) => {
  if (name === 'transaction_date') return shownTimestamp(sql`transaction_date`).as(name)
  const isDecimal = name === 'quantity' || name === 'revenue' || name === 'active_price'
  return isDecimal ? sql<string | null>`${sql.ref(name)}::text`.as(name) : name
})

const saleOf = (sale: object) => withoutAbsent(sale) as Schemas['Sale']

/** The id and the columns that orders use. */
const keyColumns = [
  'id',
  'code',
  'quantity',
  'revenue',
  'active_price',
  'transaction_date',
] as const

const orders = columnKeys(['code', 'quantity', 'revenue'], ['active_price', 'transaction_date'])

/**
 * `id + 0` keeps PostgreSQL from using the index of ids: a filter by days alone uses the index of days and sorts by id
 * afterwards, because the newest days come last in the order of ids.
 */
function saleKeys({ order, code, transaction_id, from, to }: Query): OrderKey[] {
  const isByDay = code === undefined && transaction_id === undefined && (from ?? to) !== undefined
  return isByDay && order === undefined ? [{ value: sql`listed.id + 0` }] : orderKeys(order, orders)
}

type Query = OperationRequest<'listSales'>['query']

const texts = ['transaction_id', 'code', 'extension', 'client_code', 'price_list_name'].map(
  (name) => sql.ref(name),
)

/** Casts to timestamptz: under row-level security no index serves a comparison of a timestamp with a date. */
function filtered(trx: Trx, account: number, query: Query) {
  const { from, to, contains, ...filters } = filtersOf(query)
  const day = (text = '') => sql<Date>`${text}::date::timestamptz`
  const dayAfter = (text = '') => sql<Date>`(${text}::date + 1)::timestamptz`
  return trx
    .selectFrom('sales')
    .where((sale) => sale.and({ account_id: account, ...filters }))
    .$if(from !== undefined, (sales) => sales.where('transaction_date', '>=', day(from)))
    .$if(to !== undefined, (sales) => sales.where('transaction_date', '<', dayAfter(to)))
    .$if(contains !== undefined, (sales) => sales.where(containsText(texts, contains ?? '')))
}
