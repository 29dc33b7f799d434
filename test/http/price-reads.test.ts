import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { databaseUrl } from '../../src/database/server.ts'
import {
  cloneDatabase,
  createTemplate,
  query,
  type TestDatabase,
  template,
} from '../helpers/database.ts'
import { captureLog } from '../helpers/log.ts'
import { startOwnPostgres } from '../helpers/own-postgres.ts'
import { startServiceOn, type TestAccount } from '../helpers/service.ts'
import { addProducts, aFilledList, aList, setPrices } from '../helpers/shop.ts'
import { openProxy } from '../helpers/silent-proxy.ts'
import { select } from '../helpers/sql.ts'
import { aStandby } from '../helpers/standby.ts'

const readPath = '/api/v1/prices/get_prices/'
const read = { price_list_name: 'L', payload: [{ code: 'A', country: 'UK' }] }

/** A service that reads prices from `readUrl`, and a shop with one price. */
async function aShopThatReads(
  t: Test,
  readUrlOf: (url: string) => string | Promise<string>,
  database?: TestDatabase,
) {
  const first = database ?? (await cloneDatabase())
  const settings = { DATABASE_READ_URL: await readUrlOf(first.url), LOG_LEVEL: 'warn' }
  const service = await startServiceOn(t, first, settings)
  const { shop } = await aFilledList(t, service)
  return { shop, database: first }
}

/** Whether the last statement of a connection to the replica read prices. */
async function isRead(replica: string): Promise<boolean> {
  const sessions = await select(
    replica,
    `select from pg_stat_activity where datname = current_database() and application_name = 'pricewell replica'
     and query not like '%pg_control_system%'`,
  )
  return sessions.length > 0
}

const priceOf = async (shop: TestAccount, name = 'L') => {
  const { status, body } = await shop.post(readPath, { ...read, price_list_name: name })
  return [status, body[0]?.active_price]
}

const priceBecomes = async (shop: TestAccount, price: number) => {
  while ((await priceOf(shop))[1] !== price) await sleep(50)
}

t.test('prices are read elsewhere, but not within a second of another call', async (t) => {
  const { shop, database } = await aShopThatReads(t, (url) => url)
  t.strictSame(await priceOf(shop), [201, 0])
  t.notOk(await isRead(database.url))
  while (!(await isRead(database.url))) t.strictSame(await priceOf(shop), [201, 0])
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
    const { shop, database } = await aShopThatReads(t, async (url) => {
      proxy = await openProxy(url)
      return proxy.url
    })
    while (!(await isRead(database.url))) t.strictSame(await priceOf(shop), [201, 0])
    proxy?.silence()
    // The first read finds out that nothing comes; the others do not try.
    for (let count = 0; count < 20; count++) t.strictSame(await priceOf(shop), [201, 0])
    proxy?.speak()
    while (!(await isRead(database.url))) t.strictSame(await priceOf(shop), [201, 0])
    await proxy?.close()
  },
)

t.test('a database that is no copy of the first is not read, and the log says so', async (t) => {
  const log = captureLog(t)
  const other = await cloneDatabase()
  t.teardown(() => other.drop())
  const { shop } = await aShopThatReads(t, () => other.url)
  await sleep(1100)
  t.strictSame(await priceOf(shop), [201, 0])
  const isNoCopy = /DATABASE_READ_URL is no copy of DATABASE_URL/
  while (!isNoCopy.test(log.text())) await sleep(20)
  t.notOk(await isRead(other.url))
})

t.test('a standby serves the reads until it is promoted', async (t) => {
  const { url } = await startOwnPostgres(t, 'primary')
  await createTemplate(url)
  const primary = databaseUrl(url, template)
  const standby = aStandby(t, primary)
  const { shop } = await aShopThatReads(t, () => standby.url, {
    name: template,
    url: primary,
    serverUrl: url,
    drop: async () => undefined,
  })
  await standby.start()
  await aList(shop, { name: 'New' })
  await addProducts(shop, 'New', [{ code: 'A', country: 'UK' }])
  await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 5 }])
  // The standby of this test never follows.
  await priceBecomes(shop, 0)
  t.strictSame(await priceOf(shop, 'New'), [201, 0], 'a list that it does not know yet')
  const asOf = await shop.post(readPath, { ...read, as_of: 2 })
  t.strictSame(
    [asOf.status, asOf.body[0]?.active_price],
    [201, 5],
    'a revision that it does not know yet',
  )
  const spring = { name: 'Spring', kind: 'fixed_price', value: 3, price_lists: ['L'] }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { ...spring, valid_from: '2026-01-01', valid_to: '2999-12-31' },
  ])
  await priceBecomes(shop, 0)
  const payload = [{ ...read.payload[0], promotion: 'Spring' }]
  const promoted = await shop.post(readPath, { ...read, payload })
  t.strictSame(
    [promoted.status, promoted.body[0]?.active_price],
    [201, 3],
    'a promotion that it does not know yet',
  )
  await query(standby.url, 'select pg_promote()')
  await priceBecomes(shop, 3)
  t.strictSame(await priceOf(shop), [201, 3], 'and from then on the first database')
})
