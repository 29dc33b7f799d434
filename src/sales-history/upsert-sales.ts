import { type RawBuilder, sql } from 'kysely'
import { uniqueRows } from '../contract/duplicates.ts'
import { utcTimestamp } from '../contract/formats.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

type Sale = Schemas['SaleInput']

/** Upserts sales by transaction id. Answers the ids of those that were created, in payload order. */
export const upsertSales: Handler<'upsertSales'> = ({ account, body, errors, inAccount }) => {
  const sales = uniqueRows(errors.sound(body), errors, ({ transaction_id }) => transaction_id)
  errors.reject()
  return inAccount(async (trx) => {
    const created = await upsertSaleRows(
      trx,
      account,
      sales.map(({ row }) => row),
    )
    const positions = new Map(sales.map(({ row, position }) => [row.transaction_id, position]))
    const positionOf = ({ transaction_id }: { transaction_id: string }) =>
      positions.get(transaction_id) ?? 0
    return created.sort((a, b) => positionOf(a) - positionOf(b)).map(({ id }) => id)
  })
}

/**
 * Upserts rows that are sorted by key, in one statement; unchanged rows are not written (15.3 for 15.30 is a change: it
 * is read as it was written). Answers those created.
 */
async function upsertSaleRows(
  trx: Trx,
  account: number,
  sales: Sale[],
): Promise<{ id: number; transaction_id: string }[]> {
  const texts = (read: (sale: Sale) => string | undefined) =>
    sql`${sales.map((sale) => read(sale) ?? null)}::text[]`
  const input = [
    texts((sale) => sale.transaction_id),
    texts((sale) => sale.price_list_name),
    texts((sale) => sale.price_dimension),
    texts((sale) => sale.code),
    texts((sale) => sale.extension),
    sql`${sales.map((sale) => sale.quantity)}::numeric[]`,
    sql`${sales.map((sale) => sale.active_price ?? null)}::numeric[]`,
    texts((sale) => sale.client_code),
    texts((sale) => sale.agreement_code),
    texts((sale) => sale.departure_date),
    sql`${sales.map((sale) => sale.revenue)}::numeric[]`,
    sql`${sales.map(({ transaction_date: date }) => (date === undefined ? null : utcTimestamp(date)))}::timestamptz[]`,
    texts((sale) => sale.currency),
  ]
  const { rows } = await sql<{ id: number; transaction_id: string; created: boolean }>`
    insert into sales as present (account_id, ${columns})
    select ${account}, * from unnest(${sql.join(input)})
    on conflict (account_id, transaction_id) do update set (${columns}) = (${excluded})
    where (${asWritten('present')}) is distinct from (${asWritten('excluded')})
    returning id, transaction_id, xmax = 0 as created`.execute(trx)
  return rows.filter(({ created }) => created)
}

const decimals = new Set(['quantity', 'active_price', 'revenue'])
const names = [
  ...['transaction_id', 'price_list_name', 'price_dimension', 'code', 'extension'],
  ...['quantity', 'active_price', 'client_code', 'agreement_code', 'departure_date'],
  ...['revenue', 'transaction_date', 'currency'],
]
const columns = sql.join(names.map((name) => sql.ref(name)))
const excluded = sql.join(names.map((name) => sql.ref(`excluded.${name}`)))

/** The columns of `table`, decimals with their decimals as they were sent. */
function asWritten(table: 'present' | 'excluded'): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${table}.${name}`)
  return sql.join(
    names.map((name) => (decimals.has(name) ? sql`${column(name)}::text` : column(name))),
  )
}
