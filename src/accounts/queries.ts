import { sql } from 'kysely'
import type { Origin } from '../contract/operation.ts'
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

/** A token names no e-mail; a user's is noted with what the user changes. */
export async function withName(trx: Trx, account: number, origin: Origin): Promise<Origin> {
  const { actor } = origin
  if (actor.type !== 'user' || !userId.test(actor.id)) return origin
  const user = await trx
    .selectFrom('users')
    .select('email')
    .where('account_id', '=', account)
    .where('id', '=', Number(actor.id))
    .executeTakeFirst()
  return user ? { ...origin, actor: { ...actor, name: user.email } } : origin
}

const userId = /^\d{1,15}$/
