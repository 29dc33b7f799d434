import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { socketName } from './socket-dir.ts'
import type { SystemUser } from './system-user.ts'

/** How a server is started: on which data, by which binaries, as whom. */
export interface ServerStart {
  cluster: string
  native: string
  user: SystemUser | undefined
  /** As in `shared_buffers=256MB`. */
  settings: string[]
}

/** Detached, so that Ctrl-C reaches only us and the database stays until its connections are closed. */
export function spawnServer(
  { cluster, native, user, settings }: ServerStart,
  socketDir: string,
): ChildProcess {
  mkdirSync(socketDir, { recursive: true, mode: 0o700 })
  if (user) chownSync(socketDir, user.uid, user.gid)
  const log = openSync(join(cluster, 'server.log'), 'a')
  const options = ['listen_addresses=', `unix_socket_directories=${socketDir}`, ...settings]
  const server = spawn(
    join(native, 'bin', 'postgres'),
    ['-D', cluster, ...options.flatMap((option) => ['-c', option])],
    { ...user, cwd: cluster, env: {}, detached: true, stdio: ['ignore', log, log] },
  )
  closeSync(log)
  server.unref()
  // One that could not be spawned is looked for like one that ends at once.
  return server.on('error', () => undefined)
}

/** What a running server says of itself. */
export interface ServerState {
  pid: number
  socketDir: string | undefined
  isReady: boolean
}

/** The server on this data that is starting, running or stopping. */
export function findServer(cluster: string): ServerState | undefined {
  // Line 1 is the process id, line 5 the socket's folder, line 8 the state.
  const [pid, , , , socketDir, , , state] = readLines(join(cluster, 'postmaster.pid'))
  if (!isAlive(Number(pid))) return undefined
  return { pid: Number(pid), socketDir: socketDir || undefined, isReady: state?.trim() === 'ready' }
}

/**
 * Ends a server whose socket was deleted, as by who tidies up /tmp: nobody reaches it any more, and no other starts
 * beside it.
 */
export function endUnreachable({ pid, socketDir, isReady }: ServerState, cluster: string): void {
  if (!isReady || !socketDir || hasSocket(pid, socketDir)) return
  if (commandOf(pid).includes(cluster)) process.kill(pid, 'SIGINT')
}

/** The server may have a /tmp of its own, as systemd gives it (PrivateTmp). */
function hasSocket(pid: number, socketDir: string): boolean {
  const path = join(socketDir, socketName)
  return existsSync(path) || existsSync(join(`/proc/${pid}/root`, path))
}

/** After a power failure the id of the server may be that of another process. Where the system does not tell, it is left. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** None of a file that is not there: it may go at any moment. */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}
