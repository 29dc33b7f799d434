import { promises as fs } from 'node:fs'
import path from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'
import pg from 'pg'
import { connectionTimeoutMillis, prepareConnection } from './connection-setup.ts'
import { CannotStart } from './errors.ts'
import { ensureApplicationRole, ensureOwner } from './owner.ts'

const migrationFolder = path.resolve(import.meta.dirname, '../../migrations')

/** Who is paused in the middle of a migration lets the others have their turn. */
const pausedMs = 60_000

/** Brings the database of `url` (its user owns the tables) to the newest migration. Safe to run from several processes. */
export async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 2,
    connectionTimeoutMillis,
    idle_in_transaction_session_timeout: pausedMs,
    onConnect: prepareConnection,
  })
  pool.on('error', () => undefined)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    await rejectOtherEncodings(db)
    await ensureApplicationRole(db)
    const provider = new FileMigrationProvider({ fs, path, migrationFolder })
    const { error } = await new Migrator({ db, provider }).migrateToLatest()
    if (error) throw unknownMigration(error) ?? error
    await ensureOwner(db)
  } finally {
    await db.destroy()
  }
}

/** The texts of clients are Unicode: other encodings lack most of its letters. */
async function rejectOtherEncodings(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`
    select current_setting('server_encoding') as encoding`.execute(db)
  const encoding = rows[0]?.encoding
  if (encoding === 'UTF8') return
  throw new CannotStart(
    `the encoding of the database is ${encoding}: let DATABASE_URL lead to one that was created with "create database <name> encoding 'UTF8' template template0"`,
  )
}

/** A newer version was here, or another program that keeps its migrations in the same way. */
function unknownMigration(error: unknown): CannotStart | undefined {
  const { message } = error as Error
  const [, name] = /^corrupted migrations: .* (\S+) is missing$/.exec(message) ?? []
  if (name === undefined) return undefined
  return new CannotStart(
    `the database has the migration ${name}, which this version does not know: start the version that was last used with it, restore the backup from before the upgrade, or use another database`,
  )
}
