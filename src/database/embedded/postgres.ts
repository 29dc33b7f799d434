import { spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { locateBinaries } from './binaries.ts'
import { prepareCluster } from './cluster.ts'
import { findPostgresUser, type SystemUser } from './system-user.ts'

/** A PostgreSQL that is reached through a Unix socket only its own user (and root) can open. */
export interface EmbeddedPostgres {
  /** Connects as the superuser to the database `postgres`. */
  readonly url: string
  /** Stops the server once nobody else is connected; another process may have attached to it. */
  stop(): Promise<void>
}

const startTimeoutSeconds = 60
const stopTimeoutSeconds = 30
/** Bulk loads write much WAL and few connections read: the defaults are for a 1 GB machine. */
const settings = [
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'jit=off',
  'timezone=UTC',
]

/**
 * Starts the embedded PostgreSQL on `dataDir`, or attaches to the one that runs there (a service that was killed
 * leaves it running, and the account command may start while the service runs).
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  extraSettings: string[] = [],
): Promise<EmbeddedPostgres> {
  const user = findPostgresUser()
  const native = locateBinaries(user)
  const cluster = prepareCluster(dataDir, native, user)
  const deadline = Date.now() + startTimeoutSeconds * 1000
  let spawned = false
  while (Date.now() < deadline) {
    const url = await findRunning(cluster)
    if (url) return { url, stop: () => stopWhenUnused(cluster, url) }
    if (!spawned && !isAlive(readPid(cluster))) {
      spawnServer(cluster, native, user, [...settings, ...extraSettings])
      spawned = true
    }
    await sleep(20)
  }
  throw new Error(
    `PostgreSQL did not start within ${startTimeoutSeconds} s; its log is ${join(cluster, 'server.log')}`,
  )
}

/** Detached, so that Ctrl-C reaches only us and the database stays until its connections are closed. */
function spawnServer(
  cluster: string,
  native: string,
  user: SystemUser | undefined,
  options: string[],
): void {
  const socketDir = mkdtempSync(join(tmpdir(), 'pricewell-'))
  if (user) chownSync(socketDir, user.uid, user.gid)
  const log = openSync(join(cluster, 'server.log'), 'a')
  const flags = ['listen_addresses=', `unix_socket_directories=${socketDir}`, ...options].flatMap(
    (flag) => ['-c', flag],
  )
  spawn(join(native, 'bin', 'postgres'), ['-D', cluster, ...flags], {
    ...user,
    cwd: cluster,
    env: {},
    detached: true,
    stdio: ['ignore', log, log],
  }).unref()
  closeSync(log)
}

/** Line 1 of postmaster.pid is the process id, line 5 the socket's folder, line 8 the state. */
function readPidFile(cluster: string): string[] {
  const path = join(cluster, 'postmaster.pid')
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8').split('\n')
}

function readPid(cluster: string): number {
  return Number(readPidFile(cluster)[0] ?? 0)
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}

async function findRunning(cluster: string): Promise<string | undefined> {
  const [pid, , , , socketDir, , , state] = readPidFile(cluster)
  if (!socketDir || state?.trim() !== 'ready' || !isAlive(Number(pid))) return undefined
  const url = `postgresql:///postgres?host=${encodeURIComponent(socketDir)}&user=postgres`
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    return url
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function stopWhenUnused(cluster: string, url: string): Promise<void> {
  if (await isUsed(url)) return
  const socketDir = readPidFile(cluster)[4]
  const pid = readPid(cluster)
  if (!isAlive(pid)) return
  process.kill(pid, 'SIGINT')
  const deadline = Date.now() + stopTimeoutSeconds * 1000
  while (existsSync(join(cluster, 'postmaster.pid')) && Date.now() < deadline) await sleep(20)
  if (socketDir) rmSync(socketDir, { recursive: true, force: true })
}

/** A connection that was just closed may take a moment to disappear on the server. */
async function isUsed(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rowCount } = await client.query(
        `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      if (rowCount === 0) return false
      await sleep(25)
    }
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
