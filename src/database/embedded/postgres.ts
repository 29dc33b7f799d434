import type { ChildProcess } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { CannotStart } from '../errors.ts'
import { onOneConnection } from '../one-connection.ts'
import { locateBinaries } from './binaries.ts'
import { prepareCluster } from './cluster.ts'
import { endTrust, readPassword, trustsAnyone, wrongPassword } from './password.ts'
import { endUnreachable, findServer, type ServerStart, spawnServer } from './server-process.ts'
import { makeSocketDir } from './socket-dir.ts'
import { findPostgresUser } from './system-user.ts'

/** A PostgreSQL that is reached through a Unix socket only its own user (and root) can open, and with its password. */
export interface EmbeddedPostgres {
  /** Connects as the superuser to the database `postgres`. */
  readonly url: string
  /** Stops the server once nobody else is connected; another process may have attached to it. */
  stop(): Promise<void>
}

const invalidPassword = '28P01'
const startTimeoutSeconds = 60
const stopTimeoutSeconds = 30
/**
 * A server that nobody reaches for so long may be none: after a power failure its id may be that of another process.
 * PostgreSQL knows, and does not start beside another one.
 */
const doubtMs = 5000
/** How often is looked whether the server is there. */
const reviveMs = 1000
/** What a container may take is less than what its machine has. */
const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || totalmem())
/** A quarter of it, as PostgreSQL recommends: with 2 GB, rows for a table of 4 GB took a fifth longer after a checkpoint. */
const sharedBuffersMb = Math.min(Math.max(Math.floor(memoryBytes / 4 / 2 ** 20), 128), 8192)
/** Bulk loads write much WAL and few connections read: the defaults are for a 1 GB machine. */
const settings = [
  `shared_buffers=${sharedBuffersMb}MB`,
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'jit=off',
  'timezone=UTC',
  // The details of errors are values of rows, which no log holds.
  'log_error_verbosity=terse',
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
  const password = readPassword(dataDir)
  const start = { cluster, native, user, settings: [...settings, ...extraSettings] }
  const deadline = performance.now() + startTimeoutSeconds * 1000
  let doubtAt = performance.now() + doubtMs
  let spawned: ChildProcess | undefined
  let socketDir: string | undefined
  while (performance.now() < deadline) {
    const running = await findRunning(cluster, password)
    if (running === 'refused') {
      if (spawned) await endServer(cluster)
      throw wrongPassword(dataDir, cluster)
    }
    if (running) {
      // Another process that started at the same time was first.
      if (socketDir && socketDir !== running.socketDir) removeFolder(socketDir)
      // A process of the earlier version that is still there knows no password.
      if (trustsAnyone(cluster) && !(await isUsed(running.url)))
        await endTrust(start, running.url, password)
      return keepRunning(start, running)
    }
    const server = findServer(cluster)
    if (server) endUnreachable(server, cluster)
    const isDoubtful = performance.now() > doubtAt && !isStarting(spawned)
    if (isDoubtful || (!spawned && !server)) {
      socketDir ??= makeSocketDir(user)
      spawned = spawnServer(start, socketDir)
      doubtAt = performance.now() + doubtMs
    }
    await sleep(20)
  }
  if (socketDir) removeFolder(socketDir)
  throw new CannotStart(
    `PostgreSQL did not start within ${startTimeoutSeconds} s; its log is ${join(cluster, 'server.log')}`,
  )
}

const removeFolder = (path: string) => rmSync(path, { recursive: true, force: true })

function isStarting(server: ChildProcess | undefined): boolean {
  return server !== undefined && server.exitCode === null && server.signalCode === null
}

interface Running {
  url: string
  socketDir: string
}

/**
 * Starts the server again, at the same address, when it dies (the kernel kills processes when memory runs out) or its
 * socket is deleted.
 */
function keepRunning(start: ServerStart, { url, socketDir }: Running): EmbeddedPostgres {
  const { cluster } = start
  const revive = () => {
    try {
      const server = findServer(cluster)
      if (server) endUnreachable(server, cluster)
      else if (existsSync(cluster)) spawnServer(start, socketDir)
    } catch {
      // The machine has no memory, file descriptors or room for it; the next look may find some.
    }
  }
  const watch = setInterval(revive, reviveMs).unref()
  const stop = () => {
    clearInterval(watch)
    return stopWhenUnused(cluster, url)
  }
  return { url, stop }
}

async function findRunning(
  cluster: string,
  password: string,
): Promise<Running | 'refused' | undefined> {
  const { socketDir, isReady } = findServer(cluster) ?? {}
  if (!socketDir || !isReady) return undefined
  // The driver takes what the URL leaves out from the shell: PGPORT and others, which are about another server.
  const own = 'user=postgres&sslmode=disable&options=-c%20search_path=public'
  const host = encodeURIComponent(socketDir)
  const url = `postgresql://postgres:${password}@localhost:5432/postgres?host=${host}&${own}`
  return onOneConnection(url, async () => ({ url, socketDir })).catch(({ code }) =>
    code === invalidPassword ? 'refused' : undefined,
  )
}

async function stopWhenUnused(cluster: string, url: string): Promise<void> {
  if (!(await isUsed(url))) await endServer(cluster)
}

async function endServer(cluster: string): Promise<void> {
  const server = findServer(cluster)
  if (!server) return
  process.kill(server.pid, 'SIGINT')
  const deadline = performance.now() + stopTimeoutSeconds * 1000
  while (existsSync(join(cluster, 'postmaster.pid')) && performance.now() < deadline)
    await sleep(20)
  if (server.socketDir) removeFolder(server.socketDir)
}

/** A connection that was just closed may take a moment to disappear on the server. */
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
