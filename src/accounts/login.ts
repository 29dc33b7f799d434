import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { unauthorized } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { countFailure, withinLoginLimits } from './login-limit.ts'
import { hashPassword, isPassword } from './password.ts'
import { signToken } from './token.ts'

/** Checked for an unknown e-mail, so that the response takes just as long. */
const nobody = hashPassword('')

/** Returns a token for an e-mail and its password. An unknown e-mail and a wrong password get the same response. */
export const login: Handler<'login'> = ({ body, inAccount }, { jwtSecret }) => {
  const email = body.email.toLowerCase()
  return withinLoginLimits(email, async () => {
    const user = await inAccount((trx) => findUser(trx, email))
    const isValid = await isPassword(body.password, user?.password_hash ?? (await nobody))
    if (!user || !isValid) {
      countFailure(email)
      throw unauthorized('There is no user with this e-mail and password.')
    }
    return { token: await signToken(jwtSecret, user) }
  })
}

/** A login has no account yet, so row-level security shows it only the user with its e-mail. */
async function findUser(trx: Trx, email: string) {
  await sql`select set_config('app.login', ${email}, true)`.execute(trx)
  return trx
    .selectFrom('users')
    .select(['id', 'account_id as account', 'password_hash', 'scopes'])
    .where('email', '=', email)
    .executeTakeFirst()
}
