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

/** Whether the account exists. Others that lock it wait until the transaction has ended. */
export async function lockAccount(trx: Trx, account: number): Promise<boolean> {
  const locked = trx.selectFrom('accounts').select('id').where('id', '=', account).forNoKeyUpdate()
  return (await locked.executeTakeFirst()) !== undefined
}

/** A token names no e-mail; a user's is noted with what the user changes. */
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

/** The id of the user; undefined for an API key, and for who logs in elsewhere. */
export function userIdOf({ type, id }: Origin['actor']): number | undefined {
  return type === 'user' && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}
