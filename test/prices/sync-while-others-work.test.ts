import t from 'tap'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'
import { codes, pricesPath, type Row, rowsOf, sync, upsertPath } from '../helpers/sync.ts'

const service = await sharedService()
/** Accepts jobs and runs none. */
const idle = await startTestService(t, { ROLE: 'api' })

t.test('readers see the list before or after a sync, never between', async (t) => {
  for (const size of [40, 400]) {
    const shop = await aShop(t, service, { codes: codes(0, size), countries: ['UK'] })
    const list = await aList(shop, { name: 'L', product_filters: { description: ['in'] } })
    const describe = (country: string, active: boolean) =>
      codes(0, country === 'UK' ? size : size / 2).map((code) => {
        return { code, country, active, description: 'in' }
      })
    await shop.post(upsertPath, [...describe('UK', true), ...describe('FR', false)])
    await settle(shop)
    let isDone = false
    const seen = new Set<string>()
    const read = async () => {
      while (!isDone) {
        const query = { price_list_name: 'L', payload: [{}] }
        const { body } = await shop.post('/api/v1/prices/get_prices/', query)
        const countries = new Set(body.map((row: Row) => row.country))
        seen.add(`${body.length} of ${[...countries]}`)
        const page = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body
        const shown = new Set(page.results.map((row: Row) => row.country))
        seen.add(`${page.results.length} of ${[...shown]}`)
        seen.add(`${page.count} of ${[...shown]}`)
      }
    }
    const readers = [read(), read()]
    for (const round of [1, 2, 3, 4, 5, 6]) {
      const isEven = round % 2 === 0
      await shop.post(upsertPath, [...describe('UK', isEven), ...describe('FR', !isEven)])
      await settle(shop)
    }
    isDone = true
    await Promise.all(readers)
    t.strictSame([...seen].sort(), [`${size / 2} of FR`, `${size} of UK`].sort())
  }
  async function settle(shop: TestAccount) {
    const { body } = await sync(shop)
    if (body.id) await shop.finished(body)
  }
})

t.test('a call waits while a job of the list is under way, else answers 503', async (t) => {
  const shop = await aShop(t, idle, { codes: codes(0, 101), countries: ['UK'] })
  await aList(shop, { name: 'L' })
  await aList(shop, { name: 'other', product_filters: { code: ['P0001'] } })
  const { body: job } = await sync(shop)
  await shop.post(upsertPath, [{ code: 'P0000', country: 'UK', active: false }])
  const { status, headers, body } = await sync(shop)
  t.equal(status, 503)
  t.equal(headers['retry-after'], '2')
  t.equal(body.type, 'unavailable')
  t.equal((await sync(shop, 'other')).status, 201, 'other lists do not wait')
  const waiting = sync(shop)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.equal((await waiting).body.added.length, 100, 'it goes on when the job has ended')
})

t.test('what changes a list waits for its jobs', async (t) => {
  const shop = await aShop(t, idle, { codes: codes(0, 101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const keys = codes(0, 101).map((code) => ({ code, country: 'UK' }))
  for (const payload of [keys.slice(0, 100), keys.slice(100)]) await addProducts(shop, 'L', payload)
  await setPrices(shop, 'L', [{ ...keys[50], price: 9 }])
  const planned = { price_list_name: 'L', payload: [{ ...keys[60], price: 9 }] }
  const { body: plan } = await shop.post(`${pricesPath}?plan=true`, planned)
  const set = (call: string, row: object) =>
    shop.post(`/api/v1/prices/${call}/`, {
      price_list_name: 'L',
      payload: [{ ...keys[0], ...row }],
    })
  const attribute = { dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
  const file = (call: string, text: string) =>
    shop.send('POST', `/api/v1/prices/${call}/?price_list_name=L`, text, {
      'content-type': 'text/csv',
    })
  const calls = [
    () => set('bulk_update_prices', { price: 9 }),
    () => set('bulk_update_dynamic_attributes', attribute),
    () => set('bulk_add_products', { code: 'P0001' }),
    () => file('bulk_update_prices', 'code,country,price\nP0000,UK,9'),
    () => file('bulk_add_products', 'code,country\nP0001,UK'),
    () => set('bulk_remove_products', { code: 'P0070' }),
    () => shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 }),
    () => shop.post(`/api/v1/plans/${plan.id}/apply/`, {}),
  ]
  await shop.post(upsertPath, [{ ...keys[0], active: false }])
  const { body: job } = await sync(shop)
  for (const answer of await Promise.all(calls.map((call) => call()))) {
    t.match(answer, { status: 503, body: { type: 'unavailable' } })
    t.equal(answer.headers['retry-after'], '2')
  }
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  for (const call of calls) {
    const { body: next } = await sync(shop)
    const waiting = call()
    await shop.post(`/api/v1/jobs/${next.id}/cancel/`, undefined)
    t.equal((await waiting).status, 201)
  }
})

t.test('syncs of one list at the same moment go one after the other', async (t) => {
  const shop = await aShop(t, service, { codes: codes(0, 50), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const answers = await Promise.all(Array.from({ length: 8 }, () => sync(shop)))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
  t.equal(answers.filter(({ body }) => body.added.length === 50).length, 1)
  t.equal(answers.filter(({ body }) => body.untouched.length === 50).length, 7)
  t.equal((await rowsOf(shop, list)).length, 50)
})
