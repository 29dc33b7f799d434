import { rmSync } from 'node:fs'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import type { Teardowns } from './leave-nothing.ts'
import { freshDataDir } from './process.ts'

/** An embedded PostgreSQL of a command's own, in a folder of that name; whoever is still connected at the end is cut off. */
export async function startOwnPostgres(
  command: Pick<Teardowns, 'teardown'>,
  name: string,
  settings: string[] = [],
): Promise<{ url: string; dataDir: string }> {
  const dataDir = freshDataDir(command, name)
  const starting = startEmbeddedPostgres(dataDir, settings)
  command.teardown(async () => {
    const { url, stop } = await starting
    await stop()
    // It stops for nobody who is still connected: the folder's own teardown ends it, and knows nothing of its socket.
    const socketDir = new URL(url).searchParams.get('host')
    if (socketDir) rmSync(socketDir, { recursive: true, force: true })
  })
  return { url: (await starting).url, dataDir }
}
