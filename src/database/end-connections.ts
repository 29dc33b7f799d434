import type { Socket } from 'node:net'
import { setImmediate as nextLoop } from 'node:timers/promises'
import type pg from 'pg'
import { type Database, poolOf } from './pool.ts'

/** What pg keeps to itself. */
interface InsidePool {
  _clients: { connection: { stream: Socket } }[]
}

/** Closes the busy connections of a pool: their statements fail here, their transactions roll back in the server. */
export function endBusyConnections(pool: pg.Pool): void {
  for (const { connection } of [...(pool as unknown as InsidePool)._clients])
    connection.stream.destroy()
}

/** Closes all connections of a database, the busy ones too, and opens no more. */
export async function endDatabase(db: Database): Promise<void> {
  const destroyed = db.destroy()
  // By then those that are idle have left the pool in good order.
  await nextLoop()
  endBusyConnections(poolOf(db))
  await destroyed
}
