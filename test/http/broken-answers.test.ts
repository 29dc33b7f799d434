import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import t from 'tap'
import type { Stream } from '../../src/contract/operation.ts'
import { sendPieces } from '../../src/contract/send-pieces.ts'
import { sendStream } from '../../src/http/execute.ts'
import { logRequests } from '../../src/http/request-log.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { captureLog, type LogLine } from '../helpers/log.ts'
import { metricsToken, startTestService, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const log = captureLog(t)
const service = await startTestService(t, { LOG_LEVEL: 'info', ROLE: 'api' })
const products = Array.from({ length: 2100 }, (_, index) => ({ code: `P${index}` }))
const shop = await aShopOf(t, service, {}, products)
await aList(shop, { name: 'L' })
for (let from = 0; from < products.length; from += 100)
  await addProducts(shop, 'L', products.slice(from, from + 100))
await select(
  service.url,
  `insert into sales (account_id, transaction_id, code, extension, quantity, revenue, client_code)
   select $1, i, 'A', 'X', 1, 1, repeat('c', 1000) from generate_series(1, 30000) i`,
  [shop.id],
)
const { shop: watcher, job } = await aBigJob(t, service)
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as AddressInfo

interface Read {
  operation: string
  account: TestAccount
  method: string
  path: string
  accept: string
  status: number
  body?: object
}

const sales = {
  operation: 'listSales',
  account: shop,
  method: 'GET',
  status: 200,
  path: '/api/v1/sales_history/',
}
/** Of 210,000 rows. */
const prices = {
  operation: 'getPrices',
  account: shop,
  method: 'POST',
  status: 201,
  path: '/api/v1/prices/get_prices/',
  body: { price_list_name: 'L', payload: Array(100).fill({}) },
}
const reads: Record<string, Read> = {
  'an export as CSV': { ...sales, accept: 'text/csv' },
  'an export as NDJSON': { ...sales, accept: 'application/x-ndjson' },
  'a large read': { ...prices, accept: 'application/json' },
}

/** The head of an answer; its client takes no more of it until it is told to. */
async function begin({ method, path, accept, body, account }: Read): Promise<IncomingMessage> {
  const headers = { authorization: `jwt ${account.token}`, 'content-type': 'application/json' }
  const sent = request({
    port,
    host: '127.0.0.1',
    method,
    path,
    agent: new Agent(),
    headers: { ...headers, accept },
  })
  sent.end(body && JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  return answer
}

const sessions = (): Promise<{ pid: number }[]> =>
  select(
    service.url,
    `select pid from pg_stat_activity where datname = current_database() and state <> 'idle'
       and application_name in ('pricewell streams')`,
  )

/** The lines of a request, once the last one is there. */
async function linesOf({ headers }: IncomingMessage): Promise<LogLine[]> {
  const ofRequest = () =>
    log.lines().filter(({ request_id }) => request_id === headers['x-request-id'])
  while (!ofRequest().some(({ ms }) => ms !== undefined)) await sleep(10)
  return ofRequest()
}

async function counted({ operation }: Read, status: number): Promise<number> {
  const headers = { authorization: `Bearer ${metricsToken}` }
  const { body } = await service.app.inject({ url: '/metrics', headers })
  const series = `pricewell_http_requests_total{operation="${operation}",status="${status}"} `
  const line = body.split('\n').find((one) => one.startsWith(series))
  return Number(line?.slice(series.length) ?? 0)
}

for (const [name, read] of Object.entries(reads)) {
  t.test(`${name} whose session is ended is logged and counted as a fault of ours`, async (t) => {
    const before = { fault: await counted(read, 503), gone: await counted(read, 499) }
    const answer = await begin(read)
    t.equal(answer.statusCode, read.status)
    for (const { pid } of await sessions())
      await select(service.url, 'select pg_terminate_backend($1, 5000)', [pid])
    await t.rejects(answer.resume().toArray(), { code: 'ECONNRESET' }, 'it is no whole answer')
    t.match(await linesOf(answer), [
      { level: 50, err: { message: String }, problem: 'unavailable' },
      { operation: read.operation, status: 503, problem: 'unavailable', account: shop.id },
    ])
    t.equal((await linesOf(answer)).length, 2)
    t.equal(await counted(read, 503), before.fault + 1)
    t.equal(await counted(read, 499), before.gone)
  })

  t.test(`${name} whose client leaves is no fault`, async (t) => {
    const before = { fault: await counted(read, 503), gone: await counted(read, 499) }
    const answer = await begin(read)
    answer.on('error', () => undefined).destroy()
    t.match(await linesOf(answer), [{ status: 499, problem: undefined, sqlstate: undefined }])
    t.equal((await linesOf(answer)).length, 1)
    t.equal(await counted(read, 499), before.gone + 1)
    t.equal(await counted(read, 503), before.fault)
  })
}

t.test('events of a job that cannot be read any more are a fault of ours', async (t) => {
  const events = {
    operation: 'readJobEvents',
    account: watcher,
    method: 'GET',
    status: 200,
    path: `/api/v1/jobs/${job.id}/events/`,
    accept: 'text/event-stream',
  }
  const answer = await begin(events)
  await select(service.url, 'alter table jobs rename column finished to finished_away')
  await t.rejects(answer.resume().toArray(), { code: 'ECONNRESET' })
  await select(service.url, 'alter table jobs rename column finished_away to finished')
  t.match(await linesOf(answer), [
    { level: 50, err: { code: '42703' }, problem: 'internal-error' },
    { operation: 'readJobEvents', status: 500, sqlstate: '42703', problem: 'internal-error' },
  ])
  t.equal(await counted(events, 500), 1)
})

t.test('a client that takes nothing for too long is let go, and that is no fault', async (t) => {
  const lines: LogLine[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app = fastify({ logger: { level: 'info', stream } })
  t.teardown(() => app.close())
  logRequests(app, { metrics: undefined, tracing: undefined })
  async function* endless() {
    for (;;) yield 'x'.repeat(1_000_000)
  }
  app.get('/', async (_request, reply) => {
    const answer = await new Promise<Stream>((resolve) => {
      void sendPieces({ contentType: 'text/csv', stalledMs: 100, write: endless, answer: resolve })
    })
    return sendStream(answer, 200, reply)
  })
  const sent = request(await app.listen({ port: 0, host: '127.0.0.1' })).end()
  const [answer] = await once(sent, 'response')
  while (!lines.some(({ status }) => status)) await sleep(10)
  await t.rejects(answer.resume().toArray(), { code: 'ECONNRESET' })
  t.match(
    lines.filter(({ status }) => status),
    [{ status: 499, problem: undefined }],
  )
  t.strictSame(
    lines.filter(({ level }) => level >= 50),
    [],
  )
})
