import pg from 'pg'
import { connectionTimeoutMillis } from './connection-setup.ts'

/** Runs `work` on a connection of its own. One that breaks meanwhile fails its statements, and not the process. */
export async function onOneConnection<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
