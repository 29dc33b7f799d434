import { type RawBuilder, sql } from 'kysely'
import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import {
  anyOf,
  filtersOf,
  type PageQuery,
  pageOf,
  readPage,
  withoutAbsent,
} from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { shownTimestamp } from '../lib/formats.ts'

/** One page of sales in the order of their ids. */
export const listSales: Handler<'listSales'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const sales = filtered(trx, account, query)
    const ids = sales.select('id').orderBy(idOrder(query)).offset(offset).limit(limit)
    const page = trx
      .selectFrom('sales')
      .where('account_id', '=', account)
      .where('id', '=', anyOf(ids))
      .select(selected)
    const { count, rows } = await readPage(trx, { all: sales, page })
    return { count, results: rows.map(saleOf) }
  })

/** All sales that the filters leave, in the order of their ids. */
export const exportSales: Export<'listSales'> = async (trx, { account, query }) => ({
  columns,
  query: filtered(trx, account, query).select(selected).orderBy(idOrder(query)),
  rowsOf: (sale: StoredSale) => [saleOf(sale)],
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

const moment = sql<string | null>`to_char(transaction_date, 'YYYY-MM-DD"T"HH24:MI:SS.US')`

/** The columns of a sale as it is read: decimals are texts. */
const selected = columns.map((name) => {
  if (name === 'transaction_date') return moment.as(name)
  const isDecimal = name === 'quantity' || name === 'revenue' || name === 'active_price'
  return isDecimal ? sql<string | null>`${sql.ref(name)}::text`.as(name) : name
})

type StoredSale = { transaction_date: string | null }

function saleOf(sale: StoredSale): Schemas['Sale'] {
  return withoutAbsent({
    ...sale,
    transaction_date: sale.transaction_date && shownTimestamp(sale.transaction_date),
  }) as Schemas['Sale']
}

/**
 * `id + 0` uses no index of ids: a filter by days alone uses the index of days and sorts by id afterwards, because in the
 * order of ids the newest days come last.
 */
function idOrder({ code, transaction_id, from, to }: Filters): RawBuilder<unknown> {
  const isByDay = code === undefined && transaction_id === undefined && (from ?? to) !== undefined
  return isByDay ? sql`id + 0` : sql`id`
}

interface Filters extends PageQuery {
  code?: string
  transaction_id?: string
  from?: string
  to?: string
}

/** Casts to timestamptz: under row-level security no index serves a comparison of a timestamp with a date. */
function filtered(trx: Trx, account: number, query: Filters) {
  const { from, to, ...filters } = filtersOf(query)
  const day = (text = '') => sql<Date>`${text}::date::timestamptz`
  const dayAfter = (text = '') => sql<Date>`(${text}::date + 1)::timestamptz`
  return trx
    .selectFrom('sales')
    .where((sale) => sale.and({ account_id: account, ...filters }))
    .$if(from !== undefined, (sales) => sales.where('transaction_date', '>=', day(from)))
    .$if(to !== undefined, (sales) => sales.where('transaction_date', '<', dayAfter(to)))
}
