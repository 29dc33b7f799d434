import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Teardowns } from '../../helpers/leave-nothing.ts'
import { userToken } from '../../helpers/user-token.ts'

/** The service in its own process. */
export interface LoadedService {
  port: number
  /** Token of a new account. */
  newToken(): Promise<string>
  rssBytes(): number
  /** Peak memory of the process since `forgetRssPeak`. */
  rssPeakBytes(): number
  forgetRssPeak(): void
  /** Processor time of the process. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Starts the service on a database, with the settings of our environment. */
export async function startLoadedService(
  command: Pick<Teardowns, 'teardown'>,
  databaseUrl: string,
): Promise<LoadedService> {
  const secret = randomBytes(32).toString('hex')
  const own = { DATABASE_URL: databaseUrl, JWT_SECRET: secret, PORT: '0', LOG_LEVEL: 'error' }
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../../src/server.ts')], {
    env: { ...process.env, ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  command.teardown(() => child.kill('SIGKILL') && exited)
  const port = await readPort(child)
  return {
    port,
    newToken: () => newToken(databaseUrl, new TextEncoder().encode(secret)),
    rssBytes: () => bytesOf('VmRSS', child.pid ?? 0),
    rssPeakBytes: () => bytesOf('VmHWM', child.pid ?? 0),
    forgetRssPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    cpuMs: () => cpuMs(child.pid ?? 0),
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function readPort(child: ChildProcess): Promise<number> {
  let output = ''
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += chunk
    const [, port] = /listens on http:\S+:(\d+)/.exec(output) ?? []
    if (port) return Number(port)
  }
  throw new Error(`the service did not start: ${output}`)
}

async function newToken(databaseUrl: string, secret: Uint8Array): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const name = randomBytes(8).toString('hex')
  const { rows } = await client.query('insert into accounts (name) values ($1) returning id', [
    name,
  ])
  await client.end()
  return userToken(secret, { id: 1, account: Number(rows[0].id) })
}

function bytesOf(field: 'VmRSS' | 'VmHWM', pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
}

function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  const ticksPerSecond = 100
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}
