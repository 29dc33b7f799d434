import { sql } from 'kysely'
import type { Trx } from './pool.ts'

/** Rows of an account, or of one of its lists. */
export interface Scope {
  account_id: number
  price_list_id?: number
}

/**
 * Whether a table has rows of the account, or of the list. The first in the order of the primary key: of any row the
 * planner expects the next of the table to be one, and would read all of others' rows that lie before.
 */
export async function hasRows(
  trx: Trx,
  table: 'products' | 'price_lists' | 'price_list_rows' | 'competitor_prices',
  scope: Scope,
): Promise<boolean> {
  const isOfScope = Object.entries(scope).map(([column, id]) => sql`${sql.ref(column)} = ${id}`)
  const { rows } = await sql`
    select id from ${sql.table(table)} where ${sql.join(isOfScope, sql` and `)}
    order by id limit 1`.execute(trx)
  return rows.length > 0
}
