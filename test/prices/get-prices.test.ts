import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/get_prices/'
const service = await sharedService()
const a = { code: 'A', country: 'UK' }
const b = { code: 'B', country: 'UK' }

/** A shop with a published list L of A at 10 and B at 20. */
async function aPricedShop(
  t: Parameters<typeof aShop>[0],
  overrides: Record<string, unknown> = {},
) {
  const settings = { codes: ['A', 'B', 'C'], rows: [a, b], ...overrides }
  const { shop, list, pks: ids } = await aFilledList(t, service, settings)
  const read = (payload: unknown, more: object = {}) =>
    shop.post(path, { price_list_name: 'L', payload, ...more })
  return { shop, list, ids, read }
}

t.test('answers the input row with the fields of a price and no others', async (t) => {
  const { shop, list, ids, read } = await aPricedShop(t)
  await setPrices(shop, 'L', [{ ...a, price: 19.99 }])
  const [product] = (await shop.get('/api/v1/product_catalog/?code=A')).body.results
  const result = {
    code: 'A',
    country: 'UK',
    price_list_name: 'L',
    price_list_id: list.id,
    extended_catalog_id: product.extended_catalog_id,
    pk: ids[0],
    active_price: 19.99,
    promotions: [],
  }
  const { status, body } = await read([a])
  t.strictSame({ status, body }, { status: 201, body: [result] })
})

t.test('the keys of the input row stay as they were sent', async (t) => {
  const { read } = await aPricedShop(t)
  const row = {
    code: 'A',
    extensions: { country: 'UK' },
    attributes: { description: 'no matter' },
    price_dimension: 'price',
  }
  const [output] = (await read([row])).body
  t.match(output, { ...row, country: 'UK', active_price: 0 })
  t.strictSame(Object.keys(output).slice(0, 5), [...Object.keys(row), 'country'])
})

t.test(
  'output rows come in payload order; equal rows each give theirs; a row that is not in the list gives none',
  async (t) => {
    const { shop, read } = await aPricedShop(t)
    await setPrices(shop, 'L', [
      { ...a, price: 10 },
      { ...b, price: 20 },
    ])
    const missing = [
      { code: 'C', country: 'UK' },
      { code: 'X', country: 'UK' },
      { code: 'A', country: 'FR' },
      { code: 'a', country: 'UK' },
    ]
    const { status, body } = await read([b, ...missing, a, b, a, a])
    t.equal(status, 201)
    const prices = body.map((row: { active_price: number }) => row.active_price)
    t.strictSame(prices, [20, 10, 20, 10, 10])
    t.strictSame((await read(missing)).body, [])
    t.strictSame((await read([])).body, [])
  },
)

for (const countries of [['UK'], ['UK', 'FR'], ['UK', 'FR', 'DE', 'Ünïcode "{,}" \\']]) {
  const title = `a read of ${countries.length} countries and two dimensions gives each row its own price`
  t.test(title, async (t) => {
    const codes = ['A', 'a', 'É', 'a,b', '"{}"', '\\', 'NULL', '🙂']
    const shop = await aShop(t, service, { codes, countries })
    const { name } = await aList(shop, { price_dimensions: ['x', 'y'] })
    const products = codes.flatMap((code) => countries.map((country) => ({ code, country })))
    const ids = await addProducts(shop, name, products.slice(1))
    const rows = products.flatMap((product) =>
      ['y', 'x'].map((price_dimension) => ({ ...product, price_dimension })),
    )
    const priced = rows.slice(2).map((row, index) => ({ ...row, price: index + 0.25 }))
    await setPrices(shop, name, priced)
    // Neither the order of the codes nor that of the ids, every third row twice, those of the first product missing.
    const place = (index: number) => (index * 7) % rows.length
    const payload = rows.flatMap((_, index) => {
      const row = rows[place(index)]
      return index % 3 === 0 ? [row, row] : [row]
    })
    const { status, body } = await shop.post(path, { price_list_name: name, payload })
    t.equal(status, 201)
    const listed = payload
      .map((row) => rows.indexOf(row as (typeof rows)[0]))
      .filter((at) => at > 1)
    t.strictSame(
      body.map((row: Record<string, unknown>) => [row.pk, row.active_price, row.code, row.country]),
      listed.map((at) => {
        const { code, country, price } = priced[at - 2] as (typeof priced)[0]
        return [ids[(at >> 1) - 1], price, code, country]
      }),
    )
  })
}

t.test(
  'price_dimension is required when the list has several and allowed when it has one',
  async (t) => {
    const { shop, read } = await aPricedShop(t, { price_dimensions: ['x', 'y'] })
    await setPrices(shop, 'L', [{ ...a, price_dimension: 'y', price: 5 }])
    const rows = [
      { ...a, price_dimension: 'x' },
      { ...a, price_dimension: 'y' },
    ]
    const { body } = await read(rows)
    t.match(body, [
      { price_dimension: 'x', active_price: 0 },
      { price_dimension: 'y', active_price: 5 },
    ])
    expectFaults(t, await read([a, { ...a, price_dimension: 'z' }, rows[0]]), [
      '/payload/0/price_dimension required',
      '/payload/1/price_dimension unknown_price_dimension',
    ])
    const single = await aPricedShop(t)
    t.equal((await single.read([{ ...a, price_dimension: 'price' }])).body.length, 1)
  },
)

t.test('the list is named by price_list_name, price_list_id or both', async (t) => {
  const { shop, list, ids } = await aPricedShop(t)
  const other = await aList(shop, { name: 'M' })
  await addProducts(shop, 'M', [a])
  const read = (names: object) => shop.post(path, { ...names, payload: [a] })
  for (const names of [
    { price_list_name: 'L' },
    { price_list_id: list.id },
    { price_list_name: 'L', price_list_id: list.id },
  ])
    t.equal((await read(names)).body[0].pk, ids[0])
  expectFaults(t, await read({}), ['/price_list_name required'])
  const differing = await read({ price_list_name: 'L', price_list_id: other.id })
  expectFaults(t, differing, ['/price_list_id conflicting_keys'])
  const noSuchName = await read({ price_list_name: 'no such', price_list_id: list.id })
  expectFaults(t, noSuchName, ['/price_list_id conflicting_keys'])
  const notFound = { status: 404, type: 'price-list-not-found' }
  expectProblem(t, await read({ price_list_name: 'no such' }), notFound)
  expectProblem(t, await read({ price_list_id: 9007199254740991 }), notFound)
  expectProblem(t, await read({ price_list_id: 1e9, price_list_name: 'L' }), notFound)
})

t.test('the list of another account answers like one that does not exist', async (t) => {
  const { list } = await aPricedShop(t)
  const other = await service.newAccount(t)
  const notFound = { status: 404, type: 'price-list-not-found' }
  expectProblem(t, await other.post(path, { price_list_name: 'L', payload: [] }), notFound)
  expectProblem(t, await other.post(path, { price_list_id: list.id, payload: [] }), notFound)
})

t.test('a list that is not published is 409; one that was made elsewhere is read', async (t) => {
  const { shop, list, read } = await aPricedShop(t)
  await aList(shop, { name: 'empty' })
  const unpublished = { status: 409, type: 'price-list-not-published' }
  for (const payload of [[a], []])
    expectProblem(t, await shop.post(path, { price_list_name: 'empty', payload }), unpublished)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  t.equal((await read([a])).body.length, 1)
})

t.test('a row of the draft that is not published is not read', async (t) => {
  const { shop, list, ids, read } = await aPricedShop(t)
  await query(service.url, `update price_list_rows set added_version = 2 where id = ${ids[0]}`)
  t.strictSame(
    (await rowsOf(shop, list)).map(({ pk }) => pk),
    ids.slice(1),
  )
  t.strictSame((await read([a])).body, [])
  t.strictSame((await read([{}])).body.length, 1)
})

t.test('include adds base_price, margin, active_margin and dynamic_attributes', async (t) => {
  const { shop, read } = await aPricedShop(t)
  const costs = { ...a, purchase: 4, freight: 1.5 }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costs])
  await setPrices(shop, 'L', [
    { ...a, price: 8 },
    { ...b, price: 9 },
  ])
  const [plain] = (await read([a])).body
  const all = await read([a, b], { include: ['dynamic_attributes', 'margin', 'base_price'] })
  t.strictSame(all.body[0], { ...plain, base_price: 8, margin: 31.25, dynamic_attributes: {} })
  t.equal(all.body[1].margin, null, 'a cost is absent')
  const one = await read([{ code: 'A' }], { include: ['margin'] })
  t.strictSame(one.body, [{ ...plain, margin: 31.25 }])
  t.strictSame((await read([a], { include: [] })).body, [plain])
})

t.test('each combination of include adds its fields and no others', async (t) => {
  const { shop, read } = await aPricedShop(t)
  const costs = { ...a, purchase: 4, freight: 1.5 }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costs])
  await setPrices(shop, 'L', [{ ...a, price: 8 }])
  const sale = { name: 'P', kind: 'amount', value: 3 }
  const valid = { valid_from: '2026-11-27', valid_to: '2026-11-27' }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...sale, ...valid }])
  const promotion_date = valid.valid_from
  const [plain] = (await read([a], { promotion_date })).body
  const fields = { base_price: 8, margin: 31.25, active_margin: -10, dynamic_attributes: {} }
  for (let chosen = 0; chosen < 16; chosen++) {
    const added = Object.entries(fields).filter((_, place) => chosen & (1 << place))
    const include = added.map(([name]) => name)
    for (const payload of [[a], [{ code: 'A' }], [{ country: 'UK', code: 'A' }]]) {
      const { body } = await read(payload, { promotion_date, include: include.toReversed() })
      t.strictSame(body, [{ ...plain, ...Object.fromEntries(added) }], include.join(', '))
    }
  }
})

t.test('promotion_date is accepted with any real day', async (t) => {
  const { read } = await aPricedShop(t)
  for (const promotion_date of ['2026-11-27', '2024-02-29', '0001-01-01', '9999-12-31'])
    t.equal((await read([a], { promotion_date })).status, 201)
})

t.test('bad bodies', async (t) => {
  const { shop, list } = await aPricedShop(t)
  const good = { price_list_name: 'L', payload: [] }
  const table: [string, unknown, string[]][] = [
    ['an array', [], [' type']],
    ['no payload', { price_list_name: 'L' }, ['/payload required']],
    ['a payload that is no array', { ...good, payload: 'A' }, ['/payload type']],
    ['a name that is no string', { ...good, price_list_name: list.id }, ['/price_list_name type']],
    [
      'a null name beside an id',
      { payload: [], price_list_name: null, price_list_id: 1 },
      ['/price_list_name type'],
    ],
    ['an id that is no number', { ...good, price_list_id: `${list.id}` }, ['/price_list_id type']],
    ['an id that is not whole', { ...good, price_list_id: 1.5 }, ['/price_list_id type']],
    ['an id of 0', { ...good, price_list_id: 0 }, ['/price_list_id range']],
    [
      'a promotion_date that is no day',
      { ...good, promotion_date: '2026-02-29' },
      ['/promotion_date format'],
    ],
    ['a promotion_date that is null', { ...good, promotion_date: null }, ['/promotion_date type']],
    [
      'a promotion_date that is no string',
      { ...good, promotion_date: 20260101 },
      ['/promotion_date type'],
    ],
    ['an unknown include', { ...good, include: ['costs'] }, ['/include/0 not_allowed']],
    ['an include twice', { ...good, include: ['margin', 'margin'] }, ['/include not_allowed']],
    ['an include that is no array', { ...good, include: 'margin' }, ['/include type']],
    ['an unknown key', { ...good, name: 'L' }, ['/name unknown_key']],
  ]
  for (const [name, body, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await shop.post(path, body), faults))
})

t.test('bad rows', async (t) => {
  const { read } = await aPricedShop(t)
  const table: [string, unknown[], string[]][] = [
    ['a row that is no object', ['A'], ['/payload/0 type']],
    ['a row that is null', [null], ['/payload/0 type']],
    ['a code that is no string', [{ ...a, code: 1 }], ['/payload/0/code type']],
    ['a code that is null', [{ ...a, code: null }], ['/payload/0/code type']],
    ['an empty code', [{ ...a, code: '' }], ['/payload/0/code length']],
    ['a code of 256', [{ code: 'x'.repeat(256) }], ['/payload/0/code length']],
    ['an extension of another type', [{ ...a, country: 5 }], ['/payload/0/country type']],
    ['an extension that is null', [{ ...a, country: null }], ['/payload/0/country type']],
    [
      'a nested extension that is null',
      [{ code: 'A', extensions: { country: null } }],
      ['/payload/0/extensions/country type'],
    ],
    [
      'extensions that are no object',
      [{ code: 'A', extensions: ['UK'] }],
      ['/payload/0/extensions type'],
    ],
    [
      'an extension twice that differs',
      [{ ...a, extensions: { country: 'FR' } }],
      ['/payload/0/extensions/country conflicting_keys'],
    ],
    ['an unknown key', [{ ...a, city: 'London' }], ['/payload/0/city unknown_key']],
    ['a price', [{ ...a, price: 1 }], ['/payload/0/price unknown_key']],
    ['a cost column', [{ ...a, purchase: 1 }], ['/payload/0/purchase unknown_key']],
    ['attributes that are no object', [{ attributes: 'x' }], ['/payload/0/attributes type']],
    ['attributes that are null', [{ attributes: null }], ['/payload/0/attributes type']],
    ['an attribute of another type', [{ description: 5 }], ['/payload/0/description type']],
    [
      'a nested attribute of another type',
      [{ attributes: { description: 5 } }],
      ['/payload/0/attributes/description type'],
    ],
    [
      'an unknown attribute',
      [{ attributes: { color: 'red' } }],
      ['/payload/0/attributes/color unknown_key'],
    ],
    [
      'an unknown attribute beside a code',
      [{ code: 'A', attributes: { country: 'UK' } }],
      ['/payload/0/attributes/country unknown_key'],
    ],
    [
      'an extension among the attributes',
      [{ attributes: { country: 'UK' } }],
      ['/payload/0/attributes/country unknown_key'],
    ],
    [
      'an attribute among the extensions',
      [{ extensions: { description: 'x' } }],
      ['/payload/0/extensions/description unknown_key'],
    ],
    [
      'an attribute twice that differs',
      [{ description: 'x', attributes: { description: 'y' } }],
      ['/payload/0/attributes/description conflicting_keys'],
    ],
    [
      'a price_dimension of another type',
      [{ ...a, price_dimension: 1 }],
      ['/payload/0/price_dimension type'],
    ],
    [
      'an unknown price_dimension',
      [{ ...a, price_dimension: 'x' }],
      ['/payload/0/price_dimension unknown_price_dimension'],
    ],
    ['a date in a list without', [{ ...a, date: '2026-01-01' }], ['/payload/0/date not_allowed']],
    ['a date that is no day', [{ ...a, date: '2026-13-01' }], ['/payload/0/date format']],
    ['a promotion that is no string', [{ ...a, promotion: 5 }], ['/payload/0/promotion type']],
    [
      'every bad row is named',
      [a, { ...a, code: 5 }, { ...a, more: 1 }, a, { ...a, date: '2026-01-01' }, { country: 5 }],
      [
        '/payload/1/code type',
        '/payload/2/more unknown_key',
        '/payload/4/date not_allowed',
        '/payload/5/country type',
      ],
    ],
  ]
  for (const [name, payload, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await read(payload), faults))
})

t.test('a row without its dimension is told which there are, twenty of them', async (t) => {
  const price_dimensions = Array.from({ length: 100 }, (_, index) => `D${index}`)
  const { read } = await aPricedShop(t, { price_dimensions })
  const { body } = await read([a, { ...a, price_dimension: 'none' }])
  const first = price_dimensions.slice(0, 20).join(', ')
  t.strictSame(
    body.errors.map(({ message }: { message: string }) => message),
    [`is required: ${first} and 80 more`, `must be one of ${first} and 80 more`],
  )
})

t.test(
  'rows with many long dynamic attributes are answered, however often they are named',
  async (t) => {
    const { shop, read } = await aPricedShop(t)
    const payload = Array.from({ length: 100 }, (_, index) => ({
      ...a,
      dynamic_attribute_name: `n${index}`,
      dynamic_attribute_value: 'x'.repeat(4000),
    }))
    const path = '/api/v1/prices/bulk_update_dynamic_attributes/'
    t.equal((await shop.post(path, { price_list_name: 'L', payload })).status, 201)
    const { status, headers } = await read(Array(201).fill(a), { include: ['dynamic_attributes'] })
    t.strictSame([status, headers['content-length']], [201, undefined], 'sent while it is read')
  },
)
