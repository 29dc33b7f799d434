import type pg from 'pg'
import { onOneConnection } from '../database/connection-setup.ts'
import { isViolationOf } from '../database/errors.ts'
import { generatePassword, hashPassword } from './password.ts'
import { allScopes } from './token.ts'

/** A user who was created, with the password. */
export interface NewUser {
  account: string
  /** The `account` claim of the user's tokens. */
  account_id: number
  email: string
  password: string
}

/** Another user has this e-mail. */
export class EmailTaken extends Error {}

/**
 * Creates a user with all scopes, and the account if none has that name. `url` connects as the owner of the tables.
 * Generates a password if none is given. Throws EmailTaken.
 */
export async function createAccount(
  url: string,
  wanted: { account: string; email: string; password?: string },
): Promise<NewUser> {
  const email = wanted.email.toLowerCase()
  const user = { ...wanted, email, password: wanted.password ?? generatePassword() }
  const passwordHash = await hashPassword(user.password)
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
  const id = await findOrInsertAccount(client, user.account)
  await client.query(
    'insert into users (account_id, email, password_hash, scopes) values ($1, $2, $3, $4)',
    [id, user.email, passwordHash, allScopes],
  )
  await client.query('commit')
  return id
}

async function findOrInsertAccount(client: pg.Client, name: string): Promise<number> {
  // Waits for any other transaction that inserts the same name.
  const { rows: inserted } = await client.query(
    `insert into account_names (id, name) values ($1, $2) on conflict (name) do nothing returning id`,
    [randomId(), name],
  )
  for (const { id } of inserted)
    await client.query('insert into accounts (id, name) values ($1, $2)', [id, name])
  const { rows } = await client.query('select id from account_names where name = $1', [name])
  return Number(rows[0].id)
}

/**
 * Any integer that JSON holds exactly. Tokens name accounts by id: a sequence restored from a backup would reuse the id
 * of a lost account, whose tokens would open the new one.
 */
const randomId = () => 1 + Math.floor(Math.random() * (Number.MAX_SAFE_INTEGER - 1))

/** Whether any account exists. */
export async function hasAccounts(url: string): Promise<boolean> {
  const find = (client: pg.Client) => client.query('select from account_names limit 1')
  return (await onOneConnection(url, find)).rowCount === 1
}
