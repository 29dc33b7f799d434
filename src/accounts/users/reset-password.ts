import { Answer, type Handler, type Schemas } from '../../contract/operation.ts'
import { rejectMissingScopes } from '../given-scopes.ts'
import { onPasswordSeat } from '../login-limit.ts'
import { generatePassword, hashPassword } from '../password.ts'
import { noSuchUser, scopesOfUser } from './queries.ts'

/**
 * Gives a user a generated password, which ends tokens issued under the old one. Throws `forbidden` for a user with
 * more scopes than the token: the password would grant them.
 */
export const resetPassword: Handler<'resetPassword'> = async ({
  account,
  params: { id },
  scopes,
  inAccount,
}) => {
  const secrets = { password: generatePassword() }
  const password_hash = await onPasswordSeat(() => hashPassword(secrets.password))
  return inAccount(async (trx) => {
    const user = await trx
      .updateTable('users')
      .set({ password_hash })
      .where('account_id', '=', account)
      .where('id', '=', id)
      .returning(['id', 'email', scopesOfUser])
      .executeTakeFirst()
    if (!user) throw noSuchUser()
    rejectMissingScopes(user.scopes, scopes)
    return new Answer<Schemas['UserWithPassword']>(user, {}, secrets)
  })
}
