import type pg from 'pg'

const readOnly = new WeakSet<pg.ClientBase>()

/** Whether a server that has taken a connection takes writes on it: a standby does not, nor a database that may not grow. */
const onlyReads = `
  select current_setting('in_hot_standby') = 'on' or current_setting('default_transaction_read_only') = 'on' as is_so`

/** Finds out of a new connection whether it leads to where nothing can be written. */
export async function noteReadOnly(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(onlyReads)
  if (rows[0].is_so) readOnly.add(client)
}

/**
 * Closes such a connection after its use, whatever it was used for: it stays as it is, while the address may lead to the
 * primary by now and the database may take writes again. Kept, it would fail every write and answer old data.
 */
export function leavingReadOnly(client: pg.PoolClient): pg.PoolClient {
  const { release } = client
  client.release = (error) => release(error || readOnly.has(client))
  return client
}
