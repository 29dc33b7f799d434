import { type RawBuilder, sql } from 'kysely'
import { idsInPayloadOrder } from '../contract/duplicates.ts'
import type { FeedId, Upsert } from '../contract/feed.ts'
import type { Schemas } from '../contract/operation.ts'
import type { InputColumn, InsertRows } from '../database/input-rows.ts'
import { type UpsertedRows, upsertKeys, upsertStaged } from '../database/staging-table.ts'
import { utcTimestamp } from '../lib/formats.ts'

type Sale = Schemas['SaleInput']

/** Upserts sales by transaction id. Returns the ids of created sales in payload order. */
export const upsertSales: Upsert<'upsertSales'> = async (trx, { account }) => ({
  columns: [],
  ignored: [],
  ids: [saleId(account)],
  table: 'sales',
  input: saleColumns,
  key: ['transaction_id'],
  keyOf: ({ transaction_id }: Sale) => transaction_id,
  read: async (rows: readonly Sale[], errors) => errors.sound(rows),
  write: (staged) => upsertStaged(staged, upsertFrom(account, staged.input)),
  upsert: (input) => upsertKeys(trx, upsertFrom(account, input), sql`created`),
  answer: (written: UpsertedRows[], payload) =>
    idsInPayloadOrder(
      written.map(({ created }) => created),
      payload,
    ),
})

function saleId(account: number): FeedId {
  return {
    name: 'id',
    type: 'bigint',
    parts: ['transaction_id'],
    changed: sql`
      select array[r.transaction_id] as was, array[f.transaction_id] as says from sales r
      where r.account_id = ${account} and r.id = f.given_id and r.transaction_id <> f.transaction_id`,
  }
}

/** Unchanged rows are not written. 15.3 after 15.30 is a change, because sales are returned as written. */
function upsertFrom(account: number, input: InsertRows): RawBuilder<unknown> {
  return sql`
    insert into sales as present (account_id, ${columns})
    ${input.rows((column) => [sql`${account}`, ...saleColumns.map(({ name }) => column(name))])}
    on conflict (account_id, transaction_id) do update set (${columns}) = (${excluded})
    where (${asWritten('present')}) is distinct from (${asWritten('excluded')})
    returning id, transaction_id as key, xmax = 0 as created`
}

const saleColumns: InputColumn<Sale>[] = [
  { name: 'transaction_id', type: 'text', value: (sale) => sale.transaction_id },
  { name: 'price_list_name', type: 'text', value: (sale) => sale.price_list_name ?? null },
  { name: 'price_dimension', type: 'text', value: (sale) => sale.price_dimension ?? null },
  { name: 'code', type: 'text', value: (sale) => sale.code },
  { name: 'extension', type: 'text', value: (sale) => sale.extension },
  { name: 'quantity', type: 'numeric', value: (sale) => sale.quantity },
  { name: 'active_price', type: 'numeric', value: (sale) => sale.active_price ?? null },
  { name: 'client_code', type: 'text', value: (sale) => sale.client_code ?? null },
  { name: 'agreement_code', type: 'text', value: (sale) => sale.agreement_code ?? null },
  { name: 'departure_date', type: 'text', value: (sale) => sale.departure_date ?? null },
  { name: 'revenue', type: 'numeric', value: (sale) => sale.revenue },
  {
    name: 'transaction_date',
    type: 'timestamptz',
    value: ({ transaction_date }) =>
      transaction_date === undefined ? null : utcTimestamp(transaction_date),
  },
  { name: 'currency', type: 'text', value: (sale) => sale.currency ?? null },
]

const columns = sql.join(saleColumns.map(({ name }) => sql.ref(name)))
const excluded = sql.join(saleColumns.map(({ name }) => sql.ref(`excluded.${name}`)))

/** The columns of `table`; decimals with their scale. */
function asWritten(table: 'present' | 'excluded'): RawBuilder<unknown> {
  const values = saleColumns.map(({ name, type }) => {
    const column = sql.ref(`${table}.${name}`)
    return type === 'numeric' ? sql`${column}, scale(${column})` : column
  })
  return sql.join(values)
}
