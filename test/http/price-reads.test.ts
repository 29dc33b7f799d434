import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../helpers/database.ts'
import { startServiceOn, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { openProxy } from '../helpers/silent-proxy.ts'
import { select } from '../helpers/sql.ts'

const readPath = '/api/v1/prices/get_prices/'
const read = { price_list_name: 'L', payload: [{ code: 'A', country: 'UK' }] }

/** A service that reads prices from `readUrl`, and a shop with one price. */
async function aShopThatReads(t: Test, readUrlOf: (url: string) => string | Promise<string>) {
  const database = await cloneDatabase()
  const settings = { DATABASE_READ_URL: await readUrlOf(database.url) }
  const service = await startServiceOn(t, database, settings)
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  const sessions = () =>
    select(
      service.url,
      `select from pg_stat_activity where datname = current_database() and application_name = 'pricewell replica'`,
    )
  return { shop, sessions }
}

const priceOf = async (shop: TestAccount) => {
  const { status, body } = await shop.post(readPath, read)
  return [status, body[0]?.active_price]
}

t.test('prices are read elsewhere, but not within a second of another call', async (t) => {
  const { shop, sessions } = await aShopThatReads(t, (url) => url)
  t.strictSame(await priceOf(shop), [201, 0])
  t.equal((await sessions()).length, 0)
  await sleep(1100)
  t.strictSame(await priceOf(shop), [201, 0])
  t.equal((await sessions()).length, 1)
})

t.test('prices are read from the first database if the other accepts no connection', async (t) => {
  const { shop } = await aShopThatReads(t, () => 'postgresql://nobody@127.0.0.1:1/nothing')
  await sleep(1100)
  t.strictSame(await priceOf(shop), [201, 0])
})

t.test(
  'a replica that falls silent keeps no reads waiting, and is read again when it speaks',
  async (t) => {
    let proxy: Awaited<ReturnType<typeof openProxy>> | undefined
    const { shop, sessions } = await aShopThatReads(t, async (url) => {
      proxy = await openProxy(url)
      return proxy.url
    })
    await sleep(1100)
    t.strictSame(await priceOf(shop), [201, 0])
    proxy?.silence()
    // The first read finds out that nothing comes; the others do not try.
    for (let count = 0; count < 20; count++) t.strictSame(await priceOf(shop), [201, 0])
    proxy?.speak()
    while ((await sessions()).length === 0) t.strictSame(await priceOf(shop), [201, 0])
    await proxy?.close()
  },
)

t.test('a list that the replica does not have yet is read from the first database', async (t) => {
  const behind = await cloneDatabase()
  t.teardown(() => behind.drop())
  const { shop } = await aShopThatReads(t, () => behind.url)
  await sleep(1100)
  t.strictSame(await priceOf(shop), [201, 0])
})
