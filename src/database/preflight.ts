import { randomUUID } from 'node:crypto'
import { onOneConnection, sessionSettings, withSessionSettings } from './connection-setup.ts'
import { CannotStart } from './errors.ts'

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
