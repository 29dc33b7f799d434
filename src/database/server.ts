import { readFileSync } from 'node:fs'
import pg from 'pg'
import type { Config } from '../config.ts'
import { onOneConnection, withOwnSettings, withSessionSettings } from './connection-setup.ts'
import { startEmbeddedPostgres } from './embedded/postgres.ts'
import { CannotStart } from './errors.ts'
import { whenAvailable } from './when-available.ts'

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

/**
 * A statement that fails is in the log of the service, or is an answer: nobody rotates the server's own log, where each
 * took up to a kilobyte.
 */
const settingsOfEmbedded = { log_min_messages: 'log' }

/** Starts the embedded PostgreSQL, or takes that of DATABASE_URL as it is. */
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

/** The certificates that the URL names; the driver would say of a missing one only that it is missing. */
function rejectUnreadableFiles(url: string): void {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = new URL(url).searchParams.get(name)
    try {
      if (path) readFileSync(path)
    } catch (error) {
      throw new CannotStart(`${(error as Error).message}: correct ${name} in DATABASE_URL`)
    }
  }
}

/** The same server, another database. */
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

/** Two processes that start at once: one of them creates the database. */
function isDuplicate(error: unknown): boolean {
  return ['42P04', '23505'].includes((error as { code?: string }).code ?? '')
}
