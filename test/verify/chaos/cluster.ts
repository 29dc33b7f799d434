import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findPostgresUser, locateBinaries } from '../../../src/database/embedded/binaries.ts'
import { prepareCluster, removeDataDir } from '../../../src/database/embedded/cluster.ts'
import { readPassword } from '../../../src/database/embedded/password.ts'

/** A PostgreSQL to break; data directory and address survive every restart. */
export interface Cluster {
  /** Superuser, database `postgres`, through `socketPath`. */
  readonly url: string
  readonly socketPath: string
  readonly log: () => string
  /** Starts it and waits until it takes connections. */
  start(): Promise<void>
  /** Starts it without waiting. */
  spawn(): void
  /** `fast` ends sessions; `immediate` is like a crash, the next start recovers. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Waits until it takes connections. */
  ready(): Promise<void>
  isRunning(): boolean
  remove(): Promise<void>
}

/** fsync guards against operating system crashes, which do not happen here. */
const settings = [
  'listen_addresses=',
  'fsync=off',
  'max_connections=300',
  'shared_buffers=128MB',
  'timezone=UTC',
  'log_min_messages=warning',
]

/** Creates a data directory below `parent`; the server is not started. */
export function createCluster(parent = tmpdir(), ownSettings: string[] = []): Cluster {
  const user = findPostgresUser()
  const native = locateBinaries(user)
  const dataDir = mkdtempSync(join(parent, 'pricewell-chaos-'))
  chmodSync(dataDir, 0o755)
  const data = prepared(dataDir, native, user)
  const socketDir = mkdtempSync(join(tmpdir(), 'pricewell-chaos-socket-'))
  if (user) chownSync(socketDir, user.uid, user.gid)
  const password = readPassword(dataDir)
  const url = `postgresql://postgres:${password}@localhost/postgres?host=${encodeURIComponent(socketDir)}`
  const logPath = join(data, 'server.log')
  let server: ChildProcess | undefined
  let isRemoved = false

  const spawnServer = () => {
    // A run that is interrupted removes the folder first.
    if (isRemoved) return
    const log = openSync(logPath, 'a')
    const flags = [...settings, ...ownSettings, `unix_socket_directories=${socketDir}`]
    const args = ['-D', data, ...flags.flatMap((flag) => ['-c', flag])]
    server = spawn(join(native, 'bin', 'postgres'), args, {
      ...user,
      cwd: data,
      env: {},
      stdio: ['ignore', log, log],
    })
    closeSync(log)
  }
  const isRunning = () =>
    server !== undefined && server.exitCode === null && server.signalCode === null
  const ready = () => untilReady(url, logPath)
  const stop = async (mode: 'fast' | 'immediate') => {
    if (!server || !isRunning()) return
    const exited = once(server, 'exit')
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    // An interrupted run may have left it paused.
    server.kill('SIGCONT')
    await exited
  }
  return {
    url,
    socketPath: join(socketDir, '.s.PGSQL.5432'),
    isRunning,
    ready,
    stop,
    log: () => readFileSync(logPath, 'utf8'),
    spawn: spawnServer,
    start: () => {
      spawnServer()
      return ready()
    },
    remove: async () => {
      await stop('immediate')
      isRemoved = true
      removeDataDir(dataDir)
      rmSync(socketDir, { recursive: true })
    },
  }
}

/** Removes the folder if initdb is interrupted. */
function prepared(...how: Parameters<typeof prepareCluster>): string {
  try {
    return prepareCluster(...how)
  } catch (error) {
    removeDataDir(how[0])
    throw error
  }
}

async function untilReady(url: string, logPath: string): Promise<void> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select')
      return
    } catch {
      await sleep(5)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  throw new Error(`PostgreSQL did not start: ${readFileSync(logPath, 'utf8').slice(-2000)}`)
}
