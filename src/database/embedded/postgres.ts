import { type ChildProcess, spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { onOneConnection } from '../connection-setup.ts'
import { StartupError } from '../errors.ts'
import {
  findPostgresUser,
  isReachable,
  locateBinaries,
  makeReachable,
  type SystemUser,
  systemDir,
} from './binaries.ts'
import { prepareCluster } from './cluster.ts'
import { readPassword, wrongPassword } from './password.ts'

/** A PostgreSQL that only its own user (and root) can reach, through a Unix socket and with its password. */
export interface EmbeddedPostgres {
  /** Connects as the superuser to the database `postgres`. */
  readonly url: string
  /** Resolves when the server has died; not after `stop`. */
  readonly died: Promise<void>
  /** Stops the server unless another process is connected to it. */
  stop(): Promise<void>
}

const invalidPassword = '28P01'
const startTimeoutSeconds = 60
const stopTimeoutSeconds = 30
const pollMs = 20
const respawnMs = 500
const watchMs = 1000
/** A container may use less memory than its machine has. */
const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || totalmem())
/** A quarter of memory, as PostgreSQL recommends: with 2 GB, a 4 GB table loaded a fifth slower after a checkpoint. */
const sharedBuffersMb = Math.min(Math.max(Math.floor(memoryBytes / 4 / 2 ** 20), 128), 8192)
/** PostgreSQL's defaults suit a machine of 1 GB; bulk loads write much WAL. */
const settings = [
  `shared_buffers=${sharedBuffersMb}MB`,
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'timezone=UTC',
  // Error details contain row values, which no log may hold.
  'log_error_verbosity=terse',
]

/**
 * Starts the embedded PostgreSQL on `dataDir`, or attaches to one that already runs there: a service that was killed
 * leaves it running, and the account command may start beside the service. Throws StartupError.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  extraSettings: string[] = [],
): Promise<EmbeddedPostgres> {
  const user = findPostgresUser()
  const native = locateBinaries(user)
  const cluster = prepareCluster(dataDir, native, user)
  const password = readPassword(dataDir)
  const start = { cluster, native, user, settings: [...settings, ...extraSettings] }
  const deadline = performance.now() + startTimeoutSeconds * 1000
  let socketDir: string | undefined
  let spawned: ChildProcess | undefined
  let spawnAt = 0
  while (performance.now() < deadline) {
    const running = await findRunning(cluster, password)
    if (running) {
      // Another process may have started its server first.
      if (socketDir && running.socketDir !== socketDir) removeFolder(socketDir)
      if (running.isRefused) {
        if (spawned) await endServer(cluster, running)
        throw wrongPassword(dataDir, cluster)
      }
      return watched(cluster, running)
    }
    // PostgreSQL itself refuses to start beside another server on the same data.
    if (performance.now() >= spawnAt && (!spawned || hasEnded(spawned))) {
      socketDir ??= makeSocketDir(user)
      spawned = spawnServer(start, socketDir)
      spawnAt = performance.now() + respawnMs
    }
    await sleep(pollMs)
  }
  if (socketDir) removeFolder(socketDir)
  throw new StartupError(
    `PostgreSQL did not start within ${startTimeoutSeconds} s; its log is ${join(cluster, 'server.log')}`,
  )
}

const removeFolder = (path: string) => rmSync(path, { recursive: true, force: true })

interface ServerStart {
  cluster: string
  native: string
  user: SystemUser | undefined
  /** As in `shared_buffers=256MB`. */
  settings: string[]
}

/** Detached, so that Ctrl-C reaches only the service and the database stays until its connections are closed. */
function spawnServer(
  { cluster, native, user, settings }: ServerStart,
  socketDir: string,
): ChildProcess {
  const log = openSync(join(cluster, 'server.log'), 'a')
  const options = ['listen_addresses=', `unix_socket_directories=${socketDir}`, ...settings]
  const server = spawn(
    join(native, 'bin', 'postgres'),
    ['-D', cluster, ...options.flatMap((option) => ['-c', option])],
    { ...user, cwd: cluster, env: {}, detached: true, stdio: ['ignore', log, log] },
  )
  closeSync(log)
  server.unref()
  // A server that cannot be spawned is retried like one that ends immediately.
  return server.on('error', () => undefined)
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

const socketName = '.s.PGSQL.5432'
/** A socket's path may have 104 bytes on macOS and 108 on Linux, including the final NUL. */
const pathBytesMax = 103

/**
 * Makes a folder for the socket: in the folder for temporary files or, if that is closed to the Postgres user
 * (libpam-tmpdir gives root a folder of its own), in `systemDir`. Throws StartupError if its path is too long.
 */
function makeSocketDir(user: SystemUser | undefined): string {
  const temporary = resolve(tmpdir())
  const isOpen = !existsSync(temporary) || isReachable(temporary, user)
  if (!isOpen) makeReachable(systemDir, user)
  const start = join(isOpen ? temporary : systemDir, 'pricewell-')
  if (Buffer.byteLength(join(`${start}XXXXXX`, socketName)) > pathBytesMax)
    throw new StartupError(
      `${temporary} is too long for the path of a socket: set TMPDIR to a shorter one`,
    )
  const socketDir = mkdtempSync(start)
  if (user) chownSync(socketDir, user.uid, user.gid)
  return socketDir
}

interface Running {
  url: string
  pid: number
  socketDir: string
  /** The server does not accept the password. */
  isRefused: boolean
}

/** Finds the server that runs on the cluster, once it responds. Throws StartupError if the cluster is a copy. */
async function findRunning(cluster: string, password: string): Promise<Running | undefined> {
  // Line 1 is the process id, line 2 the data folder, line 5 the folder of the socket, line 8 the state.
  const [pid, folder, , , socketDir, , , state] = readLines(join(cluster, 'postmaster.pid'))
  if (!socketDir || state?.trim() !== 'ready') return undefined
  // pg takes what the URL omits from the environment: PGPORT and others, which may belong to another server.
  const own = 'user=postgres&sslmode=disable&options=-c%20search_path=public'
  const host = encodeURIComponent(socketDir)
  const url = `postgresql://postgres:${password}@localhost:5432/postgres?host=${host}&${own}`
  const running = { url, pid: Number(pid), socketDir, isRefused: false }
  const found = await onOneConnection(url, async () => running).catch(({ code }) =>
    code === invalidPassword ? { ...running, isRefused: true } : undefined,
  )
  if (found && folder !== cluster)
    throw new StartupError(
      `${cluster} is a copy of ${folder}, made while PostgreSQL ran there: stop it (process ${pid}) and copy again`,
    )
  return found
}

/** Returns no lines if there is no file. */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function watched(cluster: string, running: Running): EmbeddedPostgres {
  let timer: NodeJS.Timeout | undefined
  const died = new Promise<void>((resolve) => {
    const look = () => isAlive(running.pid) || resolve()
    timer = setInterval(look, watchMs).unref()
  })
  const stop = async () => {
    clearInterval(timer)
    if (!(await isUsed(running.url))) await endServer(cluster, running)
  }
  return { url: running.url, died, stop }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function endServer(cluster: string, { pid, socketDir }: Running): Promise<void> {
  if (!isAlive(pid)) return
  process.kill(pid, 'SIGINT')
  const deadline = performance.now() + stopTimeoutSeconds * 1000
  while (existsSync(join(cluster, 'postmaster.pid')) && performance.now() < deadline)
    await sleep(pollMs)
  removeFolder(socketDir)
}

/** Whether other processes are connected. The server may show a connection for a moment after it was closed. */
async function isUsed(url: string): Promise<boolean> {
  const look = async (client: pg.Client) => {
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rowCount } = await client.query(
        `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      if (rowCount === 0) return false
      await sleep(25)
    }
    return true
  }
  return onOneConnection(url, look).catch(() => false)
}
