import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onOneConnection } from '../database/connection-setup.ts'

const statement = readFileSync(join(import.meta.dirname, 'dump-schema.sql'), 'utf8')

/** Returns the tables, indexes, policies, functions and grants of a migrated database as DDL that recreates them. */
export async function dumpSchema(url: string): Promise<string> {
  const { rows } = await onOneConnection(url, (client) => client.query(statement))
  return `${rows[0].schema}\n`
}
