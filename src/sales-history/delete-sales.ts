import { sql } from 'kysely'
import { deletion } from '../contract/deletion.ts'

/** Deletes sales by transaction id. */
export const deleteSales = deletion(
  { table: 'sales', lockedBy: 'transaction_id' },
  (ids) => sql`transaction_id = any(${ids}::text[])`,
)
