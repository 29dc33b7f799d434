import fc from 'fast-check'
import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import {
  addProducts,
  aFilledList,
  aList,
  aShop,
  aShopOf,
  rowsOf,
  setPrices,
} from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_prices/'
const service = await sharedService()
const a = { code: 'A', country: 'UK' }
const b = { code: 'B', country: 'UK' }

/** A shop with A and B in UK and FR, and a published list L with all but B in FR. */
async function aPricedShop(
  t: Parameters<typeof aShop>[0],
  overrides: Record<string, unknown> = {},
) {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
  const list = await aList(shop, { name: 'L', ...overrides })
  // One by one, so that the order of the ids is known.
  const ids: number[] = []
  for (const product of [a, b, { code: 'A', country: 'FR' }])
    ids.push(...(await addProducts(shop, 'L', [product])))
  const update = (payload: unknown) => shop.post(path, { price_list_name: 'L', payload })
  return { shop, list, ids, update }
}

t.test('answers the ids of the rows in payload order, each once', async (t) => {
  const { update, ids, shop, list } = await aPricedShop(t, { price_dimensions: ['x', 'y'] })
  const { status, body } = await update([
    { code: 'A', country: 'FR', price_dimension: 'y', price: 3 },
    { ...b, price_dimension: 'x', price: 2 },
    { code: 'A', extensions: { country: 'FR' }, price_dimension: 'x', price: 4 },
    { ...a, price_dimension: 'x', price: 1 },
    { ...b, price_dimension: 'y', price: 5 },
  ])
  t.strictSame({ status, body }, { status: 201, body: [ids[2], ids[1], ids[0]] })
  t.strictSame(
    (await rowsOf(shop, list)).map(({ prices }) => prices),
    [
      { x: 1, y: 0 },
      { x: 2, y: 5 },
      { x: 4, y: 3 },
    ],
    'a dimension that no row names keeps its price',
  )
})

t.test('a large payload, which travels by COPY, is written as a small one is', async (t) => {
  const odd = [
    'back\\slash',
    '{brace}',
    '"quoted"',
    "l'apostrophe",
    'NULL',
    '\\N',
    'comma,',
    'é',
    ' ',
  ]
  const codes = [...odd, ...Array.from({ length: 12_000 }, (_, index) => `P${index}`)]
  const price_dimensions = ['x', 'y']
  const { shop, list, pks: ids } = await aFilledList(t, service, { codes, price_dimensions })
  const keys = codes.map((code) => ({ code, country: 'UK' }))
  const payload = keys.map((key, index) => ({ ...key, price_dimension: 'y', price: index + 0.5 }))
  const update = (rows: object[]) => shop.post(path, { price_list_name: 'L', payload: rows })
  t.strictSame((await update(payload)).body, ids, 'the ids in payload order')
  const read = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: keys.map((key) => ({ ...key, price_dimension: 'y' })),
  })
  t.strictSame(
    read.body.map(({ active_price }: { active_price: number }) => active_price),
    payload.map(({ price }) => price),
  )
  const some = payload.slice(0, 6000).toReversed()
  t.strictSame((await update(some)).body, ids.slice(0, 6000).toReversed(), 'of half as many')
  const absent = { code: 'absent', country: 'UK', price_dimension: 'x', price: 1 }
  for (const rows of [payload, some]) {
    const response = await update([...rows.map((row) => ({ ...row, price: 7 })), absent])
    expectFaults(t, response, [`/payload/${rows.length}/code row_not_in_list`])
    const [first] = await rowsOf(shop, list)
    t.not(first?.prices.y, 7, 'a row that is missing leaves the others as they were')
  }
})

t.test('money is exact: what was written is what is read', async (t) => {
  const { update, shop, list } = await aPricedShop(t)
  const prices = [
    '0',
    '19.99',
    '0.1',
    '0.3',
    '0.000001',
    '999999999999.999',
    '123456789.012345',
    '123456789012345',
    '1.10',
    '2.50e1',
    '1E2',
    '1500000000000000000000',
    '1e300',
    '5e-6',
    '0.10000000000000000000',
    '0.000000000000000000e5',
  ]
  for (const price of prices) {
    const body = `{"price_list_name":"L","payload":[{"code":"A","country":"UK","price":${price}}]}`
    t.equal((await shop.send('POST', path, body)).status, 201, price)
    t.equal((await rowsOf(shop, list))[0].prices.price, Number(price), price)
    const read = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      payload: [a],
    })
    t.equal(read.body[0].active_price, Number(price), price)
  }
  await update([{ ...a, price: 7 }])
  const stored = await shop.send(
    'POST',
    path,
    '{"price_list_name":"L","payload":[{"code":"A","country":"UK","price":-0}]}',
  )
  t.equal(stored.status, 201, '-0 is 0')
  t.ok(Object.is((await rowsOf(shop, list))[0].prices.price, 0))
})

t.test('any number of 15 digits and 6 decimals is read as it was written', async (t) => {
  const codes = Array.from({ length: 100 }, (_, index) => `P${100 + index}`)
  const { shop } = await aFilledList(t, service, { codes })
  const keys = codes.map((code) => ({ code, country: 'UK' }))
  const money = fc
    .tuple(fc.bigInt(0n, 999_999_999_999_999n), fc.integer({ min: 0, max: 6 }))
    .map(([digits, decimals]) => Number(`${digits}e-${decimals}`))
  const anyPrices = fc.asyncProperty(
    fc.array(money, { minLength: 100, maxLength: 100 }),
    async (prices) => {
      await setPrices(
        shop,
        'L',
        keys.map((key, index) => ({ ...key, price: prices[index] })),
      )
      const { body } = await shop.post('/api/v1/prices/get_prices/', {
        price_list_name: 'L',
        payload: keys,
      })
      t.strictSame(
        body.map((row: { active_price: number }) => row.active_price),
        prices,
      )
    },
  )
  await fc.assert(anyPrices, { numRuns: 10 })
})

t.test('what is not exact money is refused', async (t) => {
  const { shop, list } = await aPricedShop(t)
  const table: [string, string][] = [
    ['-0.01', 'range'],
    ['-1', 'range'],
    ['1234567890123456', 'format'],
    ['1.234567890123456', 'format'],
    ['0.1234567', 'format'],
    ['0.0000001', 'format'],
    ['1e-7', 'format'],
    ['1e-30', 'format'],
    ['1e-320', 'format'],
    ['1e-400', 'format'],
    ['1e400', 'format'],
    ['0.10000000000000000001', 'format'],
    ['9007199254740993', 'format'],
    ['1.0000000000000000000000000000001', 'format'],
    ['"5"', 'type'],
    ['null', 'type'],
    ['true', 'type'],
    ['[5]', 'type'],
    ['{}', 'type'],
  ]
  for (const [price, code] of table) {
    const row = `{"code":"A","country":"UK","price":${price}}`
    const response = await shop.send('POST', path, `{"price_list_name":"L","payload":[${row}]}`)
    t.strictSame(
      response.body.errors?.map(({ code }: { code: string }) => code),
      [code],
      price,
    )
    t.equal(response.body.errors?.[0].pointer, '/payload/0/price', price)
  }
  for (const price of ['NaN', 'Infinity', '01', '.5', '5.', '+5', '0x10']) {
    const row = `{"code":"A","country":"UK","price":${price}}`
    const response = await shop.send('POST', path, `{"price_list_name":"L","payload":[${row}]}`)
    expectProblem(t, response, { status: 400, type: 'malformed-body' })
  }
  t.equal((await rowsOf(shop, list))[0].prices.price, 0, 'nothing was written')
})

t.test('prices survive every later publication', async (t) => {
  const { shop, list, ids } = await aPricedShop(t)
  await setPrices(shop, 'L', [{ ...a, price: 1.5 }])
  await addProducts(shop, 'L', [{ code: 'B', country: 'FR' }])
  await setPrices(shop, 'L', [{ ...b, price: 2.5 }])
  await addProducts(shop, 'L', [a, b])
  const rows = await rowsOf(shop, list)
  t.strictSame(
    rows.map(({ prices }) => prices.price),
    [1.5, 2.5, 0, 0],
  )
  t.strictSame(
    rows.slice(0, 3).map(({ pk }) => pk),
    ids,
  )
})

t.test('the draft is not altered', async (t) => {
  const { shop, list } = await aPricedShop(t)
  const before = await rowsOf(shop, list, 'version=draft')
  const publishedAt = (await shop.get(`/api/v1/price_list/${list.id}`)).body.published_at
  await setPrices(shop, 'L', [{ ...a, price: 1.5 }])
  t.strictSame(await rowsOf(shop, list, 'version=draft'), before)
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.published_at, publishedAt)
})

t.test('price_dimension is required when the list has several', async (t) => {
  const { update, shop, list } = await aPricedShop(t, {
    price_dimensions: ['retail', 'whole "sale"'],
  })
  const payload = [
    { ...a, price: 1 },
    { ...b, price: 1, price_dimension: 'retail' },
    { ...a, price: 1, price_dimension: 'Retail' },
    { ...a, price: 1, price_dimension: 'price' },
  ]
  expectFaults(t, await update(payload), [
    '/payload/0/price_dimension required',
    '/payload/2/price_dimension unknown_price_dimension',
    '/payload/3/price_dimension unknown_price_dimension',
  ])
  t.equal((await update([{ ...a, price: 1, price_dimension: 'whole "sale"' }])).status, 201)
  t.strictSame((await rowsOf(shop, list))[0].prices, { retail: 0, 'whole "sale"': 1 })
})

t.test('price_dimension may be given when the list has one', async (t) => {
  const { update, shop, list } = await aPricedShop(t, { price_dimensions: ['constructor'] })
  const payload = [
    { ...a, price: 1, price_dimension: 'constructor' },
    { ...b, price: 2 },
  ]
  t.equal((await update(payload)).status, 201)
  t.strictSame(
    (await rowsOf(shop, list)).map(({ prices }) => prices.constructor),
    [1, 2, 0],
  )
  const unknown = await update([{ ...a, price: 3, price_dimension: 'price' }])
  expectFaults(t, unknown, ['/payload/0/price_dimension unknown_price_dimension'])
})

t.test(
  'a cell that is named twice counts once when the prices are equal and is an error when they differ',
  async (t) => {
    const { update, shop, list, ids } = await aPricedShop(t)
    const nested = { code: 'A', extensions: { country: 'UK' }, price_dimension: 'price' }
    const equal = [
      { ...a, price: 5 },
      { ...nested, price: 5 },
      { ...a, price: 5.0 },
    ]
    t.strictSame((await update(equal)).body, [ids[0]])
    const differing = [
      { ...a, price: 6 },
      { ...b, price: 6 },
      { ...nested, price: 7 },
    ]
    const response = await update(differing)
    expectFaults(t, response, ['/payload/2 duplicate_row'])
    t.match(response.body.errors[0].message, /rows 0 and 2 /)
    const zeros = '[{"code":"B","country":"UK","price":0},{"code":"B","country":"UK","price":-0}]'
    const body = `{"price_list_name":"L","payload":${zeros}}`
    t.strictSame((await shop.send('POST', path, body)).body, [ids[1]], '0 and -0 are equal')
    t.strictSame(
      (await rowsOf(shop, list)).map(({ prices }) => prices.price),
      [5, 0, 0],
    )
  },
)

t.test('a row that is not in the published list is an error', async (t) => {
  const { update, shop, list } = await aPricedShop(t)
  const payload = [
    { ...a, price: 1 },
    { code: 'B', country: 'FR', price: 1 },
    { code: 'X', country: 'UK', price: 1 },
    { code: 'a', country: 'UK', price: 1 },
    { code: 'A ', country: 'UK', price: 1 },
    { code: 'X', country: 'UK', price: 1 },
  ]
  const missing = [1, 2, 3, 4, 5].map((row) => `/payload/${row}/code row_not_in_list`)
  expectFaults(t, await update(payload), missing)
  t.equal((await rowsOf(shop, list))[0].prices.price, 0)
})

t.test(
  'a row that was removed and is not deleted yet takes no price and no attribute',
  async (t) => {
    for (const day of [{}, { date: '2026-01-01' }]) {
      const { shop, id } = await aFilledList(t, service, { is_calendar: 'date' in day })
      await query(
        service.url,
        `update price_list_rows set removed_version = added_version where price_list_id = ${id}`,
      )
      const attribute = { dynamic_attribute_name: 'n', dynamic_attribute_value: 1 }
      for (const [path, row] of [
        ['/api/v1/prices/bulk_update_prices/', { ...a, ...day, price: 1 }],
        ['/api/v1/prices/bulk_update_dynamic_attributes/', { ...a, ...attribute }],
      ] as const) {
        const answer = await shop.post(path, { price_list_name: 'L', payload: [row] })
        expectFaults(t, answer, ['/payload/0/code row_not_in_list'])
      }
    }
  },
)

t.test('what is set while the first job of a list is under way waits for it', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, idle, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const payload = codes.map((code) => ({ code, country: 'UK' }))
  await shop.post('/api/v1/prices/bulk_add_products/', { price_list_name: 'L', payload })
  const key = { code: 'P0', country: 'UK' }
  const attribute = { dynamic_attribute_name: 'n', dynamic_attribute_value: 1 }
  const answers = await Promise.all([
    shop.post(path, { price_list_name: 'L', payload: [{ ...key, price: 1 }] }),
    shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
      price_list_name: 'L',
      payload: [{ ...key, ...attribute }],
    }),
  ])
  for (const answer of answers) expectProblem(t, answer, { status: 503, type: 'unavailable' })
})

t.test('unknown, unpublished and unmanaged lists are refused', async (t) => {
  const { shop, list, update } = await aPricedShop(t)
  const payload = [{ ...a, price: 1 }]
  await aList(shop, { name: 'empty' })
  const unknown = await shop.post(path, { price_list_name: 'no such', payload })
  expectProblem(t, unknown, { status: 404, type: 'price-list-not-found' })
  const unpublished = await shop.post(path, { price_list_name: 'empty', payload })
  expectProblem(t, unpublished, { status: 409, type: 'price-list-not-published' })
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  expectProblem(t, await update(payload), { status: 409, type: 'price-list-not-managed' })
  t.equal((await rowsOf(shop, list))[0].prices.price, 0)
  const other = await service.newAccount(t)
  const foreign = await other.post(path, { price_list_name: 'L', payload })
  expectProblem(t, foreign, { status: 404, type: 'price-list-not-found' })
})

t.test('an empty payload does nothing', async (t) => {
  const { update, shop, list } = await aPricedShop(t)
  await update([{ ...a, price: 1 }])
  const before = await rowsOf(shop, list)
  const { status, body } = await update([])
  t.strictSame({ status, body }, { status: 201, body: [] })
  t.strictSame(await rowsOf(shop, list), before)
})

t.test('extensions of every type find their row', async (t) => {
  const schema = {
    extensions: [
      { name: 'size', type: 'integer' },
      { name: 'weight', type: 'number' },
      { name: 'new', type: 'boolean' },
    ],
  }
  const product = { code: 'A', size: -7, weight: 0.000001, new: true }
  const shop = await aShopOf(t, service, schema, [product])
  await aList(shop, { name: 'L' })
  const [id] = await addProducts(shop, 'L', [product])
  const { code, ...extensions } = product
  t.strictSame(await setPrices(shop, 'L', [{ code, extensions, price: 1 }]), [id])
  const text = { price_list_name: 'L', payload: [{ ...product, size: '-7', price: 1 }] }
  expectFaults(t, await shop.post(path, text), ['/payload/0/size type'])
})

t.test('bad rows', async (t) => {
  const { update, shop, list } = await aPricedShop(t)
  const good = { ...a, price: 1 }
  const table: [string, unknown[], string[]][] = [
    ['a row that is no object', [1], ['/payload/0 type']],
    ['an empty row', [{}], ['/payload/0/code required', '/payload/0/price required']],
    ['no code', [{ country: 'UK', price: 1 }], ['/payload/0/code required']],
    ['a code that is no string', [{ ...good, code: 1 }], ['/payload/0/code type']],
    ['a code that is null', [{ ...good, code: null }], ['/payload/0/code type']],
    ['an empty code', [{ ...good, code: '' }], ['/payload/0/code length']],
    ['no price', [a], ['/payload/0/price required']],
    ['no extension', [{ code: 'A', price: 1 }], ['/payload/0/country required']],
    ['an extension of another type', [{ ...good, country: 1 }], ['/payload/0/country type']],
    ['an extension that is null', [{ ...good, country: null }], ['/payload/0/country type']],
    [
      'extensions that are no object',
      [{ ...good, extensions: 'UK' }],
      ['/payload/0/extensions type'],
    ],
    [
      'an extension twice that differs',
      [{ ...good, extensions: { country: 'FR' } }],
      ['/payload/0/extensions/country conflicting_keys'],
    ],
    ['an unknown key', [{ ...good, promotion: 'x' }], ['/payload/0/promotion unknown_key']],
    ['an attribute', [{ ...good, description: 'x' }], ['/payload/0/description unknown_key']],
    ['attributes', [{ ...good, attributes: {} }], ['/payload/0/attributes unknown_key']],
    [
      'a price_dimension that is no string',
      [{ ...good, price_dimension: 1 }],
      ['/payload/0/price_dimension type'],
    ],
    [
      'a price_dimension that is null',
      [{ ...good, price_dimension: null }],
      ['/payload/0/price_dimension type'],
    ],
    [
      'a date in a list without',
      [{ ...good, date: '2026-01-01' }],
      ['/payload/0/date not_allowed'],
    ],
    ['a date that is no string', [{ ...good, date: 20260101 }], ['/payload/0/date type']],
    ['a date that is no day', [{ ...good, date: '2026-02-30' }], ['/payload/0/date format']],
    [
      'faults of the shape, of the list and of the catalog: every bad row is named',
      [
        good,
        { ...b, price: '1' },
        { ...b, price: 1, date: '2026-01-01' },
        { code: 'X', country: 'UK', price: 1 },
        { code: 'B', price: 1 },
        { ...b, price: 1 },
        { ...b, price: 2 },
        { ...b, price: 2, price_dimension: 'no' },
        null,
      ],
      [
        '/payload/1/price type',
        '/payload/2/date not_allowed',
        '/payload/3/code row_not_in_list',
        '/payload/4/country required',
        '/payload/6 duplicate_row',
        '/payload/7/price_dimension unknown_price_dimension',
        '/payload/8 type',
      ],
    ],
  ]
  for (const [name, payload, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await update(payload), faults))
  const prices = (await rowsOf(shop, list)).map(({ prices }) => prices.price)
  t.strictSame(prices, [0, 0, 0], 'nothing was written')
})

t.test('bad bodies', async (t) => {
  const { shop } = await aPricedShop(t)
  const table: [string, unknown, string[]][] = [
    ['an array', [], [' type']],
    ['no payload', { price_list_name: 'L' }, ['/payload required']],
    ['a null payload', { price_list_name: 'L', payload: null }, ['/payload type']],
    ['no name', { payload: [] }, ['/price_list_name required']],
    ['a name that is no string', { price_list_name: 1, payload: [] }, ['/price_list_name type']],
    [
      'name instead of price_list_name',
      { name: 'L', payload: [] },
      ['/price_list_name required', '/name unknown_key'],
    ],
    [
      'an id beside the name',
      { price_list_name: 'L', price_list_id: 1, payload: [] },
      ['/price_list_id unknown_key'],
    ],
  ]
  for (const [name, body, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await shop.post(path, body), faults))
})

t.test(
  'parallel updates of one list all succeed and leave each cell with a price that was sent',
  async (t) => {
    const codes = Array.from({ length: 20 }, (_, index) => `P${index}`)
    const { shop, list } = await aFilledList(t, service, { codes, price_dimensions: ['x', 'y'] })
    const shuffled = () => codes.toSorted(() => Math.random() - 0.5)
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, writer) => {
        const price_dimension = writer % 2 === 0 ? 'x' : 'y'
        const payload = shuffled().map((code) => ({
          code,
          country: 'UK',
          price_dimension,
          price: writer + 1,
        }))
        return shop.post(path, { price_list_name: 'L', payload })
      }),
    )
    t.strictSame(
      responses.map(({ status }) => status),
      Array(20).fill(201),
    )
    const written = (await rowsOf(shop, list)).map(({ prices }) => prices)
    t.equal(
      new Set(written.map(({ x }) => x)).size,
      1,
      'all cells of one dimension are of one writer',
    )
    t.equal(new Set(written.map(({ y }) => y)).size, 1)
    t.equal(written[0].x % 2, 1)
    t.equal(written[0].y % 2, 0)
    t.ok(written[0].y >= 2)
  },
)

t.test('updates and additions of one list at once all succeed', async (t) => {
  const codes = Array.from({ length: 10 }, (_, index) => `P${index}`)
  const countries = ['UK', 'FR']
  const inUk = codes.map((code) => ({ code, country: 'UK' }))
  const { shop, list } = await aFilledList(t, service, { codes, countries, rows: inUk })
  const responses = await Promise.all(
    codes.flatMap((code, index) => [
      shop.post(path, {
        price_list_name: 'L',
        payload: [{ code, country: 'UK', price: index + 1 }],
      }),
      shop.post('/api/v1/prices/bulk_add_products/', {
        name: 'L',
        payload: [{ code, country: 'FR' }],
      }),
    ]),
  )
  t.strictSame(
    responses.map(({ status }) => status),
    Array(20).fill(201),
  )
  const rows = await rowsOf(shop, list)
  t.equal(rows.length, 20)
  t.strictSame(
    rows.slice(0, 10).map(({ prices }) => prices.price),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
})
