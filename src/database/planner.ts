import { sql } from 'kysely'
import type { Trx } from './pool.ts'

/**
 * Whether a table has rows of the account. It asks for the first in the order of the primary key: for any row
 * the planner chooses to read the table from its start, with all rows of other accounts that lie before.
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

/** The tables of upserts. */
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

/** Fewer are left to autovacuum. */
const analyzedMin = 100

/**
 * Analyzes a table if the planner cannot know the rows that were loaded; costs next to nothing otherwise. It would take them
 * for none, and compare each with all rows of another table, for minutes.
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

/** Memory for a sort or a hash of a hundred thousand rows, and more. */
const largeMemory = '64MB'

/** Gives the statements of a transaction memory for many rows. */
export async function useLargeMemory(trx: Trx): Promise<void> {
  await sql.raw(`set local work_mem = '${largeMemory}'`).execute(trx)
}
