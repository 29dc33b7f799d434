import { sql } from 'kysely'
import { deletion } from '../contract/deletion.ts'

/** Deletes competitor prices by hash. */
export const deleteCompetitorPrices = deletion(
  { table: 'competitor_prices', lockedBy: 'hash' },
  (hashes) => sql`hash = any(array(
      select decode(hex, 'hex') from unnest(${hashes}::text[]) as named (hex)
    ))`,
)
