import type { Database } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'
import { passwordMark } from '../token.ts'
import { scopesOfUser } from './queries.ts'

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
