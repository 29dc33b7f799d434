import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type pg from 'pg'
import { createAccount } from '../../src/accounts/create-account.ts'
import { CopyingClient } from '../../src/database/copy.ts'

/** The service under measurement, in a process of its own, and its database reached beside it. */
export interface BenchService {
  pid: number
  /** Bare SQL on one connection, as the owner. */
  sql: pg.Client
  account: number
  /** Calls the service; throws unless it answers 2xx. `body` may be JSON text made beforehand. */
  // biome-ignore lint/suspicious/noExplicitAny: each measure knows what it asked for.
  call(method: string, path: string, body?: unknown): Promise<any>
  /** Waits for a job. */
  finished(job: { id: number }): Promise<void>
  stop(): Promise<void>
}

/** Starts `src/server.ts` on a database and logs in as a new account. */
export async function startBenchService(databaseUrl: string): Promise<BenchService> {
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    JWT_SECRET: randomBytes(32).toString('hex'),
    PORT: '0',
    LOG_LEVEL: 'error',
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../src/server.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await readUrl(child)
  const user = await createAccount(databaseUrl, { account: 'bench', email: 'bench@example.com' })
  const sql = new CopyingClient({ connectionString: databaseUrl })
  await sql.connect()
  const { rows } = await sql.query('select id from accounts')
  const account = Number(rows[0].id)
  let token = ''
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `jwt ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  token = (await call('POST', '/login/', { email: user.email, password: user.password })).token
  const finished = async ({ id }: { id: number }) => {
    while ((await call('GET', `/api/v1/jobs/${id}/`)).status === 'progress')
      await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const stop = async () => {
    await sql.end()
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  return { pid: child.pid ?? 0, sql, account, call, finished, stop }
}

async function readUrl(child: ChildProcess): Promise<string> {
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const [, url] = /listens on (http\S+)/.exec(output) ?? []
    if (url) return url
  }
  throw new Error(`the service did not start: ${output}`)
}
