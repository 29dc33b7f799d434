import { sql } from 'kysely'
import type { Database } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'

/** The claims in the token of an API key. */
export interface PresentedKey {
  account: number
  id: number
  /** In seconds since 1970. */
  issuedAt: number
}

/** The name of an API key that is not revoked; undefined for any other. Records the day of its use. */
export async function findLiveKey(db: Database, key: PresentedKey): Promise<string | undefined> {
  const found = await inAccount(db, key.account, (trx) =>
    trx
      .selectFrom('api_keys')
      .select(['name', 'created_at', isFirstUse.as('is_first_use')])
      .where('account_id', '=', key.account)
      .where('id', '=', key.id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst(),
  )
  // A database that has lost a key (failover, restored backup) reuses its id.
  if (!found || Math.floor(found.created_at.getTime() / 1000) !== key.issuedAt) return undefined
  // Not awaited: if it fails, the next request tries again.
  if (found.is_first_use) noteUse(db, key).catch(() => undefined)
  return found.name
}

const isFirstUse = sql<boolean>`last_used_on is distinct from current_date`

/** Writes once a day. */
function noteUse(db: Database, { account, id }: PresentedKey): Promise<unknown> {
  return inAccount(db, account, (trx) =>
    trx
      .updateTable('api_keys')
      .set({ last_used_on: sql`current_date` })
      .where('account_id', '=', account)
      .where('id', '=', id)
      .where(isFirstUse)
      .execute(),
  )
}
