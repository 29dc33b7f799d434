import { rmSync } from 'node:fs'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import type { Teardowns } from './leave-nothing.ts'
import { freshDataDir } from './process.ts'

/** Starts an embedded PostgreSQL for a command; it is stopped, and its data removed, when the command ends. */
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
    // `stop` waits for open connections in vain; the teardown of the folder kills the server but leaves its
    // socket.
    const socketDir = new URL(url).searchParams.get('host')
    if (socketDir) rmSync(socketDir, { recursive: true, force: true })
  })
  return { url: (await starting).url, dataDir }
}
