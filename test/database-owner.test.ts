import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { removeDataDir } from '../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../src/database/embedded/postgres.ts'
import { loginOf } from './helpers/database.ts'
import { caller, runFile, startProcess } from './helpers/process.ts'

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

t.test('it starts again, and a second database of the same server serves too', async (t) => {
  await run(postgres.url, 'create database shop2 owner shop')
  for (const database of ['shop', 'shop2']) {
    const service = await startProcess(t, { ...settings, DATABASE_URL: as('shop', database) })
    t.equal((await caller(() => service.url)('GET', '/health/ready')).status, 200, database)
    t.equal(await service.stop(), 0)
  }
})

t.test('a user who may not act as the application role is told what to do', async (t) => {
  await run(
    postgres.url,
    `create role other ${login} createrole`,
    'create database other owner other',
  )
  const url = as('other', 'other')
  const refused = await runFile('src/server.ts', [], { ...settings, DATABASE_URL: url })
  t.equal(refused.code, 1)
  t.match(refused.stderr, /grant pricewell_app to other/)
  await run(postgres.url, 'grant pricewell_app to other')
  const service = await startProcess(t, { ...settings, DATABASE_URL: url })
  t.equal((await caller(() => service.url)('GET', '/health/ready')).status, 200)
  t.equal(await service.stop(), 0)
})

t.test('rows are staged where the public has no rights on the database', async (t) => {
  await run(postgres.url, 'create database closed owner shop')
  await run(postgres.url, 'revoke all on database closed from public')
  const service = await startProcess(t, { ...settings, DATABASE_URL: as('shop', 'closed') })
  const privilege = `has_database_privilege('pricewell_app', current_database(), 'temporary')`
  await run(as('shop', 'closed'), `do $$ begin assert ${privilege}; end $$`)
  t.equal(await service.stop(), 0)
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
  const refused = await runFile('src/server.ts', [], {
    ...settings,
    DATABASE_URL: as('tables', 'managed'),
  })
  t.equal(refused.code, 1)
  t.match(refused.stderr, /grant temporary on database managed to pricewell_app/)
  await run(postgres.url, 'grant temporary on database managed to pricewell_app')
  const service = await startProcess(t, { ...settings, DATABASE_URL: as('tables', 'managed') })
  t.equal(await service.stop(), 0)
})

t.test('the role of requests is not taken for the owner of the tables', async (t) => {
  await run(postgres.url, `alter role pricewell_app ${login}`)
  const url = as('pricewell_app', 'shop')
  const refused = await runFile('src/server.ts', [], { ...settings, DATABASE_URL: url })
  await run(postgres.url, 'alter role pricewell_app nologin')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /let DATABASE_URL name another user, who owns the tables/)
})

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
    const mine = { ...settings, DATABASE_URL: as('plain', 'plain') }
    const refused = await runFile('src/server.ts', [], mine)
    t.equal(refused.code, 1)
    const todo = 'create role pricewell_app nologin; grant pricewell_app to plain'
    t.ok(refused.stderr.startsWith('Cannot start:\n- '), refused.stderr)
    t.ok(refused.stderr.includes(todo), 'says what to do')
    t.notMatch(refused.stderr, /\n {4}at /)
    await run(postgres.url, ...todo.split('; '))
    const service = await startProcess(t, mine)
    t.equal(await service.stop(), 0)
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
