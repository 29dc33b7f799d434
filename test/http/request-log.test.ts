import net from 'node:net'
import t from 'tap'
import { aBigJob } from '../helpers/jobs.ts'
import { captureLog, type LogLine } from '../helpers/log.ts'
import { send } from '../helpers/operations.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const log = captureLog(t)
const service = await startTestService(t, { LOG_LEVEL: 'debug' })
const uuid = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/

/** The lines of the request that was answered with this id. */
const linesOf = ({ headers }: { headers: Record<string, unknown> }): LogLine[] =>
  log.lines().filter(({ request_id }) => request_id === headers['x-request-id'])

const csvOf = (...codes: string[]) =>
  `code,country\n${codes.map((code) => `${code},UK\n`).join('')}`

t.test('a request is one line: id, account, operation, rows, status, time', async (t) => {
  const rows = [{ code: 'A', country: 'UK' }]
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'], rows })
  const cases: [Awaited<ReturnType<TestAccount['get']>>, LogLine][] = [
    [
      await shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [{}, {}] }),
      { operation: 'getPrices', method: 'POST', rows: 2, rows_answered: 2, status: 201 },
    ],
    [
      await shop.get('/api/v1/product_catalog/?limit=1'),
      { operation: 'listProducts', method: 'GET', rows_answered: 1, status: 200 },
    ],
    [
      await shop.post('/api/v1/sales_history/bulk_create_or_update', [{ x: 1 }]),
      { operation: 'upsertSales', rows: 1, status: 400, problem: 'invalid-request' },
    ],
    [
      await shop.post('/api/v1/price_list/bulk_create/', [
        { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' },
      ]),
      { operation: 'createPriceLists', status: 409, problem: 'name-taken', rows: 1 },
    ],
    [
      await shop.send('POST', '/api/v1/product_catalog/bulk_create_or_update/', csvOf('C', 'D'), {
        'content-type': 'text/csv',
      }),
      { operation: 'upsertProducts', rows: 2, rows_answered: undefined, status: 200 },
    ],
    [
      await shop.send('POST', '/api/v1/product_catalog/bulk_create_or_update/', csvOf('E', ''), {
        'content-type': 'text/csv',
        accept: 'text/csv',
      }),
      { operation: 'upsertProducts', rows: 2, status: 400 },
    ],
    [
      await shop.send('GET', '/api/v1/product_catalog/', undefined, { accept: 'text/csv' }),
      { operation: 'listProducts', rows_answered: 4, status: 200 },
    ],
    [await shop.get('/nowhere'), { status: 404, problem: 'not-found', method: 'GET' }],
  ]
  for (const [answer, expected] of cases) {
    const lines = linesOf(answer)
    t.equal(lines.length, 1, 'one line')
    t.match(lines[0], { level: 30, account: shop.id, ...expected })
    t.type(lines[0]?.ms, 'number')
  }
})

t.test(
  'every answer carries its id, which finds it in the log and is the instance of an error',
  async (t) => {
    const account = await service.newAccount(t)
    const answers = [
      await account.get('/api/v1/price_list/'),
      await account.get('/api/v1/price_list/1'),
      await account.get('/nowhere'),
      await account.get(`/api/v1/jobs/${'9'.repeat(400)}`),
      await account.get('/%c0'),
      await send(t, service, { method: 'GET', path: '/api/v1/price_list/' }),
      await send(t, service, { method: 'GET', path: '/docs' }),
      await send(t, service, { method: 'GET', path: '/health/live' }),
      await send(t, service, { method: 'POST', path: '/health/live' }),
    ]
    for (const { status, headers, body } of answers) {
      t.match(headers['x-request-id'], uuid)
      t.match(linesOf({ headers }), [{ status }])
      if (status >= 400) t.equal(body.instance, headers['x-request-id'])
    }
    t.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, answers.length)
  },
)

t.test('an id that the client sends is noted beside, where it can be only an id', async (t) => {
  const account = await service.newAccount(t)
  const ask = (id: string) =>
    account.send('GET', '/api/v1/price_list/', undefined, { 'x-request-id': id })
  for (const id of ['a', 'req-1_2.3', 'x'.repeat(64)]) {
    const answer = await ask(id)
    t.not(answer.headers['x-request-id'], id, 'ours is ours')
    t.match(linesOf(answer), [{ client_request_id: id }])
  }
  for (const id of ['', 'x'.repeat(65), 'a b', '{"level":60}', 'é', "'; drop", '%0a']) {
    const answer = await ask(id)
    t.equal(linesOf(answer)[0]?.client_request_id, undefined, JSON.stringify(id))
    t.match(answer.headers['x-request-id'], uuid)
  }
})

t.test('probes that succeed are a matter for debug, all others are not', async (t) => {
  for (const path of ['/health/live', '/health/ready', '/openapi.yaml'])
    t.match(linesOf(await send(t, service, { method: 'GET', path })), [{ level: 20, status: 200 }])
  const refused = await send(t, service, { method: 'GET', path: '/metrics' })
  t.match(linesOf(refused), [{ level: 30, status: 401, problem: 'unauthorized' }])
})

t.test('an error of the database is logged with its SQLSTATE', async (t) => {
  const account = await service.newAccount(t)
  await select(service.url, 'alter table sales rename column code to code_away')
  const answer = await account.get('/api/v1/sales_history/')
  await select(service.url, 'alter table sales rename column code_away to code')
  t.equal(answer.status, 500)
  const lines = linesOf(answer)
  t.match(lines, [
    { level: 50, err: { code: '42703' }, problem: 'internal-error' },
    { level: 30, status: 500, sqlstate: '42703', problem: 'internal-error' },
  ])
})

t.test('a client that goes away leaves a line, too', async (t) => {
  const waiting = await startTestService(t, { LOG_LEVEL: 'info', ROLE: 'api' })
  const { shop, job } = await aBigJob(t, waiting)
  const url = await waiting.app.listen({ port: 0, host: '127.0.0.1' })
  const gone = new AbortController()
  const events = await fetch(`${url}/api/v1/jobs/${job.id}/events/`, {
    headers: { authorization: `jwt ${shop.token}` },
    signal: gone.signal,
  })
  gone.abort()
  const ofRequest = () => linesOf({ headers: Object.fromEntries(events.headers) })
  while (ofRequest().length === 0) await new Promise((resolve) => setImmediate(resolve))
  t.match(ofRequest(), [{ operation: 'readJobEvents', status: 499, account: shop.id }])
})

t.test('a request that cannot be read is logged, too', async (t) => {
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.app.server.address() as net.AddressInfo
  const socket = net.connect(port, '127.0.0.1')
  socket.write('NONSENSE\r\n\r\n')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  const [, id] = /x-request-id: (\S+)/.exec(answer) ?? []
  t.match(linesOf({ headers: { 'x-request-id': id } }), [
    { status: 400, problem: 'malformed-body' },
  ])
})

t.test('a job logs its begin and its end: account, id, attempt, kind, counts', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.finished(job)
  const ofJob = () => log.lines().filter((line) => line.job === job.id && line.account === shop.id)
  while (ofJob().length < 2) await new Promise((resolve) => setImmediate(resolve))
  const fields = { level: 30, attempt: 0, kind: 'add-products', total: 101 }
  t.match(ofJob(), [
    { ...fields, msg: 'job begins', finished: 0 },
    { ...fields, msg: 'job done', ms: Number },
  ])
})
