import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { readConfig } from '../src/config.ts'
import { removeDataDir } from '../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../src/database/embedded/postgres.ts'
import { type Service, startService } from '../src/service.ts'
import { startFault } from '../src/startup-errors.ts'
import { loginOf } from './helpers/database.ts'
import { caller, runFile, startProcess } from './helpers/process.ts'
import { select } from './helpers/sql.ts'
import { aUser } from './helpers/user.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-owner-'))
const postgres = await startEmbeddedPostgres(dataDir)
t.teardown(async () => {
  await postgres.stop()
  removeDataDir(dataDir)
})
const login = loginOf(postgres.url)
await run(postgres.url, `create role shop ${login} createrole`, 'create database shop owner shop')

const settings = { DATABASE_URL: as('shop', 'shop'), JWT_SECRET: 'x'.repeat(32) }

t.test('a user who owns the database and is no superuser runs the service', async (t) => {
  const service = await startProcess(t, settings)
  const args = ['account', 'create', '--json', '--account', 'Shop', '--email', 'a@example.com']
  const created = await runFile('src/cli/main.ts', args, settings)
  t.equal(created.code, 0, created.stderr)
  const call = caller(() => service.url)
  const { email, password } = JSON.parse(created.stdout)
  const { body } = await call('POST', '/login/', { email, password })
  const shop = caller(() => service.url, body.token)
  const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
  t.equal((await shop('POST', '/api/v1/price_list/bulk_create/', [list])).status, 201)
  const products = Array.from({ length: 101 }, (_, index) => ({ code: `P${index}` }))
  t.equal((await shop('POST', '/api/v1/product_catalog/schema/create_schema/', {})).status, 201)
  const loaded = await shop('POST', '/api/v1/product_catalog/bulk_create_or_update/', products)
  t.equal(loaded.status, 200)
  const add = { name: 'L', payload: products }
  const job = (await shop('POST', '/api/v1/prices/bulk_add_products/', add)).body
  let end = job
  while (end.status === 'progress') end = (await shop('GET', `/api/v1/jobs/${job.id}/`)).body
  t.equal(end.status, 'done')
  t.notMatch(service.stdout(), /password/, 'no account is made where the database is not ours')
  t.equal(await service.stop(), 0)
})

t.test('a table that the planner knows is not analyzed at each load', async (t) => {
  const url = as('shop', 'shop')
  const { app, close } = await start(url)
  const { email, password } = await aUser({ url })
  const login = await app.inject({ method: 'POST', url: '/login/', body: { email, password } })
  const load = async (path: string, body: object) => {
    const headers = { authorization: `jwt ${login.json().token}` }
    const base = '/api/v1/product_catalog'
    const { statusCode } = await app.inject({ method: 'POST', url: base + path, headers, body })
    t.ok(statusCode < 300)
    const count = `select analyze_count from pg_stat_user_tables where relname = 'products'`
    return Number((await select(url, count))[0]?.analyze_count)
  }
  await load('/schema/create_schema/', {})
  const products = Array.from({ length: 5000 }, (_, index) => ({ code: `Q${index}` }))
  const first = await load('/bulk_create_or_update/', products)
  t.ok(first > 0)
  t.equal(await load('/bulk_create_or_update/', products.slice(2500)), first)
  await close()
})

t.test('it starts again, and a second database of the same server serves too', async (t) => {
  await run(postgres.url, 'create database shop2 owner shop')
  for (const database of ['shop', 'shop2']) {
    await serves(t, as('shop', database))
  }
})

t.test('a user who may not act as the application role is told what to do', async (t) => {
  await run(
    postgres.url,
    `create role other ${login} createrole`,
    'create database other owner other',
  )
  const url = as('other', 'other')
  t.match(await refusal(url), /grant pricewell_app to other/)
  await run(postgres.url, 'grant pricewell_app to other')
  await serves(t, url)
})

t.test('rows are staged where the public has no rights on the database', async (t) => {
  await run(postgres.url, 'create database closed owner shop')
  await run(postgres.url, 'revoke all on database closed from public')
  const service = await start(as('shop', 'closed'))
  const privilege = `has_database_privilege('pricewell_app', current_database(), 'temporary')`
  const [granted] = await select(as('shop', 'closed'), `select ${privilege} as granted`)
  t.strictSame(granted, { granted: true })
  await service.close()
})

t.test('who may not grant that is told who may', async (t) => {
  const create = [`create role tables ${login} createrole`, 'create database managed']
  await run(postgres.url, ...create, 'revoke temporary on database managed from public')
  await run(
    postgres.url,
    'grant pricewell_app to tables',
    'grant create on database managed to tables',
  )
  const managed = new URL(postgres.url)
  managed.pathname = '/managed'
  await run(managed.href, 'grant create on schema public to tables')
  const url = as('tables', 'managed')
  t.match(await refusal(url), /grant temporary on database managed to pricewell_app/)
  await run(postgres.url, 'grant temporary on database managed to pricewell_app')
  await serves(t, url)
})

t.test('the role of requests is not taken for the owner of the tables', async (t) => {
  await run(postgres.url, `alter role pricewell_app ${login}`)
  const told = await refusal(as('pricewell_app', 'shop'))
  await run(postgres.url, 'alter role pricewell_app nologin')
  t.match(told, /let DATABASE_URL name another user, who owns the tables/)
})

function start(url: string): Promise<Service> {
  return startService(readConfig({ ...settings, DATABASE_URL: url, LOG_LEVEL: 'fatal' }))
}

async function serves(t: Test, url: string): Promise<void> {
  const { app, close } = await start(url)
  t.equal((await app.inject('/health/ready')).statusCode, 200, url)
  await close()
}

/** What a start that is refused says. */
async function refusal(url: string): Promise<string> {
  return start(url)
    .then(({ close }) => close(), startFault)
    .then(String)
}

/** The server as another user, in another database. */
function as(user: string, database: string): string {
  const url = new URL(postgres.url)
  url.pathname = `/${database}`
  url.searchParams.set('user', user)
  return url.toString()
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

t.test(
  'a user who may not create roles is told what to do, and starts once it is done',
  async (t) => {
    const create = [`create role plain ${login}`, 'create database plain owner plain']
    await run(postgres.url, ...create, 'alter role pricewell_app rename to put_away')
    t.teardown(() => run(postgres.url, 'drop database plain', 'drop role pricewell_app'))
    const url = as('plain', 'plain')
    const told = await refusal(url)
    const todo = 'create role pricewell_app nologin; grant pricewell_app to plain'
    t.ok(told.startsWith('Cannot start:\n- '), told)
    t.ok(told.includes(todo), 'says what to do')
    t.notMatch(told, /\n {4}at /)
    await run(postgres.url, ...todo.split('; '))
    await serves(t, url)
  },
)

t.test('a database that cannot be reached ends the start plainly', async (t) => {
  const faults: [string, RegExp][] = [
    ['postgres://shop@127.0.0.1:1/shop', /ECONNREFUSED .*correct DATABASE_URL/],
    [as('shop', 'nowhere'), /"nowhere" does not exist: create the database/],
  ]
  for (const [url, expected] of faults) {
    const create = ['account', 'create', '--account', 'A', '--email', 'z@example.com']
    const database = { DATABASE_URL: url, DATABASE_WAIT_SECONDS: '0' }
    for (const [file, args] of [
      ['src/server.ts', []],
      ['src/cli/main.ts', create],
    ] as const) {
      const { code, stderr } = await runFile(file, [...args], { ...settings, ...database })
      t.equal(code, 1)
      t.match(stderr, expected)
      t.notMatch(stderr, /\n {4}at /)
    }
  }
})
