import { Answer, type Handler, type Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { faultsOfScopes, rejectMissingScopes } from '../given-scopes.ts'
import { onPasswordSeat } from '../login-limit.ts'
import { generatePassword, hashPassword } from '../password.ts'
import { scopesOfUser } from './queries.ts'

/** Adds a user with a generated password, which only this response contains. Throws `email-taken`. */
export const createUser: Handler<'createUser'> = async ({ account, body, scopes, inAccount }) => {
  rejectMissingScopes(body.scopes, scopes)
  const faults = faultsOfScopes(body.scopes)
  if (faults.length > 0) throw invalidRequest(faults)
  const secrets = { password: generatePassword() }
  const password_hash = await onPasswordSeat(() => hashPassword(secrets.password))
  return inAccount(async (trx) => {
    const user = await insertUser(trx, account, { ...body, password_hash })
    return new Answer<Schemas['UserWithPassword']>(user, {}, secrets)
  })
}

async function insertUser(
  trx: Trx,
  account: number,
  { email, scopes, password_hash }: Schemas['UserInput'] & { password_hash: string },
) {
  const values = { account_id: account, email: email.toLowerCase(), scopes, password_hash }
  const user = await trx
    .insertInto('users')
    .values(values)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning(['id', 'email', scopesOfUser])
    .executeTakeFirst()
  if (user) return user
  throw new Problem('email-taken', `There is a user with the e-mail ${values.email} already.`)
}
