import { once } from 'node:events'
import net from 'node:net'
import t, { type Test } from 'tap'
import { requestBytes } from '../helpers/exchange.ts'
import { expectProblem } from '../helpers/operations.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/prices/get_prices/'
const day = '2026-11-27'
const products = Array.from({ length: 2100 }, (_, index) => ({ code: `P${index}` }))
const everyPrice = { price_list_name: 'L', promotion_date: day, payload: [{}] }

const service = await startTestService(t, { READ_ROWS_MAX: String(products.length) })
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as net.AddressInfo

interface BusyShop {
  shop: TestAccount
  list: { id: number }
  /** Gives the next large read its turn. */
  giveTurn: () => void
}

/** A shop whose products cost 10, and whose turns at large reads are taken by clients that read nothing. */
async function aBusyShop(t: Test): Promise<BusyShop> {
  const shop = await aShopOf(t, service, {}, products)
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', products)
  await priceAll(shop, 10)
  await select(
    service.url,
    `update price_list_rows set dynamic_attributes = jsonb_build_object('a', repeat('x', 10000))
     where account_id = $1`,
    [shop.id],
  )
  const body = JSON.stringify({ ...everyPrice, include: ['dynamic_attributes'] })
  const readers = [await slowReader(t, shop, body), await slowReader(t, shop, body)]
  const sending = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell streams' and state <> 'idle'`
  while ((await select(service.url, sending)).length < readers.length);
  return { shop, list, giveTurn: () => readers[0]?.destroy() }
}

async function slowReader(t: Test, { token }: TestAccount, body: string): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(requestBytes('POST', path, token, body))
  return socket
}

const priceAll = (shop: TestAccount, price: number) =>
  setPrices(
    shop,
    'L',
    products.map((product) => ({ ...product, price })),
  )

/** Sends a large read and waits until it is known what it will send. */
async function plannedRead(shop: TestAccount) {
  const [{ now }] = await select(service.url, 'select clock_timestamp()::text as now')
  const answer = shop.post(path, everyPrice)
  const planned = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell reads' and state = 'idle' and state_change > $1`
  while ((await select(service.url, planned, [now])).length === 0);
  return { answer }
}

t.test(
  'a large read that waits for its turn sees promotions and prices as they are then',
  async (t) => {
    const { shop, giveTurn } = await aBusyShop(t)
    const { answer } = await plannedRead(shop)
    const promotion = { name: 'P', kind: 'fixed_price', value: 5, valid_from: day, valid_to: day }
    await shop.post('/api/v1/promotions/bulk_create_or_update/', [promotion])
    await priceAll(shop, 20)
    giveTurn()
    const { status, body } = await answer
    t.equal(status, 201)
    t.equal(body.length, products.length)
    const seen = new Set(body.map((row: { active_price: number }) => row.active_price))
    t.strictSame([...seen], [5], 'the promotion was there before the price')
  },
)

t.test('a large read whose list is deleted while it waits answers that it is gone', async (t) => {
  const { shop, list, giveTurn } = await aBusyShop(t)
  const { answer } = await plannedRead(shop)
  t.equal((await shop.send('DELETE', `/api/v1/price_list/${list.id}`)).status, 204)
  giveTurn()
  expectProblem(t, await answer, 404, 'price-list-not-found', 'gone')
})

t.test('a large read whose list has few rows when its turn comes has those', async (t) => {
  const { shop, list, giveTurn } = await aBusyShop(t)
  const { answer } = await plannedRead(shop)
  await shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', products.slice(0, 3))
  giveTurn()
  const { status, body } = await answer
  t.equal(status, 201)
  t.equal(body.length, 3)
})

t.test('a large read that has become too large while it waits is refused', async (t) => {
  const { shop, giveTurn } = await aBusyShop(t)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ code: 'ONE-MORE' }])
  const { answer } = await plannedRead(shop)
  await addProducts(shop, 'L', [{ code: 'ONE-MORE' }])
  giveTurn()
  expectProblem(t, await answer, 400, 'result-too-large', 'one row more than may be read')
})
