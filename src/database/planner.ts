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

/** How many rows of an account or a price list were loaded into a table. */
export interface Load {
  table: 'products' | 'product_attributes' | 'price_list_rows' | 'calendar_months'
  column: 'account_id' | 'price_list_id'
  value: number
  rows: number
}

/** Analyzes a table if the planner cannot know the rows that were loaded; costs next to nothing otherwise. */
export async function analyzeLoaded(trx: Trx, { table, column, value, rows }: Load): Promise<void> {
  await sql`select analyze_loaded(${table}, ${column}, ${value}, ${rows})`.execute(trx)
}
