import { type RawBuilder, sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed, FeedId } from '../contract/feed.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { type InputColumn, inputRows, readNumbers } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { upsertStaged } from '../database/staging-table.ts'
import { utcTimestamp } from '../lib/formats.ts'

type Sale = Positioned<Schemas['SaleInput']>

/** Upserts sales by transaction id. Answers the ids of created sales in payload order. */
export const upsertSales: Handler<'upsertSales'> = async ({ account, body, errors, inAccount }) => {
  const sales = await uniqueRows(errors.sound(body), errors, ({ transaction_id }) => transaction_id)
  errors.reject()
  return inAccount((trx) => upsertSaleRows(trx, account, sales))
}

/** Sales from a file. */
export const feedSales: Feed<'upsertSales'> = async (_trx, { account }) => ({
  columns: [],
  ignored: [],
  ids: [saleId(account)],
  input: saleColumns,
  key: ['transaction_id'],
  read: async (rows: readonly Schemas['SaleInput'][], errors) =>
    errors.sound(rows).map((sale) => ({ row: sale, position: sale.position })),
  write: (staged) => upsertStaged(staged, upsertFrom(account, staged.input)),
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

/** Upserts rows sorted by key in one statement. */
async function upsertSaleRows(trx: Trx, account: number, sales: Sale[]): Promise<number[]> {
  const input = await inputRows(
    trx,
    [...saleColumns, { name: 'position', type: 'integer', value: ({ position }) => position }],
    sales,
  )
  const { rows } = await sql<{ ids: string | null }>`
    with input as materialized (select * from ${input}), upserted as (
      ${upsertFrom(account, sql`input`)}
    )
    select array_agg(id order by position)::text as ids
    from upserted join input using (transaction_id) where created`.execute(trx)
  return readNumbers(rows[0]?.ids ?? null)
}

/** Unchanged rows are not written. 15.3 after 15.30 is a change, because sales are read as they were written. */
function upsertFrom(account: number, input: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into sales as present (account_id, ${columns})
    select ${account}, ${columns} from ${input}
    on conflict (account_id, transaction_id) do update set (${columns}) = (${excluded})
    where (${asWritten('present')}) is distinct from (${asWritten('excluded')})
    returning id, transaction_id, xmax = 0 as created`
}

const saleColumns: InputColumn<Sale>[] = [
  { name: 'transaction_id', type: 'text', value: ({ row }) => row.transaction_id },
  { name: 'price_list_name', type: 'text', value: ({ row }) => row.price_list_name ?? null },
  { name: 'price_dimension', type: 'text', value: ({ row }) => row.price_dimension ?? null },
  { name: 'code', type: 'text', value: ({ row }) => row.code },
  { name: 'extension', type: 'text', value: ({ row }) => row.extension },
  { name: 'quantity', type: 'numeric', value: ({ row }) => row.quantity },
  { name: 'active_price', type: 'numeric', value: ({ row }) => row.active_price ?? null },
  { name: 'client_code', type: 'text', value: ({ row }) => row.client_code ?? null },
  { name: 'agreement_code', type: 'text', value: ({ row }) => row.agreement_code ?? null },
  { name: 'departure_date', type: 'text', value: ({ row }) => row.departure_date ?? null },
  { name: 'revenue', type: 'numeric', value: ({ row }) => row.revenue },
  {
    name: 'transaction_date',
    type: 'timestamptz',
    value: ({ row: { transaction_date } }) =>
      transaction_date === undefined ? null : utcTimestamp(transaction_date),
  },
  { name: 'currency', type: 'text', value: ({ row }) => row.currency ?? null },
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
