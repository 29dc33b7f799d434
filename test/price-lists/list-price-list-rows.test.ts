import t from 'tap'
import { expectAbsentLists } from '../helpers/absent-list.ts'
import { schemaPath, typedColumns } from '../helpers/catalog.ts'
import { astral, hostileTexts } from '../helpers/hostile.ts'
import { expectPaging } from '../helpers/paging.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const key = { code: 'A', country: 'UK' }
const rowsPath = (list: { id: number }) => `/api/v1/price_list/${list.id}/rows`
const setPrices = (shop: TestAccount, price_list_name: string, payload: object[]) =>
  shop.post('/api/v1/prices/bulk_update_prices/', { price_list_name, payload })

t.test('published rows have prices, margins per dimension and dynamic attributes', async (t) => {
  const schema = {
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'c' }, { name: 'd' }],
  }
  const account = await aShopOf(t, service, schema, [{ ...key, c: 1, d: 0.5 }])
  const list = await aList(account, { name: 'L', price_dimensions: ['x', 'y', 'z'] })
  const [pk] = await addProducts(account, 'L', [key])
  await setPrices(account, 'L', [
    { ...key, price_dimension: 'x', price: 3 },
    { ...key, price_dimension: 'y', price: 4.5 },
  ])
  const { status, body } = await account.get(rowsPath(list))
  t.equal(status, 200)
  const { extended_catalog_id } = (await account.get('/api/v1/product_catalog/')).body.results[0]
  t.strictSame(body, {
    count: 1,
    results: [
      {
        pk,
        extended_catalog_id,
        ...key,
        prices: { x: 3, y: 4.5, z: 0 },
        margin: { x: 50, y: 66.666667, z: null },
        dynamic_attributes: {},
      },
    ],
  })
})

t.test('draft rows have no prices', async (t) => {
  const { shop, list, pks } = await aFilledList(t, service)
  const [pk] = pks
  const { body } = await shop.get(`${rowsPath(list)}?version=draft`)
  const { extended_catalog_id } = (await shop.get(rowsPath(list))).body.results[0]
  t.strictSame(body, { count: 1, results: [{ pk, extended_catalog_id, ...key }] })
  t.strictSame(
    (await shop.get(`${rowsPath(list)}?version=published`)).body,
    (await shop.get(`${rowsPath(list)}/`)).body,
  )
})

t.test(
  'a margin is null while a cost of its formula is absent, and follows the costs',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const own = await aList(shop, { name: 'own', margin_formula: '=Price - "purchase" * 2' })
    const standard = await aList(shop, { name: 'standard' })
    for (const name of ['own', 'standard']) {
      await addProducts(shop, name, [key])
      await setPrices(shop, name, [{ ...key, price: 10 }])
    }
    const margins = () =>
      Promise.all(
        [own, standard].map(
          async (list) => (await shop.get(rowsPath(list))).body.results[0].margin.price,
        ),
      )
    t.strictSame(await margins(), [null, null])
    const load = (costs: object) =>
      shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...key, ...costs }])
    await load({ purchase: 3 })
    t.strictSame(await margins(), [4, null])
    await load({ freight: 0.005 })
    t.strictSame(await margins(), [4, 69.95])
  },
)

t.test('a cost appended later is absent from the formula of a list', async (t) => {
  const schema = { extensions: [{ name: 'country', type: 'string' }], costs: [{ name: 'c' }] }
  const account = await aShopOf(t, service, schema, [{ ...key, c: 1 }])
  const list = await aList(account, { name: 'L' })
  await addProducts(account, 'L', [key])
  await setPrices(account, 'L', [{ ...key, price: 2 }])
  await account.post(schemaPath, { ...schema, costs: [{ name: 'c' }, { name: 'd' }] })
  t.strictSame((await account.get(rowsPath(list))).body.results[0].margin, { price: 50 })
  const later = await aList(account, { name: 'M' })
  await addProducts(account, 'M', [key])
  await setPrices(account, 'M', [{ ...key, price: 2 }])
  t.strictSame((await account.get(rowsPath(later))).body.results[0].margin, { price: null })
})

t.test('pages in the order of ids', async (t) => {
  const codes = Array.from({ length: 30 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await addProducts(
    shop,
    'L',
    codes.reverse().map((code) => ({ code, country: 'UK' })),
  )
  await expectPaging(t, shop, rowsPath(list), 'pk')
  t.equal((await shop.get(`${rowsPath(list)}?version=draft`)).body.count, 30)
})

t.test('typed extensions stand beside code with their values', async (t) => {
  const row = {
    code: 'A',
    estring: 'x',
    einteger: -1,
    enumber: 0.5,
    eboolean: false,
    edate: '2024-02-29',
  }
  const account = await aShopOf(t, service, { extensions: typedColumns('e') }, [row])
  const list = await aList(account, { name: 'L' })
  await addProducts(account, 'L', [row])
  t.match((await account.get(rowsPath(list))).body.results, [row])
})

t.test('hostile codes, extensions and dimensions are texts from end to end', async (t) => {
  const texts = [...hostileTexts, astral(249)]
  const shop = await aShop(t, service, { codes: texts, countries: ['NULL', '{"a,b"}'] })
  const list = await aList(shop, { name: 'L', price_dimensions: [...texts, '__proto__'] })
  const keys = texts.map((code) => ({ code, country: '{"a,b"}' }))
  await addProducts(shop, 'L', keys)
  const cells = keys.map((row, index) => ({ ...row, price_dimension: row.code, price: index + 1 }))
  t.equal((await setPrices(shop, 'L', cells)).status, 201)
  const { results } = (await shop.get(`${rowsPath(list)}?limit=1000`)).body
  t.equal(results.length, texts.length)
  for (const { code, price } of cells) {
    const row = results.find((candidate: { code: string }) => candidate.code === code)
    t.strictSame([row.country, row.prices[code]], ['{"a,b"}', price], code)
    t.equal(Object.keys(row.prices).length, texts.length + 1)
  }
})

t.test('a foreign list is an absent one', async (t) => {
  await expectAbsentLists(t, service, (account, id) => account.get(`/api/v1/price_list/${id}/rows`))
})

const days = Array.from({ length: 365 }, (_, index) =>
  new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
)

t.test('priced picks rows by whether every cell has a price', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C'], countries: ['UK'] })
  const keys = ['A', 'B', 'C'].map((code) => ({ code, country: 'UK' }))
  const list = await aList(shop, { name: 'L', price_dimensions: ['x', 'y'] })
  await addProducts(shop, 'L', keys)
  await setPrices(shop, 'L', [
    { ...keys[0], price_dimension: 'x', price: 0 },
    { ...keys[0], price_dimension: 'y', price: 1 },
    { ...keys[1], price_dimension: 'x', price: 2 },
  ])
  const codes = async (query: string) => {
    const { count, results } = (await shop.get(`${rowsPath(list)}?${query}`)).body
    t.equal(count, results.length)
    return results.map(({ code }: { code: string }) => code)
  }
  t.strictSame(await codes('priced=true'), ['A'])
  t.strictSame(await codes('priced=false'), ['B', 'C'])
  t.strictSame(await codes('priced=true&as_of=1'), [])
  const file = await shop.send('GET', `${rowsPath(list)}?priced=true`, undefined, {
    accept: 'application/x-ndjson',
  })
  t.equal(file.body.split('\n').filter(Boolean).length, 2)
  for (const query of ['priced=yes', 'priced=true&version=draft'])
    t.equal((await shop.get(`${rowsPath(list)}?${query}`)).status, 400, query)
  const calendar = await aList(shop, { name: 'C', is_calendar: true })
  await addProducts(shop, 'C', keys.slice(0, 2))
  await setPrices(
    shop,
    'C',
    days.map((date) => ({ ...keys[0], date, price: 1 })),
  )
  await setPrices(shop, 'C', [{ ...keys[1], date: '2026-01-01', price: 1 }])
  const { results } = (await shop.get(`${rowsPath(calendar)}?priced=true`)).body
  t.strictSame(
    results.map(({ code }: { code: string }) => code),
    ['A'],
  )
})

t.test('a calendar row is priced with a price of every dimension on every day', async (t) => {
  const price_dimensions = ['x', 'y']
  const { shop, list } = await aFilledList(t, service, { is_calendar: true, price_dimensions })
  for (const [index, price_dimension] of price_dimensions.entries()) {
    const cells = days.map((date) => ({ ...key, date, price_dimension, price: 1 }))
    await setPrices(shop, 'L', cells)
    t.equal((await shop.get(`${rowsPath(list)}?priced=true`)).body.count, index)
  }
})
