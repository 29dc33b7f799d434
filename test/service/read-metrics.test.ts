import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectionsOf } from '../helpers/connections-of.ts'
import { holdableWrites } from '../helpers/held-writes.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { caller, startProcess } from '../helpers/process.ts'
import { aSale } from '../helpers/sales.ts'
import { jwtSecret, metricsToken, startTestService, type TestService } from '../helpers/service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { aToken } from '../helpers/tokens.ts'

const path = '/metrics'
/** Of tests that count, each counts what no other of them does. */
const service = await startTestService(t)

async function read(t: Test, service: TestService): Promise<string> {
  const headers = { authorization: `Bearer ${metricsToken}` }
  const { status, body } = await send(t, service, { method: 'GET', path, headers })
  t.equal(status, 200)
  return body
}

/** The value of one time series, as in `up{job="a"}`. */
function seriesOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

t.test('where no token is set the path answers like one that does not exist', async (t) => {
  const service = await startTestService(t, { METRICS_TOKEN: '' })
  for (const method of ['GET', 'POST', 'HEAD']) {
    for (const authorization of [undefined, `jwt ${await aToken()}`, `Bearer ${metricsToken}`]) {
      const headers = authorization === undefined ? {} : { authorization }
      const answers = []
      for (const absent of [path, '/absent']) {
        const { status, body } = await send(t, service, { method, path: absent, headers })
        answers.push({ status, body: { ...body, instance: '' } })
      }
      t.strictSame(answers[0], answers[1], `${method} ${authorization?.slice(0, 6)}`)
    }
  }
})

t.test('only the token of the operator opens it', async (t) => {
  const account = await service.newAccount(t)
  const refused = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${metricsToken.slice(1)}`,
    `Bearer ${metricsToken}x`,
    `Bearer ${metricsToken} x`,
    `Bearer ${account.token}`,
    `jwt ${account.token}`,
    `jwt ${metricsToken}`,
    metricsToken,
  ]
  for (const authorization of refused) {
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await send(t, service, { method: 'GET', path, headers })
    expectProblem(t, answer, 401, 'unauthorized', String(authorization))
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    t.notMatch(JSON.stringify(answer.body), /pricewell_/)
  }
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const headers = { authorization: `${scheme} ${metricsToken}` }
    const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3'
    const request = { method: 'GET', path, headers: { ...headers, accept } }
    const { status, headers: answered } = await send(t, service, request)
    t.equal(status, 200, scheme)
    t.equal(answered['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  }
})

t.test('requests are counted by operation and status, with their time and rows', async (t) => {
  const countries = ['UK', 'FR']
  const rows = ['A', 'B'].map((code) => ({ code, country: 'UK' }))
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'], countries, rows })
  await shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [{}] })
  await shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [{ x: 1 }] })
  await shop.get('/api/v1/product_catalog/?limit=3')
  await shop.get('/nowhere')
  const text = await read(t, service)
  const expected: Record<string, number | undefined> = {
    'pricewell_http_requests_total{operation="getPrices",status="201"}': 1,
    'pricewell_http_requests_total{operation="getPrices",status="400"}': 1,
    'pricewell_http_requests_total{operation="none",status="404"}': 1,
    'pricewell_http_request_duration_seconds_count{operation="getPrices"}': 2,
    'pricewell_rows_written_total{operation="upsertProducts"}': 4,
    'pricewell_rows_written_total{operation="addProducts"}': 2,
    'pricewell_rows_written_total{operation="getPrices"}': undefined,
    'pricewell_rows_read_total{operation="getPrices"}': 2,
    'pricewell_rows_read_total{operation="listProducts"}': 3,
  }
  for (const [series, value] of Object.entries(expected))
    t.equal(seriesOf(text, series), value, series)
  for (const name of ['nodejs_eventloop_lag_seconds', 'process_resident_memory_bytes'])
    t.ok(Number(seriesOf(text, name)) >= 0, name)
})

t.test(
  'rows of files are counted like those of JSON, those of a job when it is done',
  async (t) => {
    const account = await service.newAccount(t)
    const header = 'transaction_id,code,extension,quantity,revenue\n'
    const good = `${header}A,C,,1,1\nB,C,,1,1\n`
    const load = (file: string, headers = {}) => {
      const types = { 'content-type': 'text/csv', ...headers }
      return account.send('POST', '/api/v1/sales_history/bulk_create_or_update/', file, types)
    }
    const written = 'pricewell_rows_written_total{operation="upsertSales"}'
    const keyed = { 'idempotency-key': 'k' }
    t.equal((await load(good, keyed)).status, 201)
    t.equal((await load(good, keyed)).headers['idempotent-replayed'], 'true')
    for (const accept of ['*/*', 'text/csv'])
      t.equal((await load(`${good}C,C,,x,1\n`, { accept })).status, 400)
    t.equal(seriesOf(await read(t, service), written), 2, 'refused and replayed ones wrote nothing')
    const { body: job } = await load(good.replace('A,', 'D,'), { prefer: 'respond-async' })
    t.match(await account.finished(job), { status: 'done' })
    while (seriesOf(await read(t, service), written) === 2);
    t.equal(seriesOf(await read(t, service), written), 4)
    const accept = { accept: 'application/x-ndjson' }
    const { body } = await account.send('GET', '/api/v1/sales_history/', undefined, accept)
    t.equal(body.split('\n').length, 4)
    const series = 'pricewell_rows_read_total{operation="listSales"}'
    t.equal(seriesOf(await read(t, service), series), 3)
  },
)

t.test('an answer that is replayed counts no rows as written', async (t) => {
  const service = await startTestService(t)
  const shop = await service.newAccount(t)
  const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
  for (const replayed of [undefined, 'true']) {
    const headers = { 'idempotency-key': 'k' }
    const answer = await shop.send('POST', '/api/v1/price_list/bulk_create/', [list], headers)
    t.strictSame([answer.status, answer.headers['idempotent-replayed']], [201, replayed])
  }
  const text = await read(t, service)
  t.equal(seriesOf(text, 'pricewell_rows_written_total{operation="createPriceLists"}'), 1)
})

t.test('pools and jobs show what waits', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  await aBigJob(t, service)
  const text = await read(t, service)
  for (const pool of ['reads', 'writes', 'jobs', 'health']) {
    t.ok(Number(seriesOf(text, `pricewell_database_connections_max{pool="${pool}"}`)) > 0, pool)
    t.equal(seriesOf(text, `pricewell_database_connections_waiting{pool="${pool}"}`), 0, pool)
  }
  t.equal(seriesOf(text, 'pricewell_jobs{state="waiting"}'), 1)
  t.equal(seriesOf(text, 'pricewell_jobs{state="running"}'), 0)
  t.ok(Number(seriesOf(text, 'pricewell_jobs_oldest_seconds{state="waiting"}')) > 0)
})

t.test('requests that wait for their turn at the database are shown as waiting', async (t) => {
  const service = await startTestService(t, { ROLE: 'api', DATABASE_CONNECTIONS: '1' })
  const account = await service.newAccount(t)
  const held = await holdableWrites(t, service.url, 'sales')
  await held.hold()
  const write = (id: string) =>
    account.post('/api/v1/sales_history/bulk_create_or_update/', [aSale({ transaction_id: id })])
  const writes = [write('A'), write('B'), write('C')]
  await held.untilHeld()
  const text = await read(t, service)
  await held.release()
  await Promise.all(writes)
  t.equal(seriesOf(text, 'pricewell_database_connections_waiting{pool="writes"}'), 2)
})

t.test('while the database is away the rest is shown, and no count of jobs', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  await aBigJob(t, service)
  const { allow, end } = connectionsOf(t, service)
  await allow(false)
  await end()
  await service.app.inject({ method: 'GET', url: '/health/ready' })
  const text = await read(t, service)
  const unready = 'pricewell_http_requests_total{operation="readReadiness",status="503"}'
  t.equal(seriesOf(text, unready), 1)
  t.equal(seriesOf(text, 'pricewell_jobs{state="waiting"}'), undefined)
  await allow(true)
  t.equal(seriesOf(await read(t, service), 'pricewell_jobs{state="waiting"}'), 1)
})

t.test('failures of each kind of job count from 0', async (t) => {
  const text = await read(t, service)
  const { body } = await send(t, service, { method: 'GET', path: '/openapi.json' })
  for (const kind of body.components.schemas.JobKind.enum) {
    const series = `pricewell_job_attempts_total{kind="${kind}",outcome="failed"}`
    t.equal(seriesOf(text, series), 0, kind)
  }
})

t.test('tries at jobs are counted by how they end', async (t) => {
  const series = 'pricewell_job_attempts_total{kind="add-products",outcome="done"}'
  t.equal(seriesOf(await read(t, service), series), 0, 'the first is seen as growth')
  const { shop, job } = await aBigJob(t, service)
  await shop.finished(job)
  while (seriesOf(await read(t, service), series) === 0);
  const text = await read(t, service)
  t.equal(seriesOf(text, series), 1)
  t.equal(seriesOf(text, 'pricewell_jobs{state="waiting"}'), 0)
  t.equal(seriesOf(text, 'pricewell_jobs_oldest_seconds{state="waiting"}'), 0)
})

t.test('the metrics that the operations page names are there', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.finished(job)
  const page = readFileSync(join(import.meta.dirname, '../../OPERATIONS.md'), 'utf8')
  const [, alerts = ''] = page.split('Worth an alert')
  const names = new Set(alerts.match(/\b(pricewell|nodejs|process)_\w+/g))
  t.ok(names.size > 5)
  const text = await read(t, service)
  for (const name of names) t.ok(text.includes(`# TYPE ${name.replace(/_bucket$/, '')} `), name)
})

t.test('what a client chooses makes no time series', async (t) => {
  const shop = await service.newAccount(t)
  const ask = async (index: number) => {
    await shop.get(`/api/v1/agreement/${index + 1}`)
    await shop.get(`/path-${index}`)
    await shop.get(`/api/v1/sales_history/?code=canary${index}`)
  }
  await ask(0)
  await read(t, service)
  const before = (await read(t, service)).split('\n').length
  for (let index = 1; index < 50; index++) await ask(index)
  const after = (await read(t, service)).split('\n')
  // Kinds of garbage collection come as they happen.
  t.ok(after.length < before + 45, `${before} lines, then ${after.length}`)
  t.notMatch(after.join('\n'), /canary|path-/)
})

t.test('a worker answers metrics and health, and nothing of an account', async (t) => {
  const service = await startTestService(t)
  const { token } = await service.newAccount(t)
  const worker = await startProcess(t, {
    DATABASE_URL: service.url,
    JWT_SECRET: jwtSecret,
    ROLE: 'worker',
    METRICS_TOKEN: metricsToken,
  })
  const [, url = ''] = /Metrics and health: (\S+)/.exec(worker.stdout()) ?? []
  const call = caller(() => url, token)
  t.equal((await call('GET', '/health/ready')).status, 200)
  t.equal((await call('GET', '/api/v1/price_list/')).status, 404)
  t.equal((await call('GET', '/docs')).status, 404)
  const headers = { authorization: `Bearer ${metricsToken}` }
  t.match(await (await fetch(`${url}${path}`, { headers })).text(), /pricewell_jobs\{/)
  t.equal(await worker.stop(), 0)
})
