import t from 'tap'
import { createAccount } from '../src/accounts/create-account.ts'
import { startCollector } from './helpers/collector.ts'
import { captureLog } from './helpers/log.ts'
import { send } from './helpers/operations.ts'
import { metricsToken, startTestService, type TestAccount } from './helpers/service.ts'
import { aList, aShop } from './helpers/shop.ts'
import { select } from './helpers/sql.ts'

/** What must stand nowhere but in the account's own data and answers. */
const canary = 'CANARY-5f1d'
const price = 48151.623421
const secrets = [canary, String(price)]

const log = captureLog(t)
const collector = await startCollector(t)
const service = await startTestService(t, {
  LOG_LEVEL: 'trace',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
})
const salesPath = '/api/v1/sales_history/bulk_create_or_update'
const codes = [canary, ...Array.from({ length: 100 }, (_, index) => `P${index}`)]
const shop = await aShop(t, service, { codes, countries: [canary] })
const other = await service.newAccount(t)

const aSale = {
  transaction_id: canary,
  code: canary,
  extension: canary,
  quantity: '1',
  revenue: '1',
}

t.test('good and bad requests with secrets in them', async (t) => {
  await createAccount(service.url, { account: canary, email: `${canary}@a.b`, password: canary })
  for (const password of [canary, `${canary}!`]) {
    const payload = JSON.stringify({ email: `${canary}@a.b`, password })
    const headers = { 'content-type': 'application/json' }
    await send(t, service, { method: 'POST', path: '/login/', headers, payload })
  }
  await aList(shop, { name: canary, description: canary, price_dimensions: [canary] })
  const requests: [string, string, unknown][] = [
    ['POST', salesPath, [aSale]],
    ['POST', salesPath, [{ ...aSale, [canary]: canary, quantity: canary }]],
    ['POST', salesPath, `[{"code": ${canary}`],
    ['POST', salesPath, `{"${canary}": 1, "${canary}": 2}`],
    ['POST', '/api/v1/price_list/bulk_create/', [{ name: canary, margin_formula: `=${canary}` }]],
    ['POST', '/api/v1/prices/get_prices/', { price_list_name: canary, payload: [{ x: canary }] }],
    [
      'POST',
      '/api/v1/prices/bulk_update_prices/',
      { price_list_name: canary, payload: [{ price }] },
    ],
    ['PATCH', `/api/v1/agreement/${canary}`, { name: canary }],
    ['GET', `/${canary}/${canary}?${canary}=${canary}`, undefined],
    ['GET', `/%c0${canary}`, undefined],
    ['GET', `/api/v1/sales_history/?code=${canary}&${canary}=1&from=${canary}`, undefined],
  ]
  const headers = {
    'idempotency-key': canary,
    'x-request-id': `${canary} x`,
    'user-agent': canary,
    cookie: canary,
    'if-match': canary,
    traceparent: canary,
    tracestate: `a=${canary}`,
    baggage: `a=${canary}`,
  }
  for (const [method, path, body] of requests) {
    await shop.send(method, path, body)
    await shop.send(method, path, body, headers)
    await shop.send(method, path, body, { ...headers, authorization: `jwt ${canary}.x.y` })
  }
})

t.test('a database that refuses values and quotes them', async (t) => {
  const refusals: [string, string][] = [
    [`add constraint c check (code <> '${canary}')`, 'drop constraint c'],
    ['add column c integer generated always as (code::integer) stored', 'drop column c'],
  ]
  await select(service.url, 'delete from sales')
  for (const [change, undo] of refusals) {
    await select(service.url, `alter table sales ${change}`)
    const { status, body } = await shop.post(salesPath, [aSale])
    t.equal(status, 500)
    t.notMatch(JSON.stringify(body), canary)
    await select(service.url, `alter table sales ${undo}`)
  }
  t.match(log.text(), /"sqlstate":"23514"/)
  t.match(log.text(), /"sqlstate":"22P02"/)
})

t.test('a job that fails on a row', async (t) => {
  await aList(shop, { name: 'L' })
  const change = `add constraint c check (code <> '${canary}')`
  await select(service.url, `alter table price_list_rows ${change}`)
  const payload = codes.map((code) => ({ code, country: canary }))
  const { body: job } = await shop.post('/api/v1/prices/bulk_add_products/', { name: 'L', payload })
  const outputs = () =>
    select(service.url, 'select output from pgboss.job where output is not null')
  while ((await outputs()).length === 0);
  t.match(await outputs(), [{ output: { message: 'the log has the error, SQLSTATE 23514' } }])
  t.match(log.text(), /"msg":"job retried"/)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
})

t.test('files that jobs load', async (t) => {
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async' }
  const load = async (...rows: string[]) => {
    const file = ['transaction_id,code,extension,quantity,revenue', ...rows].join('\n')
    return (await shop.send('POST', salesPath, file, headers)).body
  }
  const good = `${canary},${canary},${canary},1,${price}`
  t.match(await shop.finished(await load(good)), { status: 'done' })
  const refused = [
    `${good},${canary}`,
    `${canary},${canary},${canary},${canary},1`,
    `${canary},A,,1,1`,
    `${canary},B,,1,1`,
    `"${canary}`,
  ]
  for (const row of [refused, refused.slice(0, -1), refused.slice(2, 4)])
    t.match(await shop.finished(await load(...row)), { status: 'failed' })
  const change = `add constraint c check (quantity < 5)`
  await select(service.url, `alter table sales ${change}`)
  const job = await load(good.replace(',1,', ',7,'))
  const outputs = () =>
    select(service.url, `select from pgboss.job where name = 'file' and output is not null`)
  while ((await outputs()).length === 0);
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.strictSame(await select(service.url, 'select from file_pieces'), [])
})

t.test('nothing of it is told to others', async (t) => {
  const paths = ['price_list/', 'sales_history/', 'jobs/', 'agreement/', 'product_catalog/']
  const answers = await Promise.all(paths.map((path) => other.get(`/api/v1/${path}`)))
  // What is asked for is repeated to whoever asks.
  const asked = JSON.stringify(`There is no price list "${canary}".`)
  for (const { body } of [...answers, ...(await refusals(other))])
    expectNone(t, 'an answer to another account', JSON.stringify(body).replace(asked, ''))
})

t.test('nothing of it is in the log, the metrics, the traces, the queue or its jobs', async (t) => {
  const headers = { authorization: `Bearer ${metricsToken}` }
  const { body: metrics } = await send(t, service, { method: 'GET', path: '/metrics', headers })
  const tables = await select(
    service.url,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'pgboss'`,
  )
  for (const { name } of [...tables, { name: 'jobs' }]) {
    const rows = await select(service.url, `select to_jsonb(t)::text as row from ${name} t`)
    expectNone(t, name, rows.map(({ row }) => row).join('\n'))
  }
  await service.close()
  t.ok(collector.spans().length > 50)
  expectNone(t, 'the metrics', metrics)
  expectNone(t, 'the traces', collector.text())
  expectNone(t, 'the log', log.text())
})

async function refusals(account: TestAccount) {
  const list = { price_list_name: canary, payload: [{ code: 'x' }] }
  const { body, ...answer } = await account.post('/api/v1/prices/get_prices/', list)
  return [{ ...answer, body }, await account.get('/api/v1/price_list/1')]
}

function expectNone(t: import('tap').Test, place: string, text: string): void {
  for (const secret of [...secrets, shop.token, shop.token.split('.')[2] ?? '', metricsToken]) {
    const index = text.indexOf(secret)
    t.equal(index, -1, `${place}: ${text.slice(Math.max(0, index - 200), index + 40)}`)
  }
}
