import t, { type Test } from 'tap'
import { loadPath } from '../helpers/agreement.ts'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const path = '/api/v1/prices/get_prices/'

/** A moment so many days ago. */
const daysAgo = (days: number, time = '12:00:00Z') =>
  `${new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)}T${time}`

/** A list "L" with the rows A and B, A priced at 10, and how its position is read. */
async function aPosition(t: Test, options: object = {}, schema: object = {}) {
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'], ...options })
  const compete = (...entries: object[]) =>
    shop.post(
      '/api/v1/competitor_prices/bulk_create_or_update/',
      entries.map((entry) => ({ code: 'A', country: 'UK', ...entry })),
    )
  const sell = (...sales: object[]) =>
    shop.post(
      '/api/v1/sales_history/bulk_create_or_update',
      sales.map((sale, index) => ({
        transaction_id: String(index),
        code: 'A',
        extension: 'UK',
        quantity: '1',
        revenue: '5',
        transaction_date: daysAgo(0, '00:00:00Z'),
        ...sale,
      })),
    )
  const makeSchema = () =>
    shop.post('/api/v1/competitor_prices/schema/create_schema/', {
      attributes_config: ['code', 'country'],
      ...schema,
    })
  const read = (payload: object[] = [uk('A')], options: object = {}) =>
    shop.post(path, {
      price_list_name: 'L',
      include: ['competition', 'sales'],
      payload,
      ...options,
    })
  const position = async (options?: object, row: object = uk('A')) =>
    (await read([row], options)).body[0]
  return { shop, compete, sell, makeSchema, read, position }
}

const priced = { ...uk('A'), price: 10 }
const noSales = { transactions: 0, quantity: 0, revenue: 0, average_price: null, last_at: null }

t.test(
  'without a schema or entries there is no competition, without sales there are none',
  async (t) => {
    const { makeSchema, compete, position } = await aPosition(t)
    t.match(await position(), { competition: null, sales: noSales })
    await makeSchema()
    await compete({ code: 'B', competitor_name: 'N', competitor_price: 3 })
    t.match(await position(), { competition: null, sales: noSales })
  },
)

t.test('competitors are counted, and the price in force stands among them', async (t) => {
  const { shop, makeSchema, compete, position, read } = await aPosition(t)
  await setPrices(shop, 'L', [priced])
  await makeSchema()
  await compete(
    { competitor_name: 'Z', competitor_price: 9 },
    { competitor_name: 'Y', competitor_price: 9 },
    { competitor_name: 'X', competitor_price: 10 },
    { competitor_name: 'W', competitor_price: 12 },
  )
  const all = {
    count: 4,
    lowest: 9,
    lowest_name: 'Y',
    highest: 12,
    average: 10,
    median: 9.5,
    rank: 3,
    gap_percent: 11.111111,
  }
  t.strictSame((await position()).competition, all)
  t.strictSame((await read([{}])).body[0].competition, all, 'with a wildcard')
  t.match((await position({ competition: { names: ['X', 'W', 'V'] } })).competition, {
    ...{ count: 2, lowest: 10, lowest_name: 'X', median: 11, rank: 1, gap_percent: 0 },
  })
  t.equal((await position({ competition: { names: ['V'] } })).competition, null)
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name: 'P', kind: 'amount', value: 7, valid_from: '2026-01-01', valid_to: '2999-12-31' },
  ])
  t.match((await position()).competition, { rank: 1, gap_percent: -66.666667 })
})

t.test(
  'figures round half up to 6 decimals; above a lowest price of 0 there is no gap',
  async (t) => {
    const { shop, makeSchema, compete, position } = await aPosition(t)
    await setPrices(shop, 'L', [priced])
    await makeSchema()
    await compete(
      { competitor_name: 'X', competitor_price: 0 },
      { competitor_name: 'Y', competitor_price: 0.000001 },
    )
    t.match((await position()).competition, { average: 0.000001, median: 0.000001, rank: 3 })
    t.equal((await position()).competition.gap_percent, null)
  },
)

t.test('figures round once, from the exact value', async (t) => {
  const { shop, makeSchema, compete, sell, position } = await aPosition(t)
  await makeSchema()
  // 0.000000495 above: 17 digits, of which a division keeps 16.
  const competitors = Array.from({ length: 101 }, (_, index) => ({
    competitor_name: `${index}`,
    competitor_price: index < 50 ? 500_000_000.000001 : 500_000_000,
  }))
  await compete(...competitors)
  t.equal((await position()).competition.average, 500_000_000)
  await sell({ quantity: '201', revenue: '100500000004' })
  t.equal((await position()).sales.average_price, 500_000_000.0199)
  await sell({ quantity: '8', revenue: '-0.000004' })
  t.equal((await position()).sales.average_price, 0, 'a negative half rounds up')
  await sell({ quantity: '-8', revenue: '0.000012' })
  t.equal((await position()).sales.average_price, -0.000001)
  await compete({ competitor_name: 'least', competitor_price: 8 })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 7.999999 }])
  t.equal((await position()).competition.gap_percent, -0.000012, 'so does that of a gap')
})

t.test('a row without a price has no rank and gap, unless one is agreed', async (t) => {
  const { shop, makeSchema, compete, position } = await aPosition(t)
  await makeSchema()
  await compete({ competitor_name: 'X', competitor_price: 4 })
  t.match((await position()).competition, { count: 1, rank: null, gap_percent: null })
  await shop.post(loadPath, [
    {
      ...{ name: 'a', client_code: 'C', price_list_code: 'L' },
      ...{ price_line: { code: 'A' }, prices: { price: 5 } },
    },
  ])
  t.match((await position({ client_code: 'C' })).competition, { rank: 2, gap_percent: 25 })
})

t.test('entries that are too old do not count, by the UTC day', async (t) => {
  const { makeSchema, compete, position } = await aPosition(t)
  await makeSchema()
  await compete(
    { competitor_name: 'X', competitor_price: 4, latest_update: daysAgo(30, '00:00:00Z') },
    { competitor_name: 'Y', competitor_price: 3, latest_update: daysAgo(31, '23:59:59Z') },
  )
  t.match((await position()).competition, { count: 1, lowest_name: 'X' })
  t.match((await position({ competition: { max_age_days: 31 } })).competition, { count: 2 })
  t.equal((await position({ competition: { max_age_days: 29 } })).competition, null)
})

t.test('a schema may name attributes only', async (t) => {
  const schema = { attributes_config: ['description'] }
  const { shop, makeSchema, position } = await aPosition(t, {}, schema)
  await makeSchema()
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { description: 'about A', competitor_name: 'X', competitor_price: 4 },
  ])
  t.match((await position()).competition, { count: 1, lowest: 4 })
  t.equal((await position({}, uk('B'))).competition, null)
})

t.test('numbers are compared as the catalog writes them', async (t) => {
  const shop = await aShopOf(
    t,
    service,
    {
      attributes: [{ name: 'size', type: 'number' }],
      extensions: [{ name: 'lot', type: 'integer' }],
    },
    [{ code: 'A', lot: 1, size: 1.5 }],
  )
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', lot: 1 }])
  const attributes_config = ['size', 'lot']
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config })
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { size: '1.50', lot: '1', competitor_name: 'X', competitor_price: 4 },
  ])
  const body = { price_list_name: 'L', include: ['competition'], payload: [{}] }
  t.match((await shop.post(path, body)).body, [{ competition: { count: 1 } }])
})

t.test(
  'under a dated schema the day of the row counts; undated entries in lists without days',
  async (t) => {
    const { shop, makeSchema, compete, position } = await aPosition(
      t,
      { is_calendar: true },
      { is_dated: true },
    )
    await aList(shop, { name: 'M' })
    await addProducts(shop, 'M', [uk('A')])
    await makeSchema()
    await compete(
      { competitor_name: 'X', competitor_price: 4, departure_date: '2026-07-01' },
      { competitor_name: 'X', competitor_price: 5, departure_date: '2026-07-02' },
      { competitor_name: 'X', competitor_price: 6 },
    )
    const on = async (date: string) => (await position({}, { ...uk('A'), date })).competition
    t.match(await on('2026-07-02'), { count: 1, lowest: 5 })
    t.equal(await on('2026-07-03'), null)
    t.match((await position({ price_list_name: 'M' })).competition, { count: 1, lowest: 6 })
  },
)

t.test('an undated schema has the same entries on all days', async (t) => {
  const { makeSchema, compete, position } = await aPosition(t, { is_calendar: true })
  await makeSchema()
  await compete({ competitor_name: 'X', competitor_price: 4 })
  const row = { ...uk('A'), date: '2026-07-02' }
  t.match((await position({}, row)).competition, { count: 1 })
})

t.test('sales of the days up to the promotion date are summed', async (t) => {
  const { sell, position } = await aPosition(t)
  await sell(
    { quantity: '2', revenue: '10' },
    { quantity: '1.5', revenue: '3', transaction_date: daysAgo(29, '00:00:00Z') },
    { quantity: '100', transaction_date: daysAgo(30, '23:59:59Z') },
    { quantity: '100', transaction_date: undefined },
    { quantity: '100', code: 'B' },
    { quantity: '100', extension: 'FR' },
  )
  const last_at = daysAgo(0, '00:00:00Z')
  const all = { transactions: 2, quantity: 3.5, revenue: 13, average_price: 3.714286 }
  const { sales } = await position()
  t.match(sales, all)
  t.equal(Date.parse(sales.last_at), Date.parse(last_at))
  t.match((await position({ sales: { days: 31 } })).sales, { transactions: 3 })
  t.match((await position({ sales: { days: 1 } })).sales, { transactions: 1, average_price: 5 })
  const promotion_date = daysAgo(1).slice(0, 10)
  t.match((await position({ promotion_date })).sales, { transactions: 2 })
  t.match((await position({ promotion_date, sales: { days: 1 } })).sales, noSales)
})

t.test('returns take away; a quantity of 0 has no average price', async (t) => {
  const { sell, position } = await aPosition(t)
  await sell({}, { quantity: '-1', revenue: '-4' })
  const figures = { transactions: 2, quantity: 0, revenue: 1, average_price: null }
  t.match((await position()).sales, figures)
})

t.test('list and dimension are compared where the sale has them', async (t) => {
  const { sell, read } = await aPosition(t, { price_dimensions: ['retail', 'trade'] })
  await sell(
    {},
    { price_list_name: 'L' },
    { price_list_name: 'M' },
    { price_dimension: 'retail' },
    { price_list_name: 'L', price_dimension: 'trade' },
    { currency: 'GBP' },
  )
  const rows = ['retail', 'trade'].map((price_dimension) => ({ ...uk('A'), price_dimension }))
  const { body } = await read(rows)
  t.match(body, [{ sales: { transactions: 4 } }, { sales: { transactions: 4 } }])
  t.equal(body[0].sales.average_price, 5)
})

t.test('sales in another currency than the list do not count', async (t) => {
  const { sell, position } = await aPosition(t, { currency: 'EUR' })
  await sell({ currency: 'EUR' }, { currency: 'USD' }, {})
  t.match((await position()).sales, { transactions: 2 })
})

t.test('without extensions any counts, several are a JSON array of their texts', async (t) => {
  const sales = (shop: Awaited<ReturnType<typeof aShopOf>>, ...extensions: string[]) =>
    shop.post(
      '/api/v1/sales_history/bulk_create_or_update',
      extensions.map((extension, index) => ({
        ...{ transaction_id: String(index), code: 'A', extension },
        ...{ quantity: '1', revenue: '1', transaction_date: daysAgo(0, '00:00:00Z') },
      })),
    )
  const transactions = async (shop: Awaited<ReturnType<typeof aShopOf>>) => {
    const body = { price_list_name: 'L', include: ['sales'], payload: [{}] }
    return (await shop.post(path, body)).body[0].sales.transactions
  }
  const none = await aShopOf(t, service, { extensions: [] }, [{ code: 'A' }])
  await aList(none, { name: 'L' })
  await addProducts(none, 'L', [{ code: 'A' }])
  await sales(none, '', 'UK')
  t.equal(await transactions(none), 2)
  const columns = [
    { name: 'country', type: 'string' },
    { name: 'lot', type: 'integer' },
  ]
  const product = { code: 'A', country: 'UK', lot: 7 }
  const two = await aShopOf(t, service, { extensions: columns }, [product])
  await aList(two, { name: 'L' })
  await addProducts(two, 'L', [product])
  await sales(two, '["UK","7"]', '["UK",7]', 'UK', '')
  t.equal(await transactions(two), 1)
})

t.test('faulty options are refused', async (t) => {
  const { read } = await aPosition(t)
  for (const options of [
    { competition: { max_age_days: 3651 } },
    { competition: { max_age_days: 0 } },
    { competition: { names: [] } },
    { competition: { names: [''] } },
    { competition: { age: 3 } },
    { sales: { days: 366 } },
    { sales: { days: 0 } },
    { sales: { days: 1.5 } },
    { sales: null },
    { include: ['sales'], competition: {} },
    { include: ['competition'], sales: {} },
    { include: ['sales'], as_of: 1 },
    { include: ['competition'], as_of: 1 },
  ]) {
    const answer = await read([uk('A')], options)
    expectProblem(t, answer, 400, 'invalid-request', JSON.stringify(options))
  }
  const unused = await read([uk('A')], { include: [], competition: {}, sales: {} })
  t.match(unused.body.errors, [{ pointer: '/competition' }, { pointer: '/sales' }])
})

t.test('at most 100,000 rows have a position', async (t) => {
  const { read } = await aPosition(t)
  const payload = Array.from({ length: 50_001 }, () => ({}))
  for (const field of ['competition', 'sales']) {
    const answer = await read(payload, { include: [field] })
    expectProblem(t, answer, 400, 'result-too-large', field)
  }
})
