import pg from 'pg'
import { createAccount } from '../../../src/accounts/create-account.ts'
import type { Service } from '../../../src/service.ts'
import { type Dump, openDump } from '../../helpers/dump.ts'
import { userToken } from '../../helpers/user-token.ts'
import { Client, type Deliver } from './client.ts'
import { drawing } from './draw.ts'
import { emptyModel } from './model.ts'
import { runSession } from './session.ts'
import { Tally } from './tally.ts'
import type { Foreign, World } from './world.ts'

/** A service to fuzz, with its database and the accounts that all sessions share. */
export interface Target {
  deliver: Deliver
  dump: Dump
  foreign: Foreign
  user: World['user']
  /** Connects as the owner of the tables. */
  owner: pg.Pool
  /** Ids of an account that no session uses. */
  foreignToken: string
  newAccount: () => Promise<{ account: number; token: string }>
  close: () => Promise<void>
}

export interface Failure {
  seed: number
  error: Error
  trace: string[]
}

export interface Findings {
  tally: Tally
  sessions: number
  failures: Failure[]
}

export interface FuzzOptions {
  runs: number
  seed: number
  only?: string | undefined
  failuresMax: number
  onProgress?: (findings: Findings) => void
}

/** Concurrent sessions: one waits for Postgres while another generates requests. */
const sideBySide = 3

/** Runs sessions until enough inputs were sent or enough sessions failed. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<Findings> {
  const { runs, seed, only, failuresMax, onProgress } = options
  const findings: Findings = { tally: new Tally(), sessions: 0, failures: [] }
  const lane = async () => {
    while (findings.tally.total < runs && findings.failures.length < failuresMax) {
      const failure = await session(target, findings.tally, seed + findings.sessions++, only)
      if (failure) findings.failures.push(failure)
      onProgress?.(findings)
    }
  }
  await Promise.all(Array.from({ length: sideBySide }, lane))
  return findings
}

/** Runs the session of a seed; returns its failure. */
export async function session(
  target: Target,
  tally: Tally,
  seed: number,
  only?: string,
): Promise<Failure | undefined> {
  const { deliver, dump, foreign, user } = target
  const client = new Client({ deliver, dump, tally, ...(await target.newAccount()) })
  const world: World = {
    draw: drawing(seed),
    model: emptyModel(),
    foreign,
    user,
    send: (call) => client.send(call),
  }
  try {
    await runSession(world, seed, only)
    return undefined
  } catch (error) {
    return { seed, error: error as Error, trace: client.trace }
  }
}

/** Opens what sessions share; `url` connects as the owner of the service's database. */
export async function openTarget(
  { app }: Service,
  url: string,
  secret: Uint8Array,
): Promise<Target> {
  const owner = new pg.Pool({ connectionString: url, max: 2 })
  const dump = await openDump(url)
  let accounts = 0
  const newAccount = async () => {
    const name = `fuzz ${process.pid} ${Date.now()} ${accounts++}`
    const { rows } = await owner.query('insert into accounts (name) values ($1) returning id', [
      name,
    ])
    const account = Number(rows[0].id)
    return { account, token: await userToken(secret, { id: 1, account }) }
  }
  const user = { email: `fuzz@${Date.now()}.example`, password: 'correct horse' }
  await createAccount(url, { account: `users ${Date.now()}`, ...user })
  const { token: foreignToken } = await newAccount()
  const foreign = await populate(app, foreignToken)
  const deliver: Deliver = ({ method, ...request }) =>
    app.inject({ method: method as 'GET', ...request })
  const close = async () => {
    await dump.close()
    await owner.end()
  }
  return { deliver, dump, foreign, foreignToken, user, owner, newAccount, close }
}

/** Creates one of everything in an account that no session uses. */
async function populate(app: Service['app'], token: string): Promise<Foreign> {
  const call = async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const headers = { authorization: `jwt ${token}` }
    return (await app.inject({ method, url, headers, ...(payload && { payload }) })).json()
  }
  const codes = Array.from({ length: 101 }, (_, index) => ({ code: `F${index}` }))
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  await call('POST', '/api/v1/product_catalog/bulk_create_or_update/', codes)
  const [list] = await call('POST', '/api/v1/price_list/bulk_create/', [
    { name: 'of another account', ...year },
  ])
  const job = await call('POST', '/api/v1/prices/bulk_add_products/', {
    name: list.name,
    payload: codes,
  })
  const promotion = { name: 'P', kind: 'amount', value: 1, ...year }
  const promotions = '/api/v1/promotions/bulk_create_or_update/'
  const plan = await call('POST', `${promotions}?plan=true`, [promotion])
  const { created } = await call('POST', promotions, [promotion])
  const agreement = {
    name: 'A',
    client_code: 'C',
    price_list_code: 'L',
    price_line: { a: 1 },
    prices: { a: 1 },
  }
  await call('POST', '/api/v1/agreement/bulk_create_or_update', [agreement])
  const { results } = await call('GET', '/api/v1/agreement/')
  return { list, agreement: results[0].id, promotion: created[0], plan: plan.id, job: job.id }
}
