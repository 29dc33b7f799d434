import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../src/database/migrate.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { installQueue } from '../../src/jobs/queue.ts'

export const template = 'pricewell_test_template'

/** Creates the migrated database that test databases are cloned from. */
export async function createTemplate(url: string): Promise<void> {
  await query(url, `drop database if exists ${template}`)
  await query(url, `create database ${template}`)
  await migrate(databaseUrl(url, template))
  await installQueue(databaseUrl(url, template))
}

export interface TestDatabase {
  name: string
  url: string
  /** The `postgres` database of the same server. */
  serverUrl: string
  drop(): Promise<void>
}

/** A migrated database of its own; on a cluster (TEST_CLUSTER_URL) the one that all tests share. */
export async function cloneDatabase(): Promise<TestDatabase> {
  const { TEST_CLUSTER_URL: url, TEST_DATABASE_URL: serverUrl = '' } = process.env
  return url
    ? { name: new URL(url).pathname.slice(1), url, serverUrl, drop: async () => undefined }
    : createDatabase(template)
}

/** A database without migrations; `options` are those of `create database`. */
export const emptyDatabase = (options = ''): Promise<TestDatabase> =>
  createDatabase(`template0 ${options}`)

async function createDatabase(template: string): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL
  if (!server) throw new Error('run the tests with `npm test`')
  const name = `test_${randomBytes(8).toString('hex')}`
  await query(server, `create database ${name} strategy file_copy template ${template}`)
  const drop = () => query(server, `drop database ${name}`)
  return { name, url: databaseUrl(server, name), serverUrl: server, drop }
}

/** The options of `create role` for a role that logs in with the password in this URL. */
export function loginOf(url: string): string {
  const password = decodeURIComponent(new URL(url).password)
  return password === '' ? 'login' : `login password ${pg.escapeLiteral(password)}`
}

/** Removes history that is older than 400 days, as happens every hour. */
export async function deleteOldHistory(url: string): Promise<void> {
  await query(url, 'select expire_history(400); select delete_expired_history(400)')
}

/** Runs statements as the owner, on a new connection. */
export async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
