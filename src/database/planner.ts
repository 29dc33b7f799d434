import { sql } from 'kysely'
import type { Trx } from './pool.ts'

/**
 * Whether a table has rows of the account. Asks for the first by primary key: asked for any row, the planner would read
 * the table from its start, past all earlier rows of other accounts.
 */
export async function hasRows(
  trx: Trx,
  table: 'products' | 'competitor_prices',
  account: number,
): Promise<boolean> {
  const { rows } = await sql`
    select id from ${sql.table(table)} where account_id = ${account} order by id limit 1`.execute(
    trx,
  )
  return rows.length > 0
}

/** The tables that are loaded, and the column that tells whose rows a load brought. */
const ownerColumns = {
  products: 'account_id',
  product_attributes: 'account_id',
  sales: 'account_id',
  competitor_prices: 'account_id',
  agreements: 'account_id',
  price_list_rows: 'price_list_id',
  calendar_months: 'price_list_id',
  removed_rows: 'price_list_id',
  plan_rows: 'plan_id',
} as const

export type UpsertedTable = 'products' | 'sales' | 'competitor_prices' | 'agreements'

/** Fewer rows are left to autovacuum. */
const analyzedMin = 100

/**
 * Analyzes a table if the planner cannot know the rows that an account, a price list or a plan (`owner`) got; costs
 * next to nothing otherwise. Without this the planner assumes none, and compares each with all rows of another table,
 * for minutes.
 */
export async function analyzeLoaded(
  trx: Trx,
  { table, owner, rows }: { table: keyof typeof ownerColumns; owner: number; rows: number },
): Promise<void> {
  if (rows < analyzedMin) return
  await sql`select analyze_loaded(${table}, ${ownerColumns[table]}, ${owner}, ${rows})`.execute(trx)
}

/** Enough memory for a sort or a hash of a hundred thousand rows or more. */
const largeMemory = '64MB'

/** Raises `work_mem` to 64 MB until the transaction ends. */
export async function useLargeMemory(trx: Trx): Promise<void> {
  await sql.raw(`set local work_mem = '${largeMemory}'`).execute(trx)
}
