import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Database, Trx } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'
import { passwordMark } from '../token.ts'

/** The column `scopes`, typed. */
export const scopesOfUser = sql<Schemas['Scope'][]>`scopes`.as('scopes')

/** The `not-found` problem of a user. */
export const noSuchUser = () => new Problem('not-found', 'There is no such user.')

/** The scopes of a user. Throws `not-found`. */
export async function findScopes(trx: Trx, account: number, id: number): Promise<string[]> {
  const user = await trx
    .selectFrom('users')
    .select(scopesOfUser)
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!user) throw noSuchUser()
  return user.scopes
}

/** Throws `last-admin` if no other user of the account has the scope `admin`. The account must be locked. */
export async function requireOtherAdmin(trx: Trx, account: number, id: number): Promise<void> {
  const other = await trx
    .selectFrom('users')
    .select('id')
    .where('account_id', '=', account)
    .where('id', '!=', id)
    .where(sql<boolean>`'admin' = any(scopes)`)
    .limit(1)
    .executeTakeFirst()
  if (!other)
    throw new Problem('last-admin', 'No other user has the scope "admin". Give it to one first.')
}

/** The claims in the token of a login. */
export interface PresentedLogin {
  account: number
  id: number
  /** The mark of the password under which it was issued. */
  password: string
}

/** The scopes of a user who still exists and has the same password; undefined for any other. */
export async function findLiveUser(
  db: Database,
  { account, id, password }: PresentedLogin,
): Promise<{ scopes: string[] } | undefined> {
  const user = await inAccount(db, account, (trx) =>
    trx
      .selectFrom('users')
      .select(['password_hash', scopesOfUser])
      .where('account_id', '=', account)
      .where('id', '=', id)
      .executeTakeFirst(),
  )
  return user && passwordMark(user.password_hash) === password ? user : undefined
}
