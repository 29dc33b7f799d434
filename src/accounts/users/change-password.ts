import type { Handler } from '../../contract/operation.ts'
import { Problem, unauthorized } from '../../contract/problem.ts'
import { countFailure, withinLoginLimits } from '../login-limit.ts'
import { hashPassword, isPassword } from '../password.ts'
import { userIdOf } from '../queries.ts'

/** Changes the caller's password, which ends tokens issued under the old one. Throws `wrong-password`. */
export const changePassword: Handler<'changePassword'> = async ({
  account,
  body,
  origin,
  inAccount,
}) => {
  const id = userIdOf(origin.actor)
  if (id === undefined)
    throw new Problem('forbidden', 'Only a user who logs in here has a password to change.')
  // Not the e-mail of any login, which contains no NUL.
  const user = `\0${account}/${id}`
  return withinLoginLimits(user, async () => {
    const password_hash = await hashPassword(body.new_password)
    return inAccount(async (trx) => {
      const stored = await trx
        .selectFrom('users')
        .select('password_hash')
        .where('account_id', '=', account)
        .where('id', '=', id)
        .executeTakeFirst()
      if (!stored) throw unauthorized('The user was deleted.')
      if (!(await isPassword(body.current_password, stored.password_hash))) {
        countFailure(user)
        throw wrongPassword()
      }
      const { numUpdatedRows } = await trx
        .updateTable('users')
        .set({ password_hash })
        .where('account_id', '=', account)
        .where('id', '=', id)
        // Another request may have changed it since it was read.
        .where('password_hash', '=', stored.password_hash)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) throw wrongPassword()
      return undefined
    })
  })
}

const wrongPassword = () =>
  new Problem('wrong-password', 'The current password is wrong. Nothing was changed.')
