import type { Test } from 'tap'
import { withKey } from './api-keys.ts'
import type { TestResponse } from './conformant.ts'
import { send } from './operations.ts'
import type { TestAccount, TestService } from './service.ts'
import { aUser, type User } from './user.ts'

export const usersPath = '/api/v1/users/'
export const changePath = `${usersPath}change_password/`

/** A user whom an admin has added. */
export interface AddedUser extends User {
  id: number
  scopes: string[]
}

let users = 0

/** An e-mail that no user has. */
export const anEmail = () => `added${++users}@example.com`

/** The answer to a login. */
export function logIn(
  t: Test,
  service: Pick<TestService, 'app'>,
  { email, password }: User,
): Promise<TestResponse> {
  const payload = JSON.stringify({ email, password })
  const headers = { 'content-type': 'application/json' }
  return send(t, service, { method: 'POST', path: '/login/', headers, payload })
}

/** What a token says. */
export function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

/** The account as a user who has logged in sees it. */
export async function loggedIn(t: Test, service: TestService, user: User): Promise<TestAccount> {
  const { status, body } = await logIn(t, service, user)
  if (status !== 200) throw new Error(JSON.stringify(body))
  const as = withKey(await service.newAccount(t), body.token)
  return { ...as, id: claimsOf(body.token).account }
}

/** The user of `account create` of a new account, logged in. */
export async function anAdmin(t: Test, service: TestService): Promise<TestAccount & User> {
  const user = await aUser(service)
  return { ...(await loggedIn(t, service, user)), ...user }
}

/** A new user, who may read unless `scopes` say otherwise. */
export async function anAddedUser(admin: TestAccount, scopes = ['read']): Promise<AddedUser> {
  const { status, body } = await admin.post(usersPath, { email: anEmail(), scopes })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
