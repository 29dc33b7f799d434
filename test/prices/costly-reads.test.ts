import t, { type Test } from 'tap'
import { expectProblem } from '../helpers/faults.ts'
import { startTestService, type TestService } from '../helpers/service.ts'
import { addProducts, aFilledList, aList, aShopOf } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/prices/get_prices/'
const names = ['e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e6']

/** A list L of 30 products with seven extensions, of a service that reads 30 rows at most and so looks at 150. */
async function aWideShop(test: Test) {
  const service = await startTestService(test, { READ_ROWS_MAX: '30' })
  const extensions = names.map((name) => ({ name, type: 'integer' }))
  const products = Array.from({ length: 30 }, (_, index) => ({
    code: `P${index % 10}`,
    ...Object.fromEntries(names.map((name, at) => [name, (index >> at) % 2])),
  }))
  const shop = await aShopOf(test, service, { extensions }, products)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', products)
  return (payload: object[]) => shop.post(path, { price_list_name: 'L', payload })
}

/** Rows without a code that each name other columns, and match nothing. */
const shapes = (count: number) =>
  Array.from({ length: count }, (_, shape) =>
    Object.fromEntries(names.flatMap((name, at) => (((shape + 1) >> at) % 2 ? [[name, 7]] : []))),
  )

t.test('a read that would look through the list too often is refused before it runs', async (t) => {
  const read = await aWideShop(t)
  t.strictSame((await read(shapes(5))).body, [], 'the limit itself is allowed')
  for (const [count, visits] of [
    [6, 180],
    [60, 1800],
    [127, 3810],
  ] as const) {
    const refused = await read(shapes(count))
    expectProblem(t, refused, { status: 400, type: 'too-costly' })
    t.match(
      refused.body.detail,
      new RegExp(`more than 150 rows .* at ${visits} or more\\. Name codes`),
    )
  }
})

t.test('rows that name the same columns look through the list once', async (t) => {
  const read = await aWideShop(t)
  const rows = Array.from({ length: 2000 }, (_, index) => ({ e0: index + 7, e1: 1 }))
  t.strictSame((await read(rows)).body, [])
  t.equal((await read([{ e0: 1 }, ...rows.map((row) => ({ ...row, e2: 5 }))])).body.length, 15)
})

t.test('rows with a code look at the rows of that code, as often as it is named', async (t) => {
  const read = await aWideShop(t)
  const rows = (count: number) =>
    Array.from({ length: count }, (_, e0) => ({ code: 'P1', e0: e0 + 7 }))
  t.strictSame((await read(rows(50))).body, [])
  const refused = await read(rows(51))
  expectProblem(t, refused, { status: 400, type: 'too-costly' })
  t.match(refused.body.detail, /look at 153 or more\. Name the extensions of rows that have a code/)
})

t.test('an answer that would be too long is refused, and told how many rows fit', async (t) => {
  const service = await startTestService(t, { READ_LIMIT_MB: '1' })
  const codes = Array.from({ length: 2100 }, (_, index) => `P${index}`)
  const shop = await aShopOf(
    t,
    service,
    {},
    codes.map((code) => ({ code })),
  )
  await aList(shop, { name: 'L' })
  await addProducts(
    shop,
    'L',
    codes.map((code) => ({ code })),
  )
  const read = (body: object) => shop.post(path, { price_list_name: 'L', payload: [{}], ...body })
  t.equal((await read({})).body.length, 2100)
  const promotion = {
    kind: 'percentage',
    value: 1,
    valid_from: '2026-01-01',
    valid_to: '2099-01-01',
  }
  const promotions = Array.from({ length: 30 }, (_, index) => ({
    ...promotion,
    name: `Promotion ${index}`,
  }))
  await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions)
  const refused = await read({})
  expectProblem(t, refused, { status: 400, type: 'result-too-large' })
  t.match(
    refused.body.detail,
    /at most 1 MB, the 2100 rows of this read have about \d+\. Read about \d+ rows at a time/,
  )
  t.equal((await read({ payload: [{ promotion: 'Promotion 1' }] })).body.length, 2100)
  const few = codes.slice(0, 500).map((code) => ({ code }))
  t.equal((await read({ payload: few })).body.length, 500, 'what fits into memory is not bounded')
})

t.test('dynamic attributes count, too', async (t) => {
  const service = await startTestService(t, { READ_LIMIT_MB: '1' })
  const codes = Array.from({ length: 300 }, (_, index) => ({ code: `P${index}` }))
  const shop = await aShopOf(t, service, {}, codes)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', codes)
  const attribute = { dynamic_attribute_name: 'text', dynamic_attribute_value: 'x'.repeat(4000) }
  const payload = codes.map((key) => ({ ...key, ...attribute }))
  await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
    price_list_name: 'L',
    payload,
  })
  const read = (include: string[]) =>
    shop.post(path, { price_list_name: 'L', payload: [{}], include })
  expectProblem(t, await read(['dynamic_attributes']), { status: 400, type: 'result-too-large' })
  t.equal((await read(['base_price'])).body.length, 300)
})

/** Makes each row of the table take seconds to read. */
async function slowDown({ url }: TestService, table: string): Promise<void> {
  await select(
    url,
    `create policy slow on ${table} as restrictive for select using (pg_sleep(6) is not null)`,
  )
}

t.test(
  'a read that takes longer than five seconds is refused as too costly, never as 503',
  async (t) => {
    const service = await startTestService(t)
    const { shop } = await aFilledList(t, service, { countries: ['FR'] })
    await slowDown(service, 'price_list_rows')
    await slowDown(service, 'products')
    const reads = [
      shop.get('/api/v1/product_catalog/'),
      shop.post(path, { price_list_name: 'L', payload: [{}] }),
    ]
    for (const response of await Promise.all(reads)) {
      expectProblem(t, response, { status: 400, type: 'too-costly' })
      t.match(response.body.detail, /longer than 5 seconds\. Na/)
    }
  },
)

t.test('pages that take long hold up no prices, of the own account or of others', async (t) => {
  const service = await startTestService(t, { DATABASE_CONNECTIONS: '1' })
  const { shop } = await aFilledList(t, service, { countries: ['FR'] })
  await select(
    service.url,
    `create policy slow on products as restrictive for select using (pg_sleep(3) is not null)`,
  )
  const answered: string[] = []
  const list = shop.get('/api/v1/product_catalog/').then(() => answered.push('page'))
  const lists = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell lists' and state = 'active'`
  while ((await select(service.url, lists)).length === 0);
  const { body } = await shop.post(path, {
    price_list_name: 'L',
    payload: [{ code: 'A', country: 'FR' }],
  })
  answered.push('price')
  t.equal(body.length, 1)
  await list
  t.strictSame(answered, ['price', 'page'])
})
