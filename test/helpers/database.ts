import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../src/database/migrate.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { installQueue } from '../../src/jobs/queue.ts'

const template = 'pricewell_test_template'

/** A migrated database that every test file clones: 100 ms instead of all migrations. */
export async function createTemplate(url: string): Promise<void> {
  await query(url, `drop database if exists ${template}`)
  await query(url, `create database ${template}`)
  await migrate(databaseUrl(url, template))
  await installQueue(databaseUrl(url, template))
}

export interface TestDatabase {
  name: string
  url: string
  /** Another database of the same server. */
  serverUrl: string
  drop(): Promise<void>
}

/** A database of this test file's own. */
export const cloneDatabase = (): Promise<TestDatabase> => createDatabase(template)

/** A database that no service has used; `options` are those of `create database`. */
export const emptyDatabase = (options = ''): Promise<TestDatabase> =>
  createDatabase(`template0 ${options}`)

async function createDatabase(template: string): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL
  if (!server) throw new Error('run the tests with `npm test`')
  const name = `test_${randomBytes(8).toString('hex')}`
  await query(server, `create database ${name} template ${template}`)
  const drop = () => query(server, `drop database ${name}`)
  return { name, url: databaseUrl(server, name), serverUrl: server, drop }
}

/** For `create role <name> ${loginOf(url)}`: with another user the URL is that of the new role. */
export function loginOf(url: string): string {
  const password = decodeURIComponent(new URL(url).password)
  return password === '' ? 'login' : `login password ${pg.escapeLiteral(password)}`
}

/** One statement on a connection of its own, as the owner. */
export async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
