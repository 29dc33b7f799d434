import pg from 'pg'
import t, { type Test } from 'tap'
import { startTestService, type TestAccount, type TestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const path = '/api/v1/prices/get_prices/'
const updatePath = '/api/v1/prices/bulk_update_prices/'
const codes = Array.from({ length: 2700 }, (_, index) => `P${String(index).padStart(5, '0')}`)

/** An account whose list L has all codes, none of them with a price. */
async function aFullList(t: Test, service: TestService): Promise<TestAccount> {
  const products = codes.map((code) => ({ code }))
  const shop = await aShopOf(t, service, {}, products)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', products)
  return shop
}

async function readPrices(shop: TestAccount): Promise<number[]> {
  const payload = codes.map((code) => ({ code }))
  const { status, body } = await shop.post(path, { price_list_name: 'L', payload })
  // On a busy machine its turn may come too late.
  if (status === 429) return readPrices(shop)
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body.map(({ active_price }: { active_price: number }) => active_price)
}

t.test('a read of many rows sees one moment of a list that is written to', async (t) => {
  const shop = await aFullList(t, service)
  let isWriting = true
  const write = async () => {
    for (let price = 1; price <= 4; price++)
      await shop.post(updatePath, {
        price_list_name: 'L',
        payload: codes.map((code) => ({ code, price })),
      })
    isWriting = false
  }
  const torn: number[][] = []
  const seen = new Set<number>()
  const read = async () => {
    while (isWriting) {
      const prices = new Set(await readPrices(shop))
      if (prices.size > 1) torn.push([...prices])
      for (const price of prices) seen.add(price)
    }
  }
  await Promise.all([write(), read(), read()])
  t.same(torn, [])
  t.ok(seen.size > 2, 'reads came between the writes')
})

t.test('rows come in the order of the payload, each as often as it is named', async (t) => {
  const shop = await aFullList(t, service)
  const price = (code: string) => Number(code.slice(1))
  const payload = codes.map((code) => ({ code, price: price(code) }))
  await shop.post(updatePath, { price_list_name: 'L', payload })
  const asked = [...codes.toReversed(), 'absent', ...codes.slice(0, 700), codes.at(-1)]
  const { body } = await shop.post(path, {
    price_list_name: 'L',
    payload: asked.map((code) => ({ code })),
  })
  const expected = asked
    .filter((code) => code !== 'absent')
    .map((code) => [code, price(code ?? '')])
  t.same(
    body.map((row: { code: string; active_price: number }) => [row.code, row.active_price]),
    expected,
  )
})

t.test('one connection is enough for several reads of many rows', async (t) => {
  const shop = await aFullList(t, await startTestService(t, { DATABASE_CONNECTIONS: '1' }))
  const answers = await Promise.all(Array.from({ length: 4 }, () => readPrices(shop)))
  t.ok(answers.every(({ length }) => length === codes.length))
})

t.test('a faulty row after many good ones is named', async (t) => {
  const shop = await aFullList(t, service)
  const payload = [
    ...codes.map((code) => ({ code })),
    { code: 'P00001', price_dimension: 'absent' },
  ]
  const { status, body } = await shop.post(path, { price_list_name: 'L', payload })
  t.equal(status, 400)
  t.match(body.errors, [{ pointer: `/payload/${codes.length}/price_dimension` }])
  t.equal((await readPrices(shop)).length, codes.length, 'the connections are free again')
})

t.test('a read that finds its rows locked is refused for that, whatever it asks for', async (t) => {
  const shop = await aFullList(t, service)
  const named = codes.slice(0, 1000).map((code) => ({ code }))
  const read = (last: object) =>
    shop.post(path, { price_list_name: 'L', payload: [...named, last] })
  const writer = new pg.Client({ connectionString: service.url })
  await writer.connect()
  t.teardown(() => writer.end())
  for (const isKnown of [false, true]) {
    await writer.query('begin; lock table price_list_rows in access exclusive mode')
    for (const last of [{ code: 'P00001' }, {}, { code: 'A', price_dimension: 'absent' }])
      t.equal((await read(last)).status, 503, `${JSON.stringify(last)}, list known: ${isKnown}`)
    await writer.query('rollback')
    t.equal((await read({})).status, 201)
  }
})
