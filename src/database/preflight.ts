import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { sessionSettings, withSessionSettings } from './connection-setup.ts'
import { CannotStart } from './errors.ts'
import { onOneConnection } from './one-connection.ts'

/**
 * Throws where something between (a pooler) takes connections without the settings that they carry: the role is one of
 * them, and without it statements run as the owner, whom accounts are not kept from.
 */
export async function rejectLostSettings(url: string): Promise<void> {
  // The others may be those of the server by chance, or passed on alone: a pooler knows some names.
  const mark = { 'app.connection': randomUUID() }
  const { rows } = await onOneConnection(withSessionSettings(url, mark), (client) =>
    client.query(
      'select key from json_each_text($1) where current_setting(key, true) is distinct from value order by key',
      [JSON.stringify({ ...sessionSettings, ...mark })],
    ),
  )
  if (rows.length > 0) throw lost(rows.map(({ key }) => key).join(', '))
}

function lost(names: string): CannotStart {
  return new CannotStart(
    `the settings of connections do not reach the database (${names}): let DATABASE_URL lead to PostgreSQL itself and not to a pooler like PgBouncer`,
  )
}

/**
 * Throws where sessions are as those of a replica, whose triggers and foreign keys do nothing: prices of promotions that
 * have changed would be answered, and rows of lists that have gone would stay. Only a superuser may set it, for a
 * session too.
 */
export async function rejectTriggersOff(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('session_replication_role') = 'replica' as is_so`,
  )
  if (rows[0].is_so)
    throw new CannotStart(
      'triggers and foreign keys are off (session_replication_role = replica): reset it for the server, the database and the user of DATABASE_URL',
    )
}
