import type { Database } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'
import { passwordMark } from '../token.ts'
import { scopesOfUser } from './queries.ts'

/** What the token of a login says of it. */
export interface PresentedLogin {
  account: number
  id: number
  /** Which password it was made with. */
  password: string
}

/** What a user may do who is not deleted and has the password still; undefined for any other. */
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
