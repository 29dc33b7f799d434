import type { PricewellClient, Schemas } from '../../client/index.ts'
import { allRows } from '../all-rows.ts'
import { Failed } from '../faults.ts'
import { idShownBy } from '../option-values.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { table } from '../terminal.ts'
import { scopes as known, readScopes } from './keys.ts'

const readId = idShownBy('pricewell users')
const readUser = (text: string) => (text.includes('@') ? text.toLowerCase() : readId(text))

/** `pricewell users`, with `add`, `scopes`, `reset` and `remove`. */
export function addUsers(program: Program): void {
  const users = program
    .command('users')
    .description('Lists the users of the account, who log in with an e-mail.')
    .addHelpText('after', '\nExample:\n  pricewell users')
    .action(async () => {
      const all = await readUsers(openClient())
      answer(all, table(all.map(row)))
    })
  addAdd(users)
  addChanges(users)
}

/** The `users` command, the parent of the others. */
type Users = ReturnType<Program['command']>

function addAdd(users: Users): void {
  users
    .command('add')
    .description('Adds a user and shows the password once.')
    .argument('<email>', 'what the user logs in with')
    .requiredOption('--scopes <scopes>', `what the user may do: ${known.join(', ')}`, readScopes)
    .addHelpText(
      'after',
      `
write includes plan, and plan includes read; admin manages users and keys.

Example:
  pricewell users add ben@acme.example --scopes read`,
    )
    .action(async (email, { scopes }) => {
      const body = { email, scopes }
      const { data } = await openClient().POST('/api/v1/users/', { body })
      answerPassword(data)
    })
}

function addChanges(users: Users): void {
  users
    .command('scopes')
    .description('Changes what a user may do.')
    .argument('<user>', 'the id or the e-mail of the user', readUser)
    .argument('<scopes>', `what the user may do from now on: ${known.join(', ')}`, readScopes)
    .addHelpText('after', '\nExample:\n  pricewell users scopes ben@acme.example plan')
    .action(async (user, scopes) => {
      const client = openClient()
      const params = { path: { id: await findUser(client, user) } }
      const { data } = await client.PATCH('/api/v1/users/{id}', { params, body: { scopes } })
      answer(data, table([row(data)]))
    })
  users
    .command('reset')
    .description("Gives a user a new password, which ends the user's logins within 10 seconds.")
    .argument('<user>', 'the id or the e-mail of the user', readUser)
    .addHelpText('after', '\nExample:\n  pricewell users reset ben@acme.example')
    .action(async (user) => {
      const client = openClient()
      const params = { path: { id: await findUser(client, user) } }
      const { data } = await client.POST('/api/v1/users/{id}/reset_password/', { params })
      answerPassword(data)
    })
  users
    .command('remove')
    .description("Deletes a user, which ends the user's logins within 10 seconds; keys remain.")
    .argument('<user>', 'the id or the e-mail of the user', readUser)
    .addHelpText('after', '\nExample:\n  pricewell users remove ben@acme.example')
    .action(async (user) => {
      const client = openClient()
      const id = await findUser(client, user)
      await client.DELETE('/api/v1/users/{id}', { params: { path: { id } } })
      answer({ id }, `User ${id} is deleted.`)
    })
}

/** The id of a user. Throws Failed if no user has that e-mail. */
async function findUser(client: PricewellClient, user: number | string): Promise<number> {
  if (typeof user === 'number') return user
  const found = (await readUsers(client)).find(({ email }) => email === user)
  if (!found) throw new Failed(`There is no user ${user}.`)
  return found.id
}

const readUsers = ({ GET }: PricewellClient): Promise<Schemas['User'][]> =>
  allRows(async (query) => (await GET('/api/v1/users/', { params: { query } })).data)

function answerPassword(user: Schemas['UserWithPassword']): void {
  const { id, email, password } = user
  if (password === undefined) throw new Failed(lost(id))
  const lines = `id        ${id}\ne-mail    ${email}\npassword  ${password}`
  answer(user, `${lines}  (shown only once)`)
}

function row({ id, email, scopes, created_at }: Schemas['User']) {
  return { id, 'e-mail': email, scopes: scopes.join(','), added: created_at }
}

/** The request was retried, and a stored response holds no password. */
const lost = (id: number) =>
  `It was done, but the response with the password was lost. Set another: \`pricewell users reset ${id}\`.`
