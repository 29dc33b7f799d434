import { sql } from 'kysely'
import { deletion } from '../contract/deletion.ts'

/** Deletes agreements by id. */
export const deleteAgreements = deletion(
  { table: 'agreements', lockedBy: 'key_hash' },
  (ids) => sql`id = any(${ids}::bigint[])`,
)
