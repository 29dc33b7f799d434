import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { requestBytes } from '../helpers/exchange.ts'
import { captureLog } from '../helpers/log.ts'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const log = captureLog(t)
const service = await startTestService(t, { LOG_LEVEL: 'error' })
const products = Array.from({ length: 2100 }, (_, index) => ({ code: `P${index}` }))
const shop = await aShopOf(t, service, {}, products)
await aList(shop, { name: 'L' })
await addProducts(shop, 'L', products)
await select(
  service.url,
  `insert into sales (account_id, transaction_id, code, extension, quantity, revenue, client_code)
   select $1, i, 'A', 'X', 1, 1, repeat('c', 1000) from generate_series(1, 30000) i`,
  [shop.id],
)
await service.app.listen({ port: 0 })
const { port } = service.app.server.address() as net.AddressInfo

const salesPath = '/api/v1/sales_history/'
const pricesPath = '/api/v1/prices/get_prices/'
const prices = { price_list_name: 'L', payload: [{}] }
const [job] = (await shop.get('/api/v1/jobs/')).body.results

const answers = {
  'an export': { request: requestOf('GET', salesPath, 'text/csv'), table: 'sales' },
  'a large read': { request: requestOf('POST', pricesPath, '*/*'), table: 'price_list_rows' },
  'the events of a job': {
    request: requestOf('GET', `/api/v1/jobs/${job.id}/events/`, '*/*'),
    table: 'jobs',
  },
}

function requestOf(method: string, path: string, accept: string): Buffer {
  const body = method === 'POST' ? JSON.stringify(prices) : undefined
  const text = requestBytes(method, path, shop.token, body).toString('latin1')
  return Buffer.from(text.replace('\r\n', `\r\nAccept: ${accept}\r\n`), 'latin1')
}

/** A client that sends a request and takes nothing of its answer. */
async function send(request: Buffer): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

/** Sessions that answer with a stream, and what they do. */
const sessions = (condition: string): Promise<{ pid: number }[]> =>
  select(
    service.url,
    `select pid from pg_stat_activity where datname = current_database() and (${condition})
       and application_name in ('pricewell streams', 'pricewell reads')`,
  )

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20)
}

const isFree = async () => (await sessions(`state <> 'idle'`)).length === 0

for (const [name, { request, table }] of Object.entries(answers)) {
  t.test(`${name} whose client leaves before it begins holds nothing`, async (t) => {
    const owner = new pg.Client({ connectionString: service.url })
    await owner.connect()
    t.teardown(() => owner.end())
    await owner.query(`begin; lock table ${table} in access exclusive mode`)
    const closed = once(service.app.server, 'connection').then(([socket]) => once(socket, 'close'))
    const client = await send(request)
    await until(async () => (await sessions(`wait_event_type = 'Lock'`)).length > 0)
    client.destroy()
    await closed
    await owner.query('commit')
    await until(isFree)
    t.pass('its session is free')
    t.strictSame(log.lines(), [], 'and that is no fault of the service')
    t.equal((await shop.post(pricesPath, prices)).body.length, products.length)
  })
}

/** An export that begins, and whose session is ended when it is under way. */
async function brokenExport(request: Buffer): Promise<net.Socket> {
  const client = await send(request)
  await until(async () => (await sessions(`state = 'idle in transaction'`)).length > 0)
  await sleep(300)
  const [session] = await sessions(`application_name = 'pricewell streams' and state <> 'idle'`)
  await select(service.url, 'select pg_terminate_backend($1)', [session?.pid])
  return client
}

t.test('HEAD of a stream gets the headers, and nothing of the stream is read', async (t) => {
  for (const { request } of [answers['an export'], answers['the events of a job']]) {
    const from = log.lines().length
    const client = await send(Buffer.from(request.toString('latin1').replace('GET', 'HEAD')))
    const [head] = await once(client, 'data')
    t.match(String(head), /^HTTP\/1.1 200 OK\r\n/)
    client.end()
    await once(client, 'close')
    await until(isFree)
    t.strictSame(log.lines().slice(from), [])
  }
})

t.test('an export whose session ends in the middle ends alone', async (t) => {
  const client = await brokenExport(answers['an export'].request)
  client.resume()
  await once(client, 'close')
  await until(isFree)
  const { status, body } = await shop.send('GET', `${salesPath}?code=none`, undefined, {
    accept: 'text/csv',
  })
  t.match({ status, body }, { status: 200, body: /^id,transaction_id,/ })
})

t.test('an export that breaks off ends with an error for a client of HTTP/1.0, too', async (t) => {
  const request = answers['an export'].request.toString('latin1').replace('HTTP/1.1', 'HTTP/1.0')
  const client = await brokenExport(Buffer.from(request, 'latin1'))
  client.resume()
  await t.rejects(once(client, 'close'), { code: 'ECONNRESET' })
  await until(isFree)
})

t.test('what cannot be read behind a request does not end up in its answer', async (t) => {
  // A connection of HTTP/1.0 ends with its answer.
  for (const [version, expected] of Object.entries({ 'HTTP/1.0': [200], 'HTTP/1.1': [200, 400] })) {
    const request = answers['an export'].request.toString('latin1').replace('HTTP/1.1', version)
    const client = await send(Buffer.from(request, 'latin1'))
    await once(client, 'readable')
    client.write('no request')
    let text = ''
    client.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    await once(client, 'close')
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    t.strictSame(statuses, expected, version)
    t.equal(text.match(/,c{1000}\b/g)?.length, 30_000, `${version}: all of it is there`)
    await until(isFree)
  }
})
