import { type SelectQueryBuilder, sql } from 'kysely'
import type { DB } from '../../generated/database.d.ts'
import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { anyOf, pageOf, readPage, withoutAbsent } from '../contract/read-page.ts'
import { shownTimestamp } from '../lib/formats.ts'

/** One page of sales in the order of their ids. */
export const listSales: Handler<'listSales'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const sales = filter(trx.selectFrom('sales').where('account_id', '=', account), query)
    const ids = sales
      .select('id')
      .orderBy(isByDate(query) ? sql`id + 0` : sql`id`)
      .offset(offset)
      .limit(limit)
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
  columns: [
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
  ],
  query: filter(trx.selectFrom('sales').where('account_id', '=', account), query)
    .select(selected)
    .orderBy(isByDate(query) ? sql`id + 0` : sql`id`),
  rowsOf: (sale: StoredSale) => [saleOf(sale)],
})

/** The columns of a sale as it is read. */
const selected = [
  ...(['id', 'transaction_id', 'price_list_name', 'price_dimension', 'code', 'extension'] as const),
  sql<string>`quantity::text`.as('quantity'),
  sql<string>`revenue::text`.as('revenue'),
  sql<string | null>`active_price::text`.as('active_price'),
  ...(['client_code', 'agreement_code', 'departure_date'] as const),
  sql<string | null>`to_char(transaction_date, 'YYYY-MM-DD"T"HH24:MI:SS.US')`.as(
    'transaction_date',
  ),
  'currency' as const,
]

type StoredSale = { transaction_date: string | null }

function saleOf(sale: StoredSale): Schemas['Sale'] {
  return withoutAbsent({
    ...sale,
    transaction_date: sale.transaction_date && shownTimestamp(sale.transaction_date),
  }) as Schemas['Sale']
}

/**
 * A filter by days alone uses the index of days and sorts by id afterwards: in the order of ids the newest days come
 * last.
 */
function isByDate({ code, transaction_id, from, to }: Filters): boolean {
  return code === undefined && transaction_id === undefined && (from ?? to) !== undefined
}

interface Filters {
  code?: string
  transaction_id?: string
  from?: string
  to?: string
}

type Sales = SelectQueryBuilder<DB, 'sales', object>

/** Casts to timestamptz: under row-level security no index serves a comparison of a timestamp with a date. */
function filter(sales: Sales, { code, transaction_id, from, to }: Filters): Sales {
  let filtered = sales
  if (code !== undefined) filtered = filtered.where('code', '=', code)
  if (transaction_id !== undefined) filtered = filtered.where('transaction_id', '=', transaction_id)
  if (from !== undefined)
    filtered = filtered.where('transaction_date', '>=', sql<Date>`${from}::date::timestamptz`)
  if (to !== undefined)
    filtered = filtered.where('transaction_date', '<', sql<Date>`(${to}::date + 1)::timestamptz`)
  return filtered
}
