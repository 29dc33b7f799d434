import { sql } from 'kysely'
import type { Database } from './pool.ts'

/**
 * A template tag that runs a statement with exactly one row, such as one that counts all rows, and returns this row.
 */
export function onlyRow<Row>(db: Database) {
  return async (...statement: Parameters<typeof sql>): Promise<Row> => {
    const { rows } = await sql<Row>(...statement).execute(db)
    if (rows.length !== 1) throw new Error(`the statement returned ${rows.length} rows, not 1`)
    return rows[0] as Row
  }
}
