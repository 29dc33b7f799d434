import { sql } from 'kysely'
import type { Trx } from './pool.ts'

/** What was loaded: how many rows of a table, all of one account or of one price list. */
export interface Load {
  table: 'products' | 'product_attributes' | 'price_list_rows' | 'calendar_months'
  column: 'account_id' | 'price_list_id'
  value: number
  rows: number
}

/** Has the table analyzed if the planner cannot know what was loaded; costs next to nothing otherwise. */
export async function analyzeLoaded(trx: Trx, { table, column, value, rows }: Load): Promise<void> {
  await sql`select analyze_loaded(${table}, ${column}, ${value}, ${rows})`.execute(trx)
}
