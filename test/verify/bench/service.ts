import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type pg from 'pg'
import { createAccount } from '../../../src/accounts/create-account.ts'
import { CopyingClient } from '../../../src/database/copy.ts'
import { databaseUrl as urlOf } from '../../../src/database/server.ts'
import { type Client, openClient } from './client.ts'

/** The service in its own process, and a connection to its database. */
export interface BenchService {
  databaseUrl: string
  /** Runs bare SQL as the owner, on one connection. */
  sql: pg.Client
  account: number
  /** Calls the service; throws unless the answer is 2xx. `body` may be prepared JSON text. */
  // biome-ignore lint/suspicious/noExplicitAny: each measure knows what it asked for.
  call(method: string, path: string, body?: unknown): Promise<any>
  /** Posts JSON text and waits for the last byte; the answer is not parsed. */
  post(path: string, body: string): Promise<void>
  /** Another connection to the service. */
  connect(): Client
  /** Waits until a job has ended. */
  finished(job: { id: number }): Promise<void>
  /** Process id of the service. */
  pid(): number
  /** Another service on an empty database of the same Postgres; stops with this one. */
  openBeside(): Promise<BenchService>
  /** A new process. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts the service on a database and logs in to a new account. */
export async function startBenchService(databaseUrl: string): Promise<BenchService> {
  const secret = randomBytes(32).toString('hex')
  let server = await startServer(databaseUrl, secret)
  let token = ''
  const connect = () => openClient(server.url, () => token)
  let client = connect()
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `jwt ${token}`, 'content-type': 'application/json' }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(server.url + path, { method, headers, body: text ?? null })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`)
    return answer === '' ? undefined : JSON.parse(answer)
  }
  const user = await createAccount(databaseUrl, { account: 'bench', email: 'bench@example.com' })
  token = (await call('POST', '/login/', { email: user.email, password: user.password })).token
  const sql = new CopyingClient({ connectionString: databaseUrl })
  await sql.connect()
  const { rows } = await sql.query('select id from accounts')
  const finished = async ({ id }: { id: number }) => {
    for (;;) {
      const { status } = await call('GET', `/api/v1/jobs/${id}/`)
      if (status === 'done') return
      if (status !== 'progress') throw new Error(`job ${id} is ${status}`)
      // Each poll takes a millisecond from the measured work.
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
  const stopServer = async () => {
    client.close()
    // Ctrl-C may have ended the server already.
    if (server.child.exitCode !== null || server.child.signalCode !== null) return
    server.child.kill('SIGTERM')
    await once(server.child, 'exit')
  }
  const others: BenchService[] = []
  const openBeside = async () => {
    await sql.query('create database beside')
    const other = await startBenchService(urlOf(databaseUrl, 'beside'))
    others.push(other)
    return other
  }
  return {
    openBeside,
    databaseUrl,
    sql,
    call,
    connect,
    finished,
    account: Number(rows[0].id),
    post: (path, body) => client.send('POST', path, body),
    pid: () => server.child.pid ?? 0,
    restart: async () => {
      await stopServer()
      server = await startServer(databaseUrl, secret)
      client = connect()
    },
    stop: async () => {
      await Promise.all(others.map(({ stop }) => stop()))
      await sql.end()
      await stopServer()
    },
  }
}

async function startServer(
  databaseUrl: string,
  secret: string,
): Promise<{ child: ChildProcess; url: string }> {
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    JWT_SECRET: secret,
    PORT: '0',
    LOG_LEVEL: 'error',
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../../src/server.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, url: await readUrl(child) }
}

async function readUrl(child: ChildProcess): Promise<string> {
  let output = ''
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += chunk
    const [, url] = /listens on (http\S+)/.exec(output) ?? []
    if (url) return url
  }
  throw new Error(`the service did not start: ${output}`)
}
