import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'

/**
 * Gives the account's settings a new version, after a change of its columns, promotions or price lists: what processes
 * have cached of them is valid as long as the version is the same. It is random and no counter: a database that has lost
 * the last change (a failover, a restored backup) would count to the same number again.
 */
export async function changeSettingsVersion(trx: Trx, account: number): Promise<void> {
  const version = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
  await sql`update accounts set settings_version = ${version} where id = ${account}`.execute(trx)
}
