import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Config } from '../config.ts'
import {
  onOneConnection,
  sessionSettings,
  withOwnSettings,
  withSessionSettings,
} from './connection-setup.ts'
import { startEmbeddedPostgres } from './embedded/postgres.ts'
import { isTransient, StartupError } from './errors.ts'

/** The PostgreSQL that the service uses: the embedded one or that of DATABASE_URL. */
export interface DatabaseServer {
  /** Connects as the owner of the tables, to the service's database, with the settings that all connections need. */
  readonly url: string
  readonly isEmbedded: boolean
  /** Resolves when the embedded server has died. */
  readonly died: Promise<void>
  /** Stops the embedded server if nobody else uses it. */
  stop(): Promise<void>
}

/** Failed statements appear in the log or the response of the service, and nobody rotates the embedded server's log. */
const settingsOfEmbedded = { log_min_messages: 'log' }

/** Starts the embedded PostgreSQL, or uses that of DATABASE_URL. Throws StartupError. */
export async function openDatabaseServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl) {
    rejectUnreadableFiles(config.databaseUrl)
    const url = withOwnSettings(config.databaseUrl)
    return { url, isEmbedded: false, died: new Promise(() => {}), stop: async () => {} }
  }
  const postgres = await startEmbeddedPostgres(config.dataDir)
  await whenAvailable(() => createDatabase(postgres.url, 'pricewell'), {
    seconds: config.databaseWaitSeconds,
    onWait: () => undefined,
  })
  const url = withSessionSettings(
    withOwnSettings(databaseUrl(postgres.url, 'pricewell')),
    settingsOfEmbedded,
  )
  return { url, isEmbedded: true, died: postgres.died, stop: postgres.stop }
}

/** Checks the certificates that the URL names: pg says of a missing file only that it is missing. */
function rejectUnreadableFiles(url: string): void {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = new URL(url).searchParams.get(name)
    try {
      if (path) readFileSync(path)
    } catch (error) {
      throw new StartupError(`${(error as Error).message}: correct ${name} in DATABASE_URL`)
    }
  }
}

/** Returns the URL of another database on the same server. */
export function databaseUrl(url: string, database: string): string {
  const result = new URL(url)
  result.pathname = `/${database}`
  return result.toString()
}

async function createDatabase(url: string, name: string): Promise<void> {
  const create = async (client: pg.Client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`)
  }
  await onOneConnection(url, create).catch((error) => {
    if (!isDuplicate(error)) throw error
  })
}

/** Another process that started at the same time has created the database. */
function isDuplicate(error: unknown): boolean {
  return ['42P04', '23505'].includes((error as { code?: string }).code ?? '')
}

/**
 * Throws StartupError if something in between (a pooler) drops the settings that connections carry. One of them is the
 * role: without it statements run as the owner, who may read all accounts.
 */
export async function rejectLostSettings(url: string): Promise<void> {
  // A random mark: the server may have the other settings by chance, and some poolers pass on the names that they know.
  const mark = { 'app.connection': randomUUID() }
  const { rows } = await onOneConnection(withSessionSettings(url, mark), (client) =>
    client.query(
      'select key from json_each_text($1) where current_setting(key, true) is distinct from value order by key',
      [JSON.stringify({ ...sessionSettings, ...mark })],
    ),
  )
  const names = rows.map(({ key }) => key).join(', ')
  if (names === '') return
  throw new StartupError(
    `the settings of connections do not reach the database (${names}): let DATABASE_URL lead to PostgreSQL itself and not to a pooler like PgBouncer`,
  )
}

const pauseMs = 250

/**
 * Repeats `work` while the database is unreachable, for at most `seconds`: it may start beside the service. Other
 * errors are thrown immediately. `onWait` gets the first error.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  { seconds, onWait }: { seconds: number; onWait: (error: Error) => void },
): Promise<T> {
  const deadline = performance.now() + seconds * 1000
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isTransient(error) || performance.now() >= deadline) throw error
      if (attempt === 1) onWait(error as Error)
      await sleep(pauseMs)
    }
  }
}
