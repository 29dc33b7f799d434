import './password-cost.ts'
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'
import { type Config, readConfig } from '../../src/config.ts'
import { type Service, startService } from '../../src/service.ts'
import type { TestResponse } from './conformant.ts'
import { cloneDatabase, type TestDatabase } from './database.ts'
import { send as sendRequest } from './operations.ts'
import { noteStatements } from './routable.ts'
import { userToken } from './user-token.ts'

noteStatements()

export const jwtSecret = randomBytes(32).toString('base64')
const secretBytes = new TextEncoder().encode(jwtSecret)

export const metricsToken = randomBytes(16).toString('hex')

export interface TestService extends Service {
  /** Connects as the owner of the tables. */
  url: string
  jwtSecret: Uint8Array
  /** Number of files that are being copied into the database. */
  feedsUnderWay(): Promise<number>
  /** A new, empty account. */
  newAccount(t: Test): Promise<TestAccount>
}

/** An account; each response to it is checked against the contract. */
export interface TestAccount {
  id: number
  token: string
  get(path: string): Promise<TestResponse>
  post(path: string, body: unknown): Promise<TestResponse>
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestResponse>
  /** Waits until a job has ended and returns it. */
  finished(job: { id: number }): Promise<TestResponse['body']>
}

/** Starts the service on a new database; stopped and dropped when the test file ends. */
export async function startTestService(
  t: Test,
  settings: Record<string, string> = {},
): Promise<TestService> {
  return startServiceOn(t, await cloneDatabase(), settings)
}

/** Starts the service on this database; stopped and dropped when the test file ends. */
export async function startServiceOn(
  t: Test,
  database: TestDatabase,
  settings: Record<string, string> = {},
): Promise<TestService> {
  const environment = {
    DATABASE_URL: database.url,
    JWT_SECRET: jwtSecret,
    // Nothing reads the log: after some 200 KB the pipe would block.
    LOG_LEVEL: 'fatal',
    // Other tests delay the event loop.
    EVENT_LOOP_DELAY_MS: '0',
    METRICS_TOKEN: metricsToken,
    ...settings,
  }
  const config: Config = readConfig(environment)
  const service = await startService(config)
  const owner = new pg.Pool({ connectionString: service.server.url, max: 1 })
  // Some tests end all connections.
  owner.on('error', () => undefined)
  let closed: Promise<void> | undefined
  const close = () => (closed ??= service.close())
  t.teardown(async () => {
    await close()
    await owner.end()
    await database.drop()
  })
  return {
    ...service,
    close,
    url: database.url,
    jwtSecret: secretBytes,
    feedsUnderWay: () => feedsUnderWay(owner),
    newAccount: (test) => newAccount(test, service, owner),
  }
}

async function newAccount(t: Test, { app }: Service, owner: pg.Pool): Promise<TestAccount> {
  const id = await insertAccount(owner)
  const token = await userToken(secretBytes, { id: 1, account: id })
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const payload =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
        ? body
        : JSON.stringify(body)
    const type = payload === undefined ? {} : { 'content-type': 'application/json' }
    const request = { method, path, ...(payload !== undefined && { payload }) }
    const named = { authorization: `jwt ${token}`, ...type, ...headers }
    return sendRequest(t, { app }, { ...request, headers: named })
  }
  const get = (path: string) => send('GET', path)
  const finished = async ({ id: job }: { id: number }) => {
    for (;;) {
      const { body } = await get(`/api/v1/jobs/${job}/`)
      if (body.status !== 'progress') return body
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return { id, token, get, send, post: (path, body) => send('POST', path, body), finished }
}

async function insertAccount(owner: pg.Pool): Promise<number> {
  const name = randomBytes(8).toString('hex')
  const insert = `with account as (insert into accounts (name) values ($1) returning id, name)
    insert into account_names select id, name from account returning id`
  const { rows } = await owner.query(insert, [name])
  return Number(rows[0].id)
}

async function feedsUnderWay(owner: pg.Pool): Promise<number> {
  const { rows } = await owner.query(
    'select count(*)::integer as count from pg_stat_progress_copy where datname = current_database()',
  )
  return rows[0].count
}
