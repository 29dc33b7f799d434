import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { renameColumn } from '../helpers/catalog.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList, aShop } from '../helpers/shop.ts'
import { untilLockAwaited } from '../helpers/sql.ts'

const path = '/api/v1/promotions/bulk_create_or_update/'
const service = await sharedService()

function aPromotion(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const days = { valid_from: '2026-11-27', valid_to: '2026-11-30' }
  return { name: 'Black Friday', kind: 'percentage', value: 20, ...days, ...overrides }
}

async function stored(shop: TestAccount): Promise<Record<string, unknown>[]> {
  return (await shop.get('/api/v1/promotions/?limit=1000')).body.results
}

const aTypedShop = async (t: Parameters<typeof aShop>[0]) => {
  const shop = await service.newAccount(t)
  await shop.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [
      { name: 'colour', type: 'string' },
      { name: 'size', type: 'integer' },
      { name: 'a/b~c', type: 'boolean' },
    ],
    extensions: [{ name: 'since', type: 'date' }],
    costs: [{ name: 'purchase' }],
  })
  return shop
}

t.test('answers the ids of created and updated promotions, each in payload order', async (t) => {
  const shop = await service.newAccount(t)
  const first = await shop.post(path, [aPromotion({ name: 'b' }), aPromotion({ name: 'a' })])
  t.equal(first.status, 200)
  t.strictSame(first.body.updated, [])
  t.equal(first.body.created.length, 2)
  const [b, a] = first.body.created
  const names = ['z', 'b', 'm', 'a', 'c']
  const second = await shop.post(
    path,
    names.map((name) => aPromotion({ name, value: 5 })),
  )
  t.strictSame(second.body.updated, [b, a])
  const byName = new Map((await stored(shop)).map(({ name, id }) => [name, id]))
  t.strictSame(second.body.created, [byName.get('z'), byName.get('m'), byName.get('c')])
})

t.test('a promotion is read as it was written, what is left out stays absent', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L "1"' })
  await aList(shop, { name: "L'2\\" })
  const full = aPromotion({
    name: '"; drop table promotions; --',
    kind: 'amount',
    value: 0.000001,
    valid_from: '0001-01-01',
    valid_to: '9999-12-31',
    price_lists: ["L'2\\", 'L "1"'],
    product_filters: { country: ['UK'], code: ['A', 'B'], description: [] },
    price_dimensions: ['constructor', '{a,"b"}', 'NULL'],
  })
  const short = aPromotion({ name: ' ', kind: 'fixed_price', value: 0 })
  const { body } = await shop.post(path, [full, short])
  t.strictSame(
    await stored(shop),
    [
      { id: body.created[1], ...short },
      { id: body.created[0], ...full },
    ].sort((a, b) => a.id - b.id),
  )
})

t.test('the upsert replaces the whole promotion', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const full = aPromotion({
    price_lists: ['L'],
    product_filters: { code: ['A'] },
    price_dimensions: ['price'],
  })
  const { body } = await shop.post(path, [full])
  const [id] = body.created
  const short = aPromotion({ kind: 'fixed_price', value: 3.5, valid_to: '2026-12-01' })
  t.strictSame((await shop.post(path, [short])).body, { created: [], updated: [id] })
  t.strictSame(await stored(shop), [{ id, ...short }])
  t.strictSame((await shop.post(path, [short])).body, { created: [], updated: [id] })
})

t.test('an empty array does nothing, equal rows count once', async (t) => {
  const shop = await service.newAccount(t)
  t.strictSame((await shop.post(path, [])).body, { created: [], updated: [] })
  const { body } = await shop.post(path, [aPromotion(), aPromotion({ name: 'x' }), aPromotion()])
  t.equal(body.created.length, 2)
  t.equal((await stored(shop)).length, 2)
})

t.test('the limits themselves are allowed', async (t) => {
  const shop = await service.newAccount(t)
  const { status } = await shop.post(path, [
    aPromotion({ name: 'all off', value: 100 }),
    aPromotion({ name: 'nothing off', value: 0 }),
    aPromotion({ name: 'more than a percentage', kind: 'amount', value: 100.000001 }),
    aPromotion({ name: 'one day', valid_to: '2026-11-27' }),
    aPromotion({ name: 'leap day', valid_from: '2024-02-29' }),
    aPromotion({ name: '😀'.repeat(255) }),
    aPromotion({ name: 'all products', product_filters: {} }),
  ])
  t.equal(status, 200)
  t.strictSame(
    (await stored(shop)).find(({ name }) => name === 'all products')?.product_filters,
    {},
  )
})

t.test('a promotion may name 1,000 lists and 100 dimensions', async (t) => {
  const shop = await service.newAccount(t)
  const price_lists = numbered(1000)
  const days = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  await shop.post(
    '/api/v1/price_list/bulk_create/',
    price_lists.map((name) => ({ name, ...days })),
  )
  const promotion = aPromotion({ price_lists, price_dimensions: numbered(100) })
  t.equal((await shop.post(path, [promotion])).status, 200)
})

const numbered = (length: number) => Array.from({ length }, (_, index) => `${index}`)
const bad: [string, Record<string, unknown>, { field: string; code: string }[]][] = [
  ['no name', { name: undefined }, [{ field: 'name', code: 'required' }]],
  ['an empty name', { name: '' }, [{ field: 'name', code: 'length' }]],
  ['a name of 256 characters', { name: 'x'.repeat(256) }, [{ field: 'name', code: 'length' }]],
  ['a number as name', { name: 5 }, [{ field: 'name', code: 'type' }]],
  ['no kind', { kind: undefined }, [{ field: 'kind', code: 'required' }]],
  ['another kind', { kind: 'Percentage' }, [{ field: 'kind', code: 'not_allowed' }]],
  ['no value', { value: undefined }, [{ field: 'value', code: 'required' }]],
  ['null as value', { value: null }, [{ field: 'value', code: 'type' }]],
  ['a value in a string', { value: '20' }, [{ field: 'value', code: 'type' }]],
  ['a value below 0', { value: -0.01 }, [{ field: 'value', code: 'range' }]],
  ['a value of 7 decimals', { value: 0.1234567 }, [{ field: 'value', code: 'format' }]],
  ['a percentage over 100', { value: 100.000001 }, [{ field: 'value', code: 'range' }]],
  ['no valid_from', { valid_from: undefined }, [{ field: 'valid_from', code: 'required' }]],
  ['no valid_to', { valid_to: undefined }, [{ field: 'valid_to', code: 'required' }]],
  ['a day that is none', { valid_to: '2026-02-29' }, [{ field: 'valid_to', code: 'format' }]],
  [
    'a timestamp',
    { valid_from: '2026-11-27T00:00:00Z' },
    [{ field: 'valid_from', code: 'format' }],
  ],
  ['an end before the start', { valid_to: '2026-11-26' }, [{ field: 'valid_to', code: 'range' }]],
  ['no lists at all', { price_lists: [] }, [{ field: 'price_lists', code: 'length' }]],
  ['a list twice', { price_lists: ['L', 'L'] }, [{ field: 'price_lists', code: 'not_allowed' }]],
  ['1,001 lists', { price_lists: numbered(1001) }, [{ field: 'price_lists', code: 'length' }]],
  [
    '101 dimensions',
    { price_dimensions: numbered(101) },
    [{ field: 'price_dimensions', code: 'length' }],
  ],
  [
    'a dimension twice',
    { price_dimensions: ['a', 'a'] },
    [{ field: 'price_dimensions', code: 'not_allowed' }],
  ],
  ['one name for lists', { price_lists: 'L' }, [{ field: 'price_lists', code: 'type' }]],
  ['null for lists', { price_lists: null }, [{ field: 'price_lists', code: 'type' }]],
  [
    'lists that do not exist',
    { price_lists: ['L', 'l', 'L ', 'other'] },
    [
      { field: 'price_lists/1', code: 'unknown_price_list' },
      { field: 'price_lists/2', code: 'unknown_price_list' },
      { field: 'price_lists/3', code: 'unknown_price_list' },
    ],
  ],
  [
    'no dimensions at all',
    { price_dimensions: [] },
    [{ field: 'price_dimensions', code: 'length' }],
  ],
  [
    'an empty dimension',
    { price_dimensions: ['a', ''] },
    [{ field: 'price_dimensions/1', code: 'length' }],
  ],
  [
    'filters on what is no column, or a cost',
    { product_filters: { colour: ['red'], weight: [1], purchase: [1], constructor: ['x'] } },
    [
      { field: 'product_filters/weight', code: 'unknown_column' },
      { field: 'product_filters/purchase', code: 'unknown_column' },
      { field: 'product_filters/constructor', code: 'unknown_column' },
    ],
  ],
  [
    'filter values of another type',
    {
      product_filters: {
        size: [1, '1', 1.5, true],
        since: ['2026-02-30'],
        code: [1],
        colour: [''],
      },
    },
    [
      { field: 'product_filters/size/1', code: 'type' },
      { field: 'product_filters/size/2', code: 'type' },
      { field: 'product_filters/size/3', code: 'type' },
      { field: 'product_filters/since/0', code: 'format' },
      { field: 'product_filters/code/0', code: 'type' },
      { field: 'product_filters/colour/0', code: 'length' },
    ],
  ],
  [
    'a filter whose column name needs escaping',
    { product_filters: { 'a/b~c': ['true'] } },
    [{ field: 'product_filters/a~1b~0c/0', code: 'type' }],
  ],
  [
    'a filter that is no list',
    { product_filters: { colour: 'red' } },
    [{ field: 'product_filters/colour', code: 'type' }],
  ],
  [
    'filters that are a list',
    { product_filters: [] },
    [{ field: 'product_filters', code: 'type' }],
  ],
  ['an unknown key', { discount: 1 }, [{ field: 'discount', code: 'unknown_key' }]],
  ['an id', { id: 1 }, [{ field: 'id', code: 'unknown_key' }]],
]

t.test('a bad promotion is refused with its pointer and nothing is written', async (t) => {
  const shop = await aTypedShop(t)
  const other = await service.newAccount(t)
  await aList(shop, { name: 'L' })
  await aList(other, { name: 'other' })
  for (const [what, overrides, expected] of bad) {
    const { status, body } = await shop.post(path, [
      aPromotion({ name: 'fine' }),
      aPromotion({ name: 'bad', ...overrides }),
    ])
    t.equal(status, 400, what)
    t.equal(body.type, 'invalid-request', what)
    t.strictSame(
      body.errors.map(({ pointer, row, code }: Record<string, unknown>) => ({
        pointer,
        row,
        code,
      })),
      expected.map(({ field, code }) => ({ pointer: `/1/${field}`, row: 1, code })),
      what,
    )
  }
  t.strictSame(await stored(shop), [])
})

t.test('one answer names every bad row, those of the shape and those of the rules', async (t) => {
  const shop = await service.newAccount(t)
  const { body } = await shop.post(path, [
    aPromotion({ name: 'a', value: 101 }),
    aPromotion({ name: 'b', kind: 'half' }),
    aPromotion({ name: 'c' }),
    aPromotion({ name: 'd', price_lists: ['none'], valid_to: '2020-01-01' }),
  ])
  t.strictSame(
    body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/0/value', '/1/kind', '/3/valid_to', '/3/price_lists/0'],
  )
  t.strictSame(await stored(shop), [])
})

t.test('a name twice with different content is refused, both rows named', async (t) => {
  const shop = await service.newAccount(t)
  const { status, body } = await shop.post(path, [
    aPromotion(),
    aPromotion({ name: 'x' }),
    aPromotion({ value: 21 }),
  ])
  t.equal(status, 400)
  t.match(body.errors, [{ pointer: '/2', row: 2, code: 'duplicate_row' }])
  t.match(body.errors[0].message, 'rows 0 and 2')
  t.strictSame(await stored(shop), [])
})

t.test('a body that is no array is refused', async (t) => {
  const shop = await service.newAccount(t)
  for (const body of [{ payload: [aPromotion()] }, 'null', '5', aPromotion()])
    t.equal((await shop.post(path, body)).status, 400)
})

t.test('an account neither sees nor changes the promotions of another', async (t) => {
  const [mine, theirs] = [await service.newAccount(t), await service.newAccount(t)]
  await mine.post(path, [aPromotion()])
  const before = await stored(mine)
  t.match((await theirs.post(path, [aPromotion({ value: 1 })])).body, { updated: { length: 0 } })
  t.strictSame(await stored(mine), before)
})

t.test(
  'overlapping calls at the same time all succeed, and each promotion is kept once',
  async (t) => {
    const shop = await service.newAccount(t)
    const names = Array.from({ length: 200 }, (_, index) => `P${(index * 77) % 200}`)
    const calls = Array.from({ length: 8 }, (_, call) =>
      shop.post(
        path,
        (call % 2 ? names : names.toReversed()).map((name) => aPromotion({ name, value: call })),
      ),
    )
    const answers = await Promise.all(calls)
    for (const { status } of answers) t.equal(status, 200)
    t.equal(answers.flatMap(({ body }) => body.created).length, 200)
    const rows = await stored(shop)
    t.equal(rows.length, 200)
    t.equal(new Set(rows.map(({ value }) => value)).size, 1)
  },
)

t.test(
  'promotions wait for a change of the columns and are checked against the new ones',
  async (t) => {
    const shop = await aTypedShop(t)
    const commit = await renameColumn(service.url, shop.id, 'colour')
    const creating = shop.post(path, [aPromotion({ product_filters: { colour: ['red'] } })])
    await sleep(100)
    await commit()
    t.match(await creating, { status: 400, body: { errors: [{ code: 'unknown_column' }] } })
  },
)

t.test(
  'a file of promotions whose columns change while it is read is to be sent again',
  async (t) => {
    const shop = await aTypedShop(t)
    const commit = await renameColumn(service.url, shop.id, 'colour')
    const file = JSON.stringify(aPromotion({ product_filters: { colour: ['red'] } }))
    const loading = shop.send('POST', path, file, { 'content-type': 'application/x-ndjson' })
    await untilLockAwaited(service.url, 'pricewell streams', loading)
    await commit()
    t.match(await loading, { status: 503, body: { type: 'unavailable' } })
    t.strictSame(await stored(shop), [])
  },
)
