import { sql } from 'kysely'
import type { Origin } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

/**
 * Gives the account's settings a new version after a change of its columns, promotions or price lists; what processes
 * have cached of them is valid while the version stays the same. It is random: a counter in a database that has lost
 * the last change (failover, restored backup) would reach the same number again.
 */
export async function changeSettingsVersion(trx: Trx, account: number): Promise<void> {
  const version = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
  await sql`update accounts set settings_version = ${version} where id = ${account}`.execute(trx)
}

/** Locks the account until the transaction ends and returns whether it exists. Others that lock it wait. */
export async function lockAccount(trx: Trx, account: number): Promise<boolean> {
  const locked = trx.selectFrom('accounts').select('id').where('id', '=', account).forNoKeyUpdate()
  return (await locked.executeTakeFirst()) !== undefined
}

/** Adds the user's e-mail to the origin of a change: tokens do not contain it. */
export async function withName(trx: Trx, account: number, origin: Origin): Promise<Origin> {
  const { actor } = origin
  const id = userIdOf(actor)
  if (id === undefined) return origin
  const user = await trx
    .selectFrom('users')
    .select('email')
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  return user ? { ...origin, actor: { ...actor, name: user.email } } : origin
}

/** The user id of an actor; undefined for an API key, and for a user who logs in elsewhere. */
export function userIdOf({ type, id }: Origin['actor']): number | undefined {
  return type === 'user' && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}
