import { promises as fs } from 'node:fs'
import path from 'node:path'
import { Kysely, PostgresDialect } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'
import pg from 'pg'
import { connectionTimeoutMillis } from './session-settings.ts'

const migrationFolder = path.resolve(import.meta.dirname, '../../migrations')

/** Brings the database of `url` (its user owns the tables) to the newest migration. Safe to run from several processes. */
export async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    const provider = new FileMigrationProvider({ fs, path, migrationFolder })
    const { error } = await new Migrator({ db, provider }).migrateToLatest()
    if (error) throw error
  } finally {
    await db.destroy()
  }
}
