import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onOneConnection } from '../database/connection-setup.ts'

const statement = readFileSync(join(import.meta.dirname, 'dump-schema.sql'), 'utf8')

/** The tables, indexes, policies, functions and rights of a migrated database, as DDL that makes them again. */
export async function dumpSchema(url: string): Promise<string> {
  const { rows } = await onOneConnection(url, (client) => client.query(statement))
  return `${rows[0].schema}\n`
}
