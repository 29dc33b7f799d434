import t, { type Test } from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/prices/get_prices/'
const service = await sharedService()
const day = '2026-11-27'

/** A promotion on 27 November 2026 that takes 1 off everything. */
async function promote(
  shop: TestAccount,
  ...promotions: Record<string, unknown>[]
): Promise<number[]> {
  const body = promotions.map((overrides) => ({
    name: 'P',
    kind: 'amount',
    value: 1,
    valid_from: day,
    valid_to: day,
    ...overrides,
  }))
  const response = await shop.post('/api/v1/promotions/bulk_create_or_update/', body)
  if (response.status !== 200) throw new Error(JSON.stringify(response.body))
  return response.body.created
}

async function setPrices(
  shop: TestAccount,
  payload: object[],
  price_list_name = 'L',
): Promise<void> {
  const { status, body } = await shop.post('/api/v1/prices/bulk_update_prices/', {
    price_list_name,
    payload,
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
}

/** The output rows, on the day of the promotions unless `request` says otherwise. */
async function read(shop: TestAccount, payload: object[], request: object = {}) {
  const body = { price_list_name: 'L', promotion_date: day, payload, ...request }
  const response = await shop.post(path, body)
  if (response.status !== 201) throw new Error(JSON.stringify(response.body))
  return response.body as {
    code: string
    active_price: number
    promotions: { name: string; value: number }[]
  }[]
}

const brief = (rows: Awaited<ReturnType<typeof read>>) =>
  rows.map(({ code, active_price, promotions }) => [
    code,
    active_price,
    ...promotions.map(({ name, value }) => `${name} ${value}`),
  ])

/** A shop with the products A and B, UK only, at `price` in the list L. */
async function aPricedShop(t: Test, price = 10): Promise<TestAccount> {
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'] })
  const rows = ['A', 'B'].map((code) => ({ code, country: 'UK' }))
  await setPrices(
    shop,
    rows.map((row) => ({ ...row, price })),
  )
  return shop
}

const a = { code: 'A', country: 'UK' }

t.test('each kind gives its price, exactly, and the lowest price is in force', async (t) => {
  const cases: [string, number, number, number, number][] = [
    ['percentage', 20, 2.55, 2.04, 2.04],
    ['percentage', 33.333333, 19.99, 13.326667, 13.326667],
    ['percentage', 0, 19.99, 19.99, 19.99],
    ['percentage', 100, 19.99, 0, 0],
    ['amount', 0.1, 0.3, 0.2, 0.2],
    ['amount', 20, 19.99, 0, 0],
    ['fixed_price', 7.77, 19.99, 7.77, 7.77],
    ['fixed_price', 30, 19.99, 30, 19.99],
    ['fixed_price', 0, 19.99, 0, 0],
  ]
  const shop = await aPricedShop(t)
  for (const [kind, value, price, promoted, active] of cases) {
    await setPrices(shop, [{ ...a, price }])
    await promote(shop, { kind, value })
    const [row] = await read(shop, [a], { include: ['base_price'] })
    t.match(
      row,
      { active_price: active, base_price: price, promotions: [{ name: 'P', value: promoted }] },
      `${price} with ${kind} ${value}`,
    )
    t.equal(row?.promotions.length, 1)
  }
})

t.test('a price of 15 digits keeps them all', async (t) => {
  const shop = await aPricedShop(t, 123456789.123456)
  await promote(shop, { kind: 'amount', value: 0.000001 })
  t.strictSame(brief(await read(shop, [a])), [['A', 123456789.123455, 'P 123456789.123455']])
  await setPrices(shop, [{ ...a, price: 999999999999999 }])
  await promote(shop, { kind: 'percentage', value: 33.333333 })
  const nearest = Number('666666669999999.333333')
  t.strictSame(brief(await read(shop, [a])), [['A', nearest, `P ${nearest}`]])
})

t.test('a promotion is valid from its first to its last day', async (t) => {
  const shop = await aPricedShop(t)
  await promote(shop, { valid_from: '2024-02-28', valid_to: '2024-03-01' })
  const on = async (promotion_date: string) =>
    (await read(shop, [a], { promotion_date }))[0]?.active_price
  t.equal(await on('2024-02-27'), 10)
  t.equal(await on('2024-02-28'), 9)
  t.equal(await on('2024-02-29'), 9)
  t.equal(await on('2024-03-01'), 9)
  t.equal(await on('2024-03-02'), 10)
})

t.test('without a promotion_date the day is today', async (t) => {
  const shop = await aPricedShop(t)
  const around = (days: number) =>
    new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  await promote(
    shop,
    // Both days, lest midnight passes in between.
    { name: 'now', valid_from: around(0), valid_to: around(1) },
    { name: 'past', valid_from: '2020-01-01', valid_to: around(-1) },
    { name: 'future', valid_from: around(2), valid_to: '2999-12-31' },
  )
  t.strictSame(brief(await read(shop, [a], { promotion_date: undefined })), [['A', 9, 'now 9']])
})

t.test(
  'overlapping promotions do not add up: all are listed by name, the lowest is in force',
  async (t) => {
    const shop = await aPricedShop(t)
    await promote(
      shop,
      { name: 'b', kind: 'percentage', value: 50 },
      { name: 'a', kind: 'fixed_price', value: 12 },
      { name: 'ä', kind: 'amount', value: 3 },
      { name: 'over', valid_from: '2026-11-01', valid_to: '2026-11-26' },
    )
    await promote(shop, { name: 'Z', kind: 'amount', value: 3 })
    t.strictSame(brief(await read(shop, [a])), [['A', 5, 'Z 7', 'a 12', 'b 5', 'ä 7']])
  },
)

const costed = { ...a, purchase: 4, freight: 1 }
const margins = { include: ['margin', 'active_margin'] }

t.test(
  'margin is that of the published price, active_margin that of the price in force',
  async (t) => {
    const shop = await aPricedShop(t)
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costed])
    const [before] = await read(shop, [a], margins)
    t.match(before, { active_price: 10, margin: 50, active_margin: 50 })
    await promote(shop, { name: 'least', value: 2 }, { name: 'most', value: 4 })
    await promote(shop, { name: 'dearer', kind: 'fixed_price', value: 30 })
    const [lowest] = await read(shop, [a], margins)
    t.match(lowest, { active_price: 6, margin: 50, active_margin: 16.666667 })
    const only = ['least', 'most', 'dearer'].map((promotion) => ({ ...a, promotion }))
    t.match(await read(shop, only, margins), [
      { active_price: 8, margin: 50, active_margin: 37.5 },
      { active_price: 6, margin: 50, active_margin: 16.666667 },
      { active_price: 10, margin: 50, active_margin: 50 },
    ])
    const [later] = await read(shop, [a], { ...margins, promotion_date: '2026-11-28' })
    t.match(later, { active_price: 10, margin: 50, active_margin: 50 })
    const wild = await read(shop, [{ country: 'UK' }], { include: ['active_margin'] })
    t.match(wild, [{ active_margin: 16.666667 }, { active_margin: null }])
    t.notMatch(wild, [{ margin: 50 }])
  },
)

t.test(
  'a margin below the costs is negative, at a price in force of 0 there is none',
  async (t) => {
    const shop = await aPricedShop(t)
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costed])
    await promote(shop, { kind: 'fixed_price', value: 0.3 })
    t.match(await read(shop, [a], margins), [{ margin: 50, active_margin: -1566.666667 }])
    await promote(shop, { kind: 'percentage', value: 100 })
    t.match(await read(shop, [a], margins), [{ active_price: 0, margin: 50, active_margin: null }])
    await setPrices(shop, [{ ...a, price: 0 }])
    t.match(await read(shop, [a], margins), [{ margin: null, active_margin: null }])
  },
)

t.test('a margin is null where a cost of the formula is absent, and only there', async (t) => {
  const shop = await aPricedShop(t)
  const loaded = [{ ...a, purchase: 4 }]
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', loaded)
  await aList(shop, { name: 'own', margin_formula: '= (Price - "purchase") / 3' })
  await addProducts(shop, 'own', [a])
  await setPrices(shop, [{ ...a, price: 10 }], 'own')
  await promote(shop, { kind: 'percentage', value: 20 })
  t.match(await read(shop, [a], margins), [{ margin: null, active_margin: null }])
  const own = await read(shop, [a], { ...margins, price_list_name: 'own' })
  t.match(own, [{ margin: 2, active_margin: 1.333333 }])
})

t.test('a margin at the price in force is exact, its halves are rounded up', async (t) => {
  const shop = await aPricedShop(t)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costed])
  await aList(shop, { name: 'half', margin_formula: '= (Price - "purchase") * 0.5' })
  await addProducts(shop, 'half', [a])
  await setPrices(shop, [{ ...a, price: 4.3 }], 'half')
  await promote(shop, { value: 0.199999 })
  const request = { ...margins, price_list_name: 'half' }
  const [row] = await read(shop, [a], request)
  t.match(row, { active_price: 4.100001, margin: 0.15, active_margin: 0.050001 })
})

t.test('each price dimension has its margin at the price in force', async (t) => {
  const shop = await aPricedShop(t)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costed])
  await aList(shop, { name: 'two', price_dimensions: ['retail', 'wholesale'] })
  await addProducts(shop, 'two', [a])
  const prices = ['retail', 'wholesale'].map((price_dimension) => ({ ...a, price_dimension }))
  await setPrices(
    shop,
    prices.map((row, at) => ({ ...row, price: at === 0 ? 20 : 10 })),
    'two',
  )
  await promote(shop, { value: 10, price_dimensions: ['retail'] })
  t.match(await read(shop, prices, { ...margins, price_list_name: 'two' }), [
    { active_price: 10, margin: 75, active_margin: 50 },
    { active_price: 10, margin: 50, active_margin: 50 },
  ])
})

t.test('a day of a calendar list has the margin at its price in force', async (t) => {
  const shop = await aPricedShop(t)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costed])
  await aList(shop, { name: 'days', is_calendar: true })
  await addProducts(shop, 'days', [a])
  const [first, second, third] = ['2026-07-01', '2026-07-02', '2026-07-03'].map((date) => ({
    ...a,
    date,
  }))
  await setPrices(
    shop,
    [
      { ...first, price: 10 },
      { ...second, price: 20 },
    ],
    'days',
  )
  await promote(shop, { kind: 'percentage', value: 20 })
  const request = { ...margins, price_list_name: 'days' }
  t.match(await read(shop, [first, second, third] as object[], request), [
    { active_price: 8, margin: 50, active_margin: 37.5 },
    { active_price: 16, margin: 75, active_margin: 68.75 },
    { active_price: 0, margin: null, active_margin: null },
  ])
})

t.test('what a failover has lost is forgotten, whatever is changed next', async (t) => {
  const { shop } = await aFilledList(t, service)
  await setPrices(shop, [{ code: 'A', country: 'UK', price: 10 }])
  const version = `settings_version from accounts where id = ${shop.id}`
  const [{ settings_version: before }] = await select(service.url, `select ${version}`)
  await promote(shop, { name: 'lost', value: 5 })
  t.match(await read(shop, [{ code: 'A', country: 'UK' }]), [{ active_price: 5 }])
  await select(service.url, `delete from promotions where account_id = ${shop.id}`)
  await select(
    service.url,
    `update accounts set settings_version = ${before} where id = ${shop.id}`,
  )
  await promote(shop, { name: 'next', value: 1 })
  t.match(await read(shop, [{ code: 'A', country: 'UK' }]), [{ active_price: 9 }])
})

t.test('stored prices stay as they are', async (t) => {
  const shop = await aPricedShop(t)
  const [id] = await promote(shop, {})
  t.strictSame(brief(await read(shop, [a])), [['A', 9, 'P 9']])
  await shop.send('DELETE', `/api/v1/promotions/${id}`)
  t.strictSame(brief(await read(shop, [a])), [['A', 10]])
})

t.test('a promotion covers the price lists that it names, all when it names none', async (t) => {
  const shop = await aPricedShop(t)
  await aList(shop, { name: 'M' })
  await addProducts(shop, 'M', [a])
  await setPrices(shop, [{ ...a, price: 20 }], 'M')
  await promote(
    shop,
    { name: 'all' },
    { name: 'L', price_lists: ['L'], value: 2 },
    { name: 'both', price_lists: ['M', 'L'], value: 3 },
  )
  t.strictSame(brief(await read(shop, [a])), [['A', 7, 'L 8', 'all 9', 'both 7']])
  t.strictSame(brief(await read(shop, [a], { price_list_name: 'M' })), [
    ['A', 17, 'all 19', 'both 17'],
  ])
})

t.test('a list that is named by its id has the promotions that name it', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  await aList(shop, { name: 'M' })
  await setPrices(shop, [{ ...a, price: 10 }])
  await promote(
    shop,
    { name: 'L', price_lists: ['L'] },
    { name: 'M', price_lists: ['M'], value: 2 },
  )
  const byId = { price_list_name: undefined, price_list_id: id }
  t.strictSame(brief(await read(shop, [a], byId)), [['A', 9, 'L 9']])
})

t.test(
  'a list that is deleted leaves its promotions, and a new one of its name is covered',
  async (t) => {
    const shop = await aPricedShop(t)
    const { id } = (await shop.get('/api/v1/price_list/?name=L')).body.results[0]
    await promote(shop, { price_lists: ['L'] })
    await shop.send('DELETE', `/api/v1/price_list/${id}`)
    t.match((await shop.get('/api/v1/promotions/')).body.results, [{ price_lists: ['L'] }])
    await aList(shop, { name: 'M' })
    await addProducts(shop, 'M', [a])
    t.strictSame(brief(await read(shop, [a], { price_list_name: 'M' })), [['A', 0]])
    await aList(shop, { name: 'L' })
    await addProducts(shop, 'L', [a])
    await setPrices(shop, [{ ...a, price: 4 }])
    t.strictSame(brief(await read(shop, [a])), [['A', 3, 'P 3']])
  },
)

t.test('filters on code and extensions: all keys must match, any value will do', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C'], countries: ['UK', 'FR'] })
  await aList(shop, { name: 'L' })
  const rows = ['A', 'B', 'C'].flatMap((code) => ['FR', 'UK'].map((country) => ({ code, country })))
  await addProducts(shop, 'L', rows)
  await setPrices(
    shop,
    rows.map((row) => ({ ...row, price: 10 })),
  )
  await promote(
    shop,
    { name: 'codes', product_filters: { code: ['A', 'C', 'none'] } },
    { name: 'french A', product_filters: { code: ['A'], country: ['FR'] } },
    { name: 'nothing', product_filters: { country: [] } },
    { name: 'everything', product_filters: {} },
  )
  t.strictSame(
    (await read(shop, [{}])).map(({ code, promotions }) => [
      code,
      ...promotions.map(({ name }) => name),
    ]),
    [
      ['A', 'codes', 'everything', 'french A'],
      ['A', 'codes', 'everything'],
      ['B', 'everything'],
      ['B', 'everything'],
      ['C', 'codes', 'everything'],
      ['C', 'codes', 'everything'],
    ],
  )
})

t.test('filter values are of their columns type, in attributes as in extensions', async (t) => {
  const types = ['string', 'integer', 'number', 'boolean', 'date'] as const
  const values = {
    string: ['1', 'true', '1.0'],
    integer: [1, -2, 0],
    number: [1, 0.1, 1.5],
    boolean: [true, false, true],
    date: ['2024-02-29', '2026-01-01', '0001-01-01'],
  }
  const shop = await service.newAccount(t)
  await shop.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: types.map((type) => ({ name: `a ${type}`, type })),
    extensions: types.map((type) => ({ name: `e ${type}`, type })),
  })
  const products = [0, 1, 2].map((place) => ({
    code: `P${place}`,
    ...Object.fromEntries(
      types.flatMap((type) => [
        [`a ${type}`, values[type][place]],
        [`e ${type}`, values[type][place]],
      ]),
    ),
  }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', products)
  await aList(shop, { name: 'L' })
  const keys = products.map((product) =>
    Object.fromEntries(Object.entries(product).filter(([name]) => !name.startsWith('a '))),
  )
  await addProducts(shop, 'L', keys)
  await setPrices(
    shop,
    keys.map((key) => ({ ...key, price: 10 })),
  )
  for (const group of ['a', 'e']) {
    for (const type of types) {
      for (const place of [0, 1, 2]) {
        const value = values[type][place]
        await promote(shop, { product_filters: { [`${group} ${type}`]: [value] } })
        const covered = (await read(shop, [{}])).filter(({ promotions }) => promotions.length > 0)
        const expected = [0, 1, 2].filter((other) => values[type][other] === value)
        t.strictSame(
          covered.map(({ code }) => code),
          expected.map((other) => `P${other}`),
          `${group} ${type} ${value}`,
        )
      }
    }
  }
  await promote(shop, { product_filters: { 'a number': [1.0, 0.1], 'e boolean': [false] } })
  t.strictSame(
    brief(await read(shop, [{}])).map((row) => row.length),
    [2, 3, 2],
  )
})

t.test('a column whose values a promotion names keeps its type', async (t) => {
  const shop = await service.newAccount(t)
  const declare = (type: string) =>
    shop.post('/api/v1/product_catalog/schema/create_schema/', {
      extensions: [{ name: 'x', type }],
    })
  await declare('string')
  await promote(shop, { product_filters: { x: ['5'] } })
  const { status, body } = await declare('integer')
  t.equal(status, 409)
  t.match(body, { type: 'schema-in-use' })
})

t.test(
  'a product without the attribute is not covered, also when it was appended later',
  async (t) => {
    const shop = await aPricedShop(t)
    await shop.post('/api/v1/product_catalog/schema/create_schema/', {
      attributes: [
        { name: 'description', type: 'string' },
        { name: 'season', type: 'string' },
      ],
      extensions: [{ name: 'country', type: 'string' }],
      costs: [{ name: 'purchase' }, { name: 'freight' }],
    })
    await promote(shop, { product_filters: { season: ['winter'] } })
    const both = [a, { code: 'B', country: 'UK' }]
    t.strictSame(brief(await read(shop, both)), [
      ['A', 10],
      ['B', 10],
    ])
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...a, season: 'winter' }])
    t.strictSame(brief(await read(shop, both)), [
      ['A', 9, 'P 9'],
      ['B', 10],
    ])
  },
)

t.test(
  'a promotion covers the price dimensions that it names, all when it names none',
  async (t) => {
    const { shop } = await aFilledList(t, service, { price_dimensions: ['retail', 'constructor'] })
    const rows = ['retail', 'constructor'].map((price_dimension) => ({ ...a, price_dimension }))
    await setPrices(
      shop,
      rows.map((row) => ({ ...row, price: 10 })),
    )
    await promote(
      shop,
      { name: 'all' },
      { name: 'c', value: 2, price_dimensions: ['constructor', 'staff'] },
      { name: 's', value: 3, price_dimensions: ['staff', 'Retail'] },
    )
    t.strictSame(brief(await read(shop, rows)), [
      ['A', 9, 'all 9'],
      ['A', 8, 'all 9', 'c 8'],
    ])
  },
)

t.test(
  'the only dimension of a list is covered by its name, whether the row names it or not',
  async (t) => {
    const shop = await aPricedShop(t)
    await promote(
      shop,
      { price_dimensions: ['price'] },
      { name: 'Q', price_dimensions: ['retail'] },
    )
    t.strictSame(brief(await read(shop, [a, { ...a, price_dimension: 'price' }])), [
      ['A', 9, 'P 9'],
      ['A', 9, 'P 9'],
    ])
  },
)

t.test(
  'in a calendar list the promotion day is promotion_date, not the day of the price',
  async (t) => {
    const { shop } = await aFilledList(t, service, { is_calendar: true })
    await setPrices(shop, [
      { ...a, date: '2026-07-01', price: 10 },
      { ...a, date: day, price: 20 },
    ])
    await promote(shop, { kind: 'percentage', value: 10 })
    const dates = [
      { ...a, date: '2026-07-01' },
      { ...a, date: day },
      { ...a, date: '2026-07-02' },
    ]
    t.strictSame(brief(await read(shop, dates)), [
      ['A', 9, 'P 9'],
      ['A', 18, 'P 18'],
      ['A', 0, 'P 0'],
    ])
    t.strictSame(brief(await read(shop, dates, { promotion_date: '2026-07-01' })), [
      ['A', 10],
      ['A', 20],
      ['A', 0],
    ])
  },
)

t.test('a wildcard row gives each of its output rows its own promotions', async (t) => {
  const shop = await aPricedShop(t)
  await promote(shop, { product_filters: { description: ['about B'] } })
  const expected = [
    ['A', 10],
    ['B', 9, 'P 9'],
  ]
  for (const wildcard of [{}, { country: 'UK' }])
    t.strictSame(brief(await read(shop, [wildcard])), expected)
  t.strictSame(brief(await read(shop, [{ attributes: { description: 'about B' } }])), [
    ['B', 9, 'P 9'],
  ])
  t.strictSame(brief(await read(shop, [{ code: 'B' }, { code: 'A' }])), expected.toReversed())
})

t.test('a row that names a promotion is looked at under that one alone', async (t) => {
  const shop = await aPricedShop(t)
  await aList(shop, { name: 'M' })
  await promote(
    shop,
    { name: 'half', kind: 'percentage', value: 50 },
    { name: 'only B', product_filters: { code: ['B'] } },
    { name: 'other list', price_lists: ['M'] },
    { name: 'tomorrow', valid_from: '2026-11-28', valid_to: '2026-11-28' },
    { name: 'P' },
  )
  const named = (promotion: string) => ({ ...a, promotion })
  const rows = ['P', 'half', 'only B', 'other list', 'tomorrow'].map(named)
  const [p, half, ...none] = brief(await read(shop, rows))
  t.strictSame(p, ['A', 9, 'P 9'])
  t.strictSame(half, ['A', 5, 'half 5'])
  t.strictSame(none, [
    ['A', 10],
    ['A', 10],
    ['A', 10],
  ])
  t.strictSame(brief(await read(shop, [named('P'), a])), [
    ['A', 9, 'P 9'],
    ['A', 5, 'P 9', 'half 5'],
  ])
  t.match(await read(shop, [named('P')]), [{ promotion: 'P', code: 'A', country: 'UK' }])
})

t.test('a promotion that does not exist is a row error', async (t) => {
  const [shop, other] = [await aPricedShop(t), await aPricedShop(t)]
  await promote(shop, {})
  await promote(other, { name: 'theirs' })
  const payload = [
    { ...a, promotion: 'P' },
    { ...a, promotion: 'p' },
    { code: 'absent', promotion: 'none' },
    { ...a, promotion: 'theirs' },
    { ...a, colour: 'red', promotion: 'P' },
  ]
  const { status, body } = await shop.post(path, {
    price_list_name: 'L',
    promotion_date: day,
    payload,
  })
  t.equal(status, 400)
  t.strictSame(
    body.errors.map(({ pointer, row, code }: Record<string, unknown>) => [pointer, row, code]),
    [
      ['/payload/1/promotion', 1, 'unknown_promotion'],
      ['/payload/2/promotion', 2, 'unknown_promotion'],
      ['/payload/3/promotion', 3, 'unknown_promotion'],
      ['/payload/4/colour', 4, 'unknown_key'],
    ],
  )
})

t.test('a promotion or a day of the wrong shape is refused', async (t) => {
  const shop = await aPricedShop(t)
  const cases: [object, string, string][] = [
    [{ payload: [{ ...a, promotion: '' }] }, '/payload/0/promotion', 'length'],
    [{ payload: [{ ...a, promotion: null }] }, '/payload/0/promotion', 'type'],
    [{ payload: [{ ...a, promotion: 1 }] }, '/payload/0/promotion', 'type'],
    [{ promotion_date: '2026-02-29', payload: [a] }, '/promotion_date', 'format'],
    [{ promotion_date: 'today', payload: [a] }, '/promotion_date', 'format'],
  ]
  for (const [request, pointer, code] of cases) {
    const { status, body } = await shop.post(path, { price_list_name: 'L', ...request })
    t.equal(status, 400)
    t.match(body.errors, [{ pointer, code }])
    t.equal(body.errors.length, 1)
  }
})

t.test('the promotions of another account do not count', async (t) => {
  const [shop, other] = [await aPricedShop(t), await aPricedShop(t)]
  await promote(other, {})
  t.strictSame(brief(await read(shop, [a])), [['A', 10]])
})

t.test('a thousand promotions on many rows give what each of them gives', async (t) => {
  const codes = Array.from({ length: 90 }, (_, index) => `P${index}`)
  const { shop } = await aFilledList(t, service, { codes })
  const rows = codes.map((code) => ({ code, country: 'UK' }))
  await setPrices(
    shop,
    rows.map((row, index) => ({ ...row, price: 100 + index })),
  )
  const promotions = Array.from({ length: 1000 }, (_, index) => ({
    name: `N${String(index).padStart(4, '0')}`,
    value: (index % 50) + 1,
    product_filters: {
      code: [`P${index % 90}`, `P${(index * 7) % 90}`],
      country: [index % 3 ? 'UK' : 'FR'],
    },
  }))
  await promote(shop, ...promotions)
  const expected = codes.map((code, index) => {
    const covering = promotions.filter(
      ({ product_filters: filters }) => filters.code.includes(code) && filters.country[0] === 'UK',
    )
    const values = covering.map(({ name, value }) => `${name} ${100 + index - value}`)
    return [code, 100 + index - Math.max(0, ...covering.map(({ value }) => value)), ...values]
  })
  t.strictSame(brief(await read(shop, rows)), expected)
})
