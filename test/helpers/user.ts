import { createAccount } from '../../src/accounts/create-account.ts'
import type { TestService } from './service.ts'

let users = 0

export interface User {
  email: string
  password: string
}

/** A user in a new account who can log in. */
export async function aUser({ url }: Pick<TestService, 'url'>): Promise<User> {
  const email = `user${++users}@example.com`
  const password = 'correct horse battery staple'
  await createAccount(url, { account: `account of ${email}`, email, password })
  return { email, password }
}
