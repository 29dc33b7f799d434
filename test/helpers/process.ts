import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeDataDir } from '../../src/database/embedded/cluster.ts'
import type { TestResponse } from './conformant.ts'
import type { Teardowns } from './leave-nothing.ts'

const root = join(import.meta.dirname, '../..')

/** A service process in its own process group, started as by `npm start`. */
export interface ServiceProcess {
  pid: number
  url: string
  stdout: () => string
  stderr: () => string
  /** Kills the group with SIGKILL. */
  kill: () => Promise<void>
  /** The exit code, once it has ended. */
  exited: Promise<number | null>
  /** Sends SIGTERM; returns the exit code. */
  stop: () => Promise<number | null>
}

/** A new data directory; removed, and its PostgreSQL killed, when the test ends. */
export function freshDataDir(t: Pick<Teardowns, 'teardown'>, name = 'process'): string {
  const dataDir = mkdtempSync(join(tmpdir(), `pricewell-${name}-`))
  t.teardown(async () => {
    const pid = postmasterPid(dataDir)
    if (pid !== undefined) {
      process.kill(pid, 'SIGQUIT')
      while (isAlive(pid)) await sleep(20)
    }
    removeDataDir(dataDir)
  })
  return dataDir
}

/** The environment of a child process: none of our service settings, but these. */
export function childEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE, ...settings }
}

/** Arguments of `env` that drop the loader tap adds to Node's options: it doubles the time Node takes to start. */
export function withoutLoader(command: string, args: readonly string[]): string[] {
  return ['-u', 'NODE_OPTIONS', command, ...args]
}

export const startCommand = [process.execPath, 'src/server.ts'] as const

/** The command of a process and the target of its log. */
interface Start {
  command?: readonly [string, ...string[]]
  log?: 'pipe' | number | Writable
}

/** Starts the service and waits until it listens (a worker: until it takes jobs). */
export async function startProcess(
  t: Pick<Teardowns, 'teardown'>,
  settings: Record<string, string>,
  { command: [command, ...args] = startCommand, log = 'pipe' }: Start = {},
): Promise<ServiceProcess> {
  const env = childEnvironment({ PORT: '0', LOG_LEVEL: 'info', ...settings })
  const options = { cwd: root, env, detached: true }
  const child = spawn('env', withoutLoader(command, args), {
    ...options,
    stdio: ['pipe', 'pipe', log],
  })
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const exited = once(child, 'exit')
  t.teardown(() => endGroup(child, exited))
  while (!/\/docs\n|takes background jobs/.test(stdout())) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the service did not start: ${stderr()}`)
    await sleep(10)
  }
  return {
    pid: child.pid as number,
    url: /listens on (\S+)/.exec(stdout())?.[1] ?? '',
    stdout,
    stderr,
    kill: () => endGroup(child, exited),
    exited: exited.then(() => child.exitCode),
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      return child.exitCode
    },
  }
}

/** Runs a file of src to its end. */
export async function runFile(
  file: string,
  args: string[],
  settings: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = childEnvironment(settings)
  const child = spawn('env', withoutLoader(process.execPath, [file, ...args]), { cwd: root, env })
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  await once(child, 'close')
  return { code: child.exitCode, stdout: stdout(), stderr: stderr() }
}

/** The process id of the PostgreSQL of a data directory, if it runs. */
export function postmasterPid(dataDir: string): number | undefined {
  try {
    const [pid] = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
    return isAlive(Number(pid)) ? Number(pid) : undefined
  } catch {
    return undefined
  }
}

/** Whether a process runs; zombies do not. */
export function isAlive(pid: number): boolean {
  try {
    const status = `/proc/${pid}/status`
    if (existsSync(status) && /^State:\s+Z/m.test(readFileSync(status, 'utf8'))) return false
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Waits up to 5 s for a process to end: PostgreSQL removes its lock file a moment earlier. */
export async function ends(pid: number): Promise<boolean> {
  for (let look = 0; look < 250 && isAlive(pid); look++) await sleep(20)
  return !isAlive(pid)
}

/** The e-mail and password that the first start prints. */
export function firstAccount(stdout: string): { email: string; password: string } | undefined {
  const [, email, password] = /e-mail +(\S+)\n +password +(\S+)\n/.exec(stdout) ?? []
  return email && password ? { email, password } : undefined
}

/** Waits for `firstAccount`. */
export async function firstUser({ stdout }: Pick<ServiceProcess, 'stdout'>) {
  for (;;) {
    const user = firstAccount(stdout())
    if (user) return user
    await sleep(10)
  }
}

export type Call = (
  method: string,
  path: string,
  /** JSON; a string is sent as it is. */
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<TestResponse>

/** Sends requests over HTTP with a token. */
export function caller(url: () => string, token?: string): Call {
  return async (method, path, body, given = {}) => {
    const response = await fetch(`${url()}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `jwt ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...given,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: isJson ? JSON.parse(text) : text,
    }
  }
}

/** Waits for the first account, logs in and returns its `Call`. */
export async function logInFirst(
  service: ServiceProcess,
  url: () => string = () => service.url,
): Promise<Call> {
  const { body } = await caller(url)('POST', '/login/', await firstUser(service))
  return caller(url, body.token)
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

async function endGroup(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  process.kill(-(child.pid as number), 'SIGKILL')
  await exited
}
