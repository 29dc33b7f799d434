import type pg from 'pg'
import { onOneConnection } from '../database/connection-setup.ts'
import { isViolationOf } from '../database/errors.ts'
import { type Cost, generatePassword, hashPassword } from './password.ts'

export interface NewUser {
  account: string
  /** The `account` of its tokens. */
  account_id: number
  email: string
  password: string
}

/** Another user has this e-mail. */
export class EmailTaken extends Error {}

/**
 * Creates a user, and the account if there is none of that name. `url` connects as the owner of the tables. Generates a
 * password if none is given. Throws EmailTaken.
 */
export async function createAccount(
  url: string,
  { cost, ...wanted }: { account: string; email: string; password?: string; cost?: Cost },
): Promise<NewUser> {
  const user = { ...wanted, password: wanted.password ?? generatePassword() }
  const passwordHash = await hashPassword(user.password, cost)
  try {
    const insert = (client: pg.Client) => insertUser(client, user, passwordHash)
    return { ...user, account_id: await onOneConnection(url, insert) }
  } catch (error) {
    if (!isViolationOf('users_email_key', error)) throw error
    throw new EmailTaken(`There is a user with the e-mail ${user.email} already.`)
  }
}

/** Returns the id of the account. */
async function insertUser(
  client: pg.Client,
  user: Pick<NewUser, 'account' | 'email'>,
  passwordHash: string,
): Promise<number> {
  await client.query('begin')
  // An update of `name`, even to itself, would wait for all writers of the account's rows.
  const { rows } = await client.query(
    `insert into accounts (name) values ($1)
     on conflict (name) do update set settings_version = accounts.settings_version returning id`,
    [user.account],
  )
  const id = Number(rows[0].id)
  const values = [id, user.email, passwordHash]
  await client.query(
    'insert into users (account_id, email, password_hash) values ($1, $2, $3)',
    values,
  )
  await client.query('commit')
  return id
}

/** Whether there is any account. */
export async function hasAccounts(url: string): Promise<boolean> {
  const find = (client: pg.Client) => client.query('select from accounts limit 1')
  return (await onOneConnection(url, find)).rowCount === 1
}
