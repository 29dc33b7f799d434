import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import net from 'node:net'
import { setImmediate as nextLoop } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { requestBytes } from '../helpers/exchange.ts'
import { expectProblem } from '../helpers/operations.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'
import { type OpenRequest, openRequest } from '../helpers/socket.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const sales = '/api/v1/sales_history/'
const prices = '/api/v1/prices/get_prices/'
const everyPrice = { price_list_name: 'L', payload: [{}], include: ['dynamic_attributes'] }
const header = 'transaction_id,code,extension,quantity,revenue\n'
const rowOf = (id: string) => `${id},A,UK,1,2.50\n`
const csv = { 'content-type': 'text/csv' }

const service = await startTestService(t, { ACCOUNT_WAITING: '1', ACCOUNT_WAIT_SECONDS: '600' })
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as net.AddressInfo

const upload = (account: TestAccount, headers = {}) =>
  account.send('POST', path, header + rowOf('T1'), { ...csv, ...headers })
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

/** A file of which the header and a row have arrived. */
async function slowUpload(t: Test, { token }: TestAccount, id: string): Promise<OpenRequest> {
  const headers = { ...csv, authorization: `jwt ${token}`, 'transfer-encoding': 'chunked' }
  const request = await openRequest(service.app, path, headers)
  t.teardown(request.abort)
  request.write(chunk(header + rowOf(id)))
  return request
}

/** A client that takes nothing of the answer to its request. */
async function slowReader(t: Test, request: Buffer): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

/** Waits until so many connections of a pool are in a transaction. */
async function untilBusy(pool: string, count: number): Promise<void> {
  const busy = () =>
    select(
      service.url,
      `select from pg_stat_activity where datname = current_database()
         and application_name = $1 and state <> 'idle'`,
      [`pricewell ${pool}`],
    )
  while ((await busy()).length !== count);
}

async function expectServed(t: Test, account: TestAccount): Promise<void> {
  t.equal((await upload(account)).status, 201, 'its file is loaded')
  const { status, body } = await account.send('GET', sales, undefined, { accept: 'text/csv' })
  t.match({ status, body }, { status: 200, body: /,T1,/ }, 'it gets a file')
  const accepted = await upload(account, { prefer: 'respond-async' })
  t.equal(accepted.status, 202, 'its file is taken for a job')
  t.match(await account.finished(accepted.body), { status: 'done' })
}

t.test('an account whose files hardly arrive waits for itself, and others do not', async (t) => {
  const [slow, other] = [await service.newAccount(t), await service.newAccount(t)]
  const [first, second] = [await slowUpload(t, slow, 'A'), await slowUpload(t, slow, 'B')]
  await untilBusy('streams', 2)
  const third = await slowUpload(t, slow, 'C')
  expectProblem(t, await upload(slow), 429, 'too-many-requests', 'its fourth file')
  await expectServed(t, other)
  for (const request of [first, second, third]) request.write(chunk(rowOf('Z')) + chunk(''))
  for (const request of [first, second, third]) t.equal((await request.answer()).status, 201)
  t.equal((await slow.get(sales)).body.count, 4, 'its own are loaded in their turns')
  await untilBusy('streams', 0)
})

t.test('a file that waits for its turn makes no pause, its client does', async (t) => {
  const raws: IncomingMessage[] = []
  const note = (raw: IncomingMessage) => void raws.push(raw)
  service.app.server.on('request', note)
  t.teardown(() => service.app.server.off('request', note))
  const account = await service.newAccount(t)
  const [first, second] = [await slowUpload(t, account, 'A'), await slowUpload(t, account, 'B')]
  await untilBusy('streams', 2)
  const waiting = await slowUpload(t, account, 'C')
  while (!raws[2]?.readableLength) await nextLoop()
  // As when nothing has moved on it for two minutes.
  for (const raw of raws.slice(1)) raw.socket.emit('timeout')
  await second.closed
  for (const request of [first, waiting]) request.write(chunk(''))
  for (const request of [first, waiting]) t.equal((await request.answer()).status, 201)
  await untilBusy('streams', 0)
})

t.test(
  'files whose clients go, before or in their turn, hold nothing and write nothing',
  async (t) => {
    const slow = await service.newAccount(t)
    const loading = [await slowUpload(t, slow, 'A'), await slowUpload(t, slow, 'B')]
    await untilBusy('streams', 2)
    const waiting = await slowUpload(t, slow, 'C')
    for (const request of [waiting, ...loading]) await request.abort()
    while ((await upload(slow)).status !== 201);
    await untilBusy('streams', 0)
    t.equal((await slow.get(sales)).body.count, 1)
  },
)

t.test(
  'with all connections in use by two accounts, a third is told that it is busy',
  async (t) => {
    const accounts = [await service.newAccount(t), await service.newAccount(t)]
    const uploads = accounts.flatMap((account) => [
      slowUpload(t, account, 'A'),
      slowUpload(t, account, 'B'),
    ])
    await untilBusy('streams', 4)
    expectProblem(t, await upload(await service.newAccount(t)), 503, 'overloaded', 'busy')
    for (const request of uploads) await (await request).abort()
    await untilBusy('streams', 0)
  },
)

t.test('who takes nothing of its files leaves the others theirs', async (t) => {
  const [slow, other] = [await service.newAccount(t), await service.newAccount(t)]
  await select(
    service.url,
    `insert into sales (account_id, transaction_id, code, extension, quantity, revenue, client_code)
     select $1, i, 'A', 'X', 1, 1, repeat('c', 1000) from generate_series(1, 30000) i`,
    [slow.id],
  )
  const request = requestBytes('GET', sales, slow.token).toString('latin1')
  const asFile = Buffer.from(request.replace('\r\n', '\r\nAccept: text/csv\r\n'), 'latin1')
  const readers = [await slowReader(t, asFile), await slowReader(t, asFile)]
  await untilBusy('streams', 2)
  const third = await slowReader(t, asFile)
  await expectServed(t, other)
  for (const socket of [...readers, third]) socket.destroy()
  await untilBusy('streams', 0)
  await expectServed(t, await service.newAccount(t))
})

t.test('who takes nothing of its large reads leaves the others theirs', async (t) => {
  const products = Array.from({ length: 2100 }, (_, index) => ({ code: `P${index}` }))
  const aShop = async () => {
    const shop = await aShopOf(t, service, {}, products)
    await aList(shop, { name: 'L' })
    await addProducts(shop, 'L', products)
    return shop
  }
  const [slow, other] = [await aShop(), await aShop()]
  await select(
    service.url,
    `update price_list_rows set dynamic_attributes = jsonb_build_object('a', repeat('x', 10000))
     where account_id = $1`,
    [slow.id],
  )
  const request = requestBytes('POST', prices, slow.token, JSON.stringify(everyPrice))
  const readers = [await slowReader(t, request), await slowReader(t, request)]
  await untilBusy('streams', 2)
  readers.push(await slowReader(t, request))
  t.equal((await other.post(prices, everyPrice)).body.length, products.length)
  for (const socket of readers) socket.destroy()
  await untilBusy('streams', 0)
  t.equal((await slow.post(prices, everyPrice)).body.length, products.length)
})
