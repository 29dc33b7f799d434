import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createAccount } from '../src/accounts/create-account.ts'
import { cloneDatabase } from './helpers/database.ts'
import { caller, startProcess } from './helpers/process.ts'
import { jwtSecret } from './helpers/service.ts'
import { select } from './helpers/sql.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const file = 'transaction_id,code,extension,quantity,revenue\nT,A,,7,1\n'
const sale = { transaction_id: 'T', code: 'A', extension: '', quantity: '1', revenue: '1' }

// Each waits for as long as a process waits for what is under way.
t.jobs = 3
const atOnce = { buffered: true }

/** A process on a database of its own, an account, and a session of somebody else. */
async function aService(t: Test) {
  const database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url, JWT_SECRET: jwtSecret }
  const { password } = await createAccount(database.url, { account: 'A', email: 'a@example.com' })
  const service = await startProcess(t, settings)
  const login = { email: 'a@example.com', password }
  const { body } = await caller(() => service.url)('POST', '/login/', login)
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  t.teardown(async () => {
    await other.end()
    await database.drop()
  })
  const call = caller(() => service.url, body.token)
  return { ...service, databaseUrl: database.url, token: body.token, call, other }
}

type Running = Awaited<ReturnType<typeof aService>>

/** The sales that were there before are all that is there, and nobody is connected. */
async function expectLeft(t: Test, { databaseUrl, other }: Running, quantities: number[]) {
  await other.query('rollback')
  const sales = await select(databaseUrl, 'select quantity::integer from sales')
  t.strictSame(
    sales.map(({ quantity }) => quantity),
    quantities,
    'nothing is half-written',
  )
  const connected = `select from pg_stat_activity where datname = current_database()
    and application_name like 'pricewell%'`
  while ((await select(databaseUrl, connected)).length > 0) await sleep(20)
}

t.test('a job that waits for the lock of another session is handed back', atOnce, async (t) => {
  const running = await aService(t)
  const { databaseUrl, call, other, stop } = running
  await call('POST', path, [sale])
  await other.query('begin')
  await other.query('lock table sales in share mode')
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async' }
  t.equal((await call('POST', path, file, headers)).status, 202)
  const waiting = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell jobs' and wait_event_type = 'Lock'`
  while ((await select(databaseUrl, waiting)).length === 0) await sleep(20)
  t.equal(await stop(), 0)
  t.strictSame(
    await select(databaseUrl, `select state::text from pgboss.job where name = 'file'`),
    [{ state: 'retry' }],
  )
  await expectLeft(t, running, [1])
})

t.test('tables of the queue that another session holds keep no process', atOnce, async (t) => {
  const running = await aService(t)
  await running.other.query('begin')
  await running.other.query('lock table pgboss.job in access exclusive mode')
  t.equal(await running.stop(), 0)
  await expectLeft(t, running, [])
})

t.test('a connection on which the queue listens to nobody keeps no process', atOnce, async (t) => {
  const running = await aService(t)
  const listening = `select pid from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell queue' and query ilike 'listen %'`
  const pids = (await select(running.databaseUrl, listening)).map(({ pid }) => pid)
  t.equal(pids.length, 1)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  t.equal(await running.stop(), 0)
  for (const pid of pids) process.kill(pid, 'SIGCONT')
  await expectLeft(t, running, [])
})

t.test('a file that is still arriving is answered with 503', atOnce, async (t) => {
  const running = await aService(t)
  const { url, token, databaseUrl, stop } = running
  const headers = { authorization: `jwt ${token}`, 'content-type': 'text/csv' }
  const upload = request(url + path, { method: 'POST', headers })
  const answered = once(upload, 'response')
  // What is sent after the answer breaks off.
  upload.on('error', () => undefined)
  upload.write(file)
  const copying = 'select from pg_stat_progress_copy where datname = current_database()'
  while ((await select(databaseUrl, copying)).length === 0) await sleep(20)
  const trickle = setInterval(() => upload.write('T,A,,8,1\n'), 500)
  const [code, [answer]] = await Promise.all([stop(), answered])
  clearInterval(trickle)
  const body = await answer.toArray()
  t.strictSame([code, answer.statusCode, answer.headers['retry-after']], [0, 503, '1'])
  t.match(String(body), /"type":"unavailable"/)
  await expectLeft(t, running, [])
})

t.test('after it a balancer is told, and who comes meanwhile is answered', atOnce, async (t) => {
  const service = await aService(t)
  // On a connection of its own, as those of a balancer may be.
  const ready = () =>
    fetch(`${service.url}/health/ready`, { headers: { connection: 'close' } }).then(
      ({ status }) => status,
      () => 0,
    )
  const ended = service.stop()
  let status = await ready()
  while (status === 200) status = await ready()
  t.equal(status, 503)
  t.equal(await ended, 0)
})
