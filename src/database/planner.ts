import { sql } from 'kysely'
import type { Trx } from './pool.ts'

/**
 * Whether a table has rows of the account. Asks for the first by primary key: asked for any row, the planner would read
 * the table from its start, past all earlier rows of other accounts.
 */
export async function hasRows(
  trx: Trx,
  table: 'products' | 'competitor_prices',
  { account_id }: { account_id: number },
): Promise<boolean> {
  const { rows } = await sql`
    select id from ${sql.table(table)} where account_id = ${account_id} order by id limit 1`.execute(
    trx,
  )
  return rows.length > 0
}

export type UpsertedTable = 'products' | 'sales' | 'competitor_prices' | 'agreements'

/** How many rows of an account, a price list or a plan were loaded into a table. */
export interface Load {
  table:
    | UpsertedTable
    | 'product_attributes'
    | 'price_list_rows'
    | 'calendar_months'
    | 'removed_rows'
    | 'plan_rows'
  column: 'account_id' | 'price_list_id' | 'plan_id'
  value: number
  rows: number
}

/** Fewer rows are left to autovacuum. */
const analyzedMin = 100

/**
 * Analyzes a table if the planner cannot know the loaded rows; costs next to nothing otherwise. Without this the
 * planner assumes none, and compares each with all rows of another table, for minutes.
 */
export async function analyzeLoaded(trx: Trx, { table, column, value, rows }: Load): Promise<void> {
  if (rows < analyzedMin) return
  await sql`select analyze_loaded(${table}, ${column}, ${value}, ${rows})`.execute(trx)
}

/** `analyzeLoaded` for the rows of an account. */
export function analyzeUpserted(
  trx: Trx,
  table: UpsertedTable | 'product_attributes',
  account: number,
  rows: number,
): Promise<void> {
  return analyzeLoaded(trx, { table, column: 'account_id', value: account, rows })
}

/** Enough memory for a sort or a hash of a hundred thousand rows or more. */
const largeMemory = '64MB'

/** Raises `work_mem` to 64 MB until the transaction ends. */
export async function useLargeMemory(trx: Trx): Promise<void> {
  await sql.raw(`set local work_mem = '${largeMemory}'`).execute(trx)
}
