import t, { type Test } from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

const service = await sharedService()
const uk = { code: 'A', country: 'UK' }
const fr = { code: 'A', country: 'FR' }

/** A shop with the rows UK and FR of A in the published list L. */
async function aPublishedShop(t: Test): Promise<TestAccount> {
  const { shop } = await aFilledList(t, service, { countries: ['UK', 'FR'] })
  return shop
}

/** One payload row for each of the names n<from> to n<to>. */
function named(from: number, to: number, of: object = uk, value: unknown = 1): object[] {
  return Array.from({ length: to - from + 1 }, (_, index) => ({
    ...of,
    dynamic_attribute_name: `n${from + index}`,
    dynamic_attribute_value: value,
  }))
}

const set = (shop: TestAccount, payload: object[]) =>
  shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', { price_list_name: 'L', payload })

async function namesOf(shop: TestAccount, row: object): Promise<Record<string, unknown>> {
  const { body } = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    include: ['dynamic_attributes'],
    payload: [row],
  })
  return body[0].dynamic_attributes
}

const tooMany = (position: number) => ({
  pointer: `/payload/${position}/dynamic_attribute_name`,
  row: position,
  field: 'dynamic_attribute_name',
  code: 'length',
  message: 'a row has at most 100 dynamic attributes',
})

t.test('a row takes 100 names in one call or in several', async (t) => {
  const shop = await aPublishedShop(t)
  t.equal((await set(shop, [...named(1, 100), ...named(1, 60, fr)])).status, 201)
  t.equal((await set(shop, named(61, 100, fr))).status, 201)
  t.equal(Object.keys(await namesOf(shop, uk)).length, 100)
  t.equal(Object.keys(await namesOf(shop, fr)).length, 100)
})

t.test('each payload row with a name beyond 100 is refused and nothing is written', async (t) => {
  const shop = await aPublishedShop(t)
  const { status, body } = await set(shop, [...named(1, 102), ...named(1, 1, fr)])
  t.equal(status, 400)
  t.strictSame(body.errors, [tooMany(100), tooMany(101)])
  t.strictSame([await namesOf(shop, uk), await namesOf(shop, fr)], [{}, {}])
})

t.test('a full row takes new values for its names, but no other name', async (t) => {
  const shop = await aPublishedShop(t)
  await set(shop, named(1, 100))
  t.equal((await set(shop, named(1, 100, uk, 2))).status, 201)
  const { status, body } = await set(shop, [
    ...named(101, 101, fr),
    ...named(101, 101),
    ...named(1, 2, uk, 3),
    ...named(102, 102, { code: 'A', country: 'DE' }),
  ])
  t.equal(status, 400)
  t.match(body.errors, [tooMany(1), { pointer: '/payload/4/code', code: 'row_not_in_list' }])
  t.equal(body.errors.length, 2)
  t.strictSame(new Set(Object.values(await namesOf(shop, uk))), new Set([2]))
  t.strictSame(await namesOf(shop, fr), {})
})

t.test('a row that joined a list again starts with no names', async (t) => {
  const shop = await aPublishedShop(t)
  await set(shop, named(1, 100))
  const products = '/api/v1/product_catalog/bulk_create_or_update/'
  for (const active of [false, true]) {
    await shop.post(products, [{ ...uk, active }])
    await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  }
  t.equal((await set(shop, named(101, 200))).status, 201)
})
