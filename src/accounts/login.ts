import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { countFailure, rejectTooMany } from './login-limit.ts'
import { hashPassword, isPassword } from './password.ts'
import { signToken } from './token.ts'

/** Compared against when there is no such user, so that the answer takes as long. */
const nobody = hashPassword('')

/** Answers a token for an e-mail and its password; an unknown e-mail and a wrong password answer alike. */
export const login: Handler<'login'> = async (
  { body: { email, password }, inAccount },
  { jwtSecret },
) => {
  rejectTooMany(email)
  const user = await inAccount(async (trx) => {
    await sql`select set_config('app.login', ${email}, true)`.execute(trx)
    return trx
      .selectFrom('users')
      .select(['id', 'account_id', 'password_hash'])
      .where('email', '=', email)
      .executeTakeFirst()
  })
  const isValid = await isPassword(password, user?.password_hash ?? (await nobody))
  if (!user || !isValid) {
    countFailure(email)
    throw new Problem('unauthorized', 'There is no user with this e-mail and password.', {
      headers: { 'www-authenticate': 'jwt' },
    })
  }
  return { token: await signToken(jwtSecret, { id: user.id, account: user.account_id }) }
}
