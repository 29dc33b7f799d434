import type pg from 'pg'
import { CannotStart } from './cannot-start.ts'

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
