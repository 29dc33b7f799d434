import t, { type Test } from 'tap'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../../helpers/shop.ts'

const service = await sharedService()
const dayMs = 86_400_000
const day = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10)

const schema = {
  attributes: [{ name: 'brand', type: 'string' }],
  extensions: [{ name: 'size', type: 'integer' }],
  costs: [{ name: 'purchase' }],
}
const products = [
  { code: 'A', size: 1, brand: 'acme', purchase: 4 },
  { code: 'A', size: 2, brand: 'acme', purchase: 4 },
  { code: 'B', size: 1, purchase: 4 },
]

/** A published list "L" of the products. */
async function aMarket(
  t: Test,
  { list = {}, columns = schema, rows = products as Record<string, unknown>[] } = {},
) {
  const shop = await aShopOf(t, service, columns, rows)
  await aList(shop, { name: 'L', ...list })
  await addProducts(
    shop,
    'L',
    rows.map(({ brand: _, purchase: __, ...key }) => key),
  )
  return shop
}

async function ok(shop: TestAccount, path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await shop.post(`/api/v1/${path}`, body)
  if (status >= 300) throw new Error(JSON.stringify(answer))
}

const entry = (overrides: object) => ({ competitor_name: 'R', competitor_price: 1, ...overrides })
const ofCompetitors = 'COMP_MIN + COMP_MAX + COMP_AVG + COMP_MEDIAN + COMP_COUNT'
const ofSales = 'SALES_QTY + SALES_REVENUE + SALES_AVG'

async function competitors(
  shop: TestAccount,
  attributes_config: string[],
  entries: object[],
  is_dated = false,
): Promise<void> {
  await ok(shop, 'competitor_prices/schema/create_schema/', { attributes_config, is_dated })
  await ok(shop, 'competitor_prices/bulk_create_or_update/', entries.map(entry))
}

let transactions = 0

async function sales(shop: TestAccount, given: object[]): Promise<void> {
  const sold = { extension: '1', quantity: '1', revenue: '1', transaction_date: day(0) }
  const numbered = given.map((one) => ({ transaction_id: `T${++transactions}`, ...sold, ...one }))
  await ok(shop, 'sales_history/bulk_create_or_update', numbered)
}

/** The inputs of each cell. */
async function inputs(shop: TestAccount, names: string, call: object = {}): Promise<object[]> {
  const request = { price_list_name: 'L', formula: `= ${names}`, ...call }
  const { body: plan } = await shop.post('/api/v1/prices/reprice/', request)
  const { body } = await shop.get(`/api/v1/plans/${plan.id}/rows/?limit=1000`)
  return body.results.map((row: { inputs: object }) => row.inputs)
}

/** As `inputs`, of one name. */
async function values(shop: TestAccount, name: string, call: object = {}): Promise<unknown[]> {
  return (await inputs(shop, name, call)).map((row) => (row as Record<string, unknown>)[name])
}

t.test('counts and sums are 0, the others null, where there is nothing', async (t) => {
  const shop = await aMarket(t)
  const none = { COMP_MIN: null, COMP_MAX: null, COMP_AVG: null, COMP_MEDIAN: null, COMP_COUNT: 0 }
  t.strictSame((await inputs(shop, ofCompetitors))[0], none, 'without a schema')
  await ok(shop, 'competitor_prices/schema/create_schema/', { attributes_config: ['code'] })
  t.strictSame((await inputs(shop, ofCompetitors))[0], none)
  t.strictSame((await inputs(shop, ofSales))[0], {
    SALES_QTY: 0,
    SALES_REVENUE: 0,
    SALES_AVG: null,
  })
})

t.test('entries count whose schema columns equal the values of the row', async (t) => {
  const shop = await aMarket(t)
  await competitors(
    shop,
    ['code', 'size', 'brand'],
    [
      { code: 'A', size: '1', brand: 'acme', competitor_name: 'R', competitor_price: 3 },
      { code: 'A', size: '1', brand: 'acme', competitor_name: 'S', competitor_price: 1 },
      { code: 'A', size: '1', brand: 'acme', competitor_name: 'T', competitor_price: 1.000001 },
      { code: 'A', size: '2', brand: 'other', competitor_name: 'T' },
      { code: 'B', size: '1', brand: 'acme', competitor_name: 'T' },
    ],
  )
  const [first, ...others] = await inputs(shop, ofCompetitors)
  t.strictSame(first, {
    COMP_MIN: 1,
    COMP_MAX: 3,
    COMP_AVG: 1.666667,
    COMP_MEDIAN: 1.000001,
    COMP_COUNT: 3,
  })
  t.match(others, [{ COMP_COUNT: 0 }, { COMP_COUNT: 0 }])
  t.strictSame(await values(shop, 'COMP_COUNT', { product_filters: { size: [1] } }), [3, 0])
})

t.test('the median of an even number is the mean of both, half up to 6 decimals', async (t) => {
  const shop = await aMarket(t)
  await competitors(
    shop,
    ['size'],
    [1, 9, 2.000001, 2].map((competitor_price, index) => {
      return { size: '1', competitor_name: `R${index}`, competitor_price }
    }),
  )
  t.strictSame(await values(shop, 'COMP_MEDIAN'), [2.000001, null, 2.000001])
})

t.test('the age counts by UTC day, names say which competitors count', async (t) => {
  const shop = await aMarket(t)
  await competitors(
    shop,
    ['code'],
    [
      { code: 'A', competitor_name: 'R', latest_update: `${day(30)}T00:00:00Z` },
      { code: 'A', competitor_name: 'S', latest_update: `${day(31)}T23:59:59Z` },
      { code: 'A', competitor_name: 'T', latest_update: day(1), competitor_price: 5 },
    ],
  )
  const counted = async (competition: object) =>
    (await values(shop, 'COMP_COUNT', { competition }))[0]
  t.equal(await counted({}), 2)
  t.equal(await counted({ max_age_days: 31 }), 3)
  t.equal(await counted({ max_age_days: 1 }), 1)
  t.equal(await counted({ names: ['R', 'S'] }), 1)
  t.equal(await counted({ names: ['S', 'T'], max_age_days: 3650 }), 2)
  const [lowest] = await values(shop, 'COMP_MIN', { competition: { names: ['T'] } })
  t.equal(lowest, 5)
})

t.test('a departure date is the day of the cell; lists without days have none', async (t) => {
  const shop = await aMarket(t, { list: { is_calendar: true } })
  await aList(shop, { name: 'plain' })
  await addProducts(shop, 'plain', [{ code: 'A', size: 1 }])
  await competitors(
    shop,
    ['code'],
    [
      { code: 'A', departure_date: '2026-03-01', competitor_price: 7 },
      { code: 'A', departure_date: '2026-03-02', competitor_price: 8 },
      { code: 'A', competitor_price: 9 },
    ],
    true,
  )
  const call = {
    dates: { from: '2026-02-28', to: '2026-03-02' },
    product_filters: { code: ['A'], size: [2] },
  }
  t.strictSame(await values(shop, 'COMP_MIN', call), [null, 7, 8])
  t.strictSame(await values(shop, 'COMP_MIN', { price_list_name: 'plain' }), [9])
})

t.test('entries of an undated schema count on every day', async (t) => {
  const shop = await aMarket(t, { list: { is_calendar: true } })
  await competitors(shop, ['code'], [{ code: 'A', competitor_price: 7 }])
  const dates = { from: '2026-02-28', to: '2026-03-01' }
  t.strictSame(await values(shop, 'COMP_MIN', { dates }), [7, 7, 7, 7, null, null])
})

t.test('sales count by day, list, dimension, currency and extension', async (t) => {
  const list = { currency: 'EUR', price_dimensions: ['retail', 'web'] }
  const shop = await aMarket(t, { list })
  const quantities = [
    { quantity: '1' },
    { quantity: '2', price_list_name: 'L', price_dimension: 'retail', currency: 'EUR' },
    { quantity: '4', price_list_name: 'M' },
    { quantity: '8', price_dimension: 'web' },
    { quantity: '16', currency: 'USD' },
    { quantity: '32', extension: '2' },
    { quantity: '64', extension: '1.0' },
    { quantity: '128', code: 'B' },
    { quantity: '256', transaction_date: day(29) },
    { quantity: '512', transaction_date: `${day(30)}T23:59:59.999999Z` },
    { quantity: '1024', transaction_date: `${day(0)}T23:59:59.999999Z` },
    { quantity: '2048', transaction_date: day(-1) },
    { quantity: '4096', transaction_date: undefined },
  ]
  await sales(
    shop,
    quantities.map((one) => ({ code: 'A', ...one })),
  )
  const [retail, web] = [1 + 2 + 256 + 1024, 1 + 8 + 256 + 1024]
  t.strictSame(await values(shop, 'SALES_QTY'), [retail, web, 32, 32, 128, 128])
  t.strictSame(await values(shop, 'SALES_QTY', { price_dimensions: ['web'] }), [web, 32, 128])
  const [longer] = await values(shop, 'SALES_QTY', { sales: { days: 31 } })
  t.equal(longer, retail + 512)
  const [today] = await values(shop, 'SALES_QTY', { sales: { days: 1 } })
  t.equal(today, 1 + 2 + 1024)
  const filtered = { product_filters: { code: ['B'] } }
  t.strictSame(await values(shop, 'SALES_QTY', filtered), [128, 128])
})

t.test('a list without a currency compares none; averages are revenue by quantity', async (t) => {
  const shop = await aMarket(t)
  await sales(shop, [
    { code: 'A', quantity: '2', revenue: '10', currency: 'USD' },
    { code: 'A', quantity: '1', revenue: '0.000001', currency: 'EUR' },
    { code: 'B', quantity: '-1', revenue: '-3' },
    { code: 'B', quantity: '1', revenue: '5' },
  ])
  t.match(await inputs(shop, ofSales), [
    { SALES_QTY: 3, SALES_REVENUE: 10.000001, SALES_AVG: 3.333334 },
    { SALES_QTY: 0, SALES_REVENUE: 0, SALES_AVG: null },
    { SALES_QTY: 0, SALES_REVENUE: 2, SALES_AVG: null },
  ])
})

t.test('averages round once, from the exact value', async (t) => {
  const shop = await aMarket(t)
  const entries = Array.from({ length: 101 }, (_, index) => ({
    ...{ code: 'A', competitor_name: `${index}` },
    competitor_price: index < 50 ? 500_000_000.000001 : 500_000_000,
  }))
  await competitors(shop, ['code'], entries)
  await sales(shop, [{ code: 'A', quantity: '201', revenue: '100500000004' }])
  const [row] = await inputs(shop, 'COMP_AVG + SALES_AVG')
  t.match(row, { COMP_AVG: 500_000_000, SALES_AVG: 500_000_000.0199 })
})

t.test('several extensions are the JSON array of their texts, none are any', async (t) => {
  const columns = {
    ...schema,
    extensions: [
      { name: 'country', type: 'string' },
      { name: 'color', type: 'string' },
    ],
  }
  const two = await aMarket(t, { columns, rows: [{ code: 'A', country: 'UK', color: 'r"d' }] })
  const sold = [
    { code: 'A', extension: '["UK","r\\"d"]' },
    { code: 'A', extension: 'UK' },
    { code: 'A', extension: '["UK", "r\\"d"]' },
  ]
  await sales(two, sold)
  t.strictSame(await values(two, 'SALES_QTY'), [1])
  const none = await aMarket(t, { columns: { ...schema, extensions: [] }, rows: [{ code: 'A' }] })
  await sales(none, sold)
  t.strictSame(await values(none, 'SALES_QTY'), [3])
})

t.test('the example of the contract: below the cheapest, above the costs, at .99', async (t) => {
  const shop = await aMarket(t)
  await competitors(
    shop,
    ['code'],
    [
      { code: 'A', competitor_price: 9 },
      { code: 'B', competitor_price: 2 },
    ],
  )
  await setPrices(shop, 'L', [{ code: 'B', size: 1, price: 5.99 }])
  const formula = '= ENDING(MAX(COMP_MIN * 0.99, COSTS / 0.8), 0.99)'
  const { body: plan } = await shop.post('/api/v1/prices/reprice/', {
    price_list_name: 'L',
    formula,
  })
  const { body } = await shop.get(`/api/v1/plans/${plan.id}/rows/`)
  t.match(body.results, [
    { code: 'A', new: 8.99, inputs: { COMP_MIN: 9, COSTS: 4 } },
    { code: 'A', new: 8.99, inputs: { COMP_MIN: 9, COSTS: 4 } },
    { code: 'B', reason: 'unchanged', new: 5.99, inputs: { COMP_MIN: 2, COSTS: 4 } },
  ])
})

t.test('a cost that is named like another input has its name in quotes', async (t) => {
  const names = ['Price', 'COSTS', 'B', 'buy']
  const costs = names.map((name) => ({ name }))
  const product = {
    code: 'A',
    ...Object.fromEntries(names.map((name, index) => [name, index + 1])),
  }
  const shop = await aShopOf(t, service, { costs }, [product])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A' }])
  await setPrices(shop, 'L', [{ code: 'A', price: 10 }])
  t.strictSame(await inputs(shop, '"Price" + "COSTS" + "B" + "buy" + B + Price + COSTS'), [
    { '"Price"': 1, '"COSTS"': 2, '"B"': 3, buy: 4, B: 1, Price: 10, COSTS: 10 },
  ])
  const read = { price_list_name: 'L', payload: [{ code: 'A' }], include: ['explain'] }
  const [{ explain }] = (await shop.post('/api/v1/prices/get_prices/', read)).body
  t.match(explain.margin.inputs, { Price: 10, '"Price"': 1, buy: 4 })
})
