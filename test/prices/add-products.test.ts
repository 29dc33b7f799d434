import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, aShopOf, rowsOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_add_products/'
const service = await sharedService()

t.test(
  'adds rows at price 0, publishes the list, and answers the ids in payload order',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
    const list = await aList(shop, { name: 'L' })
    const payload = [
      { code: 'B', country: 'FR' },
      { code: 'A', extensions: { country: 'UK' } },
    ]
    const { status, body } = await shop.post(path, { price_list_name: 'L', payload })
    t.equal(status, 201)
    const rows = (await shop.get(`/api/v1/price_list/${list.id}/rows`)).body
    t.equal(rows.count, 2)
    t.strictSame(new Set(rows.results.map((row: { pk: number }) => row.pk)), new Set(body))
    t.strictSame(
      rows.results.find((row: { pk: number }) => row.pk === body[0]),
      {
        pk: body[0],
        extended_catalog_id: rows.results.find((row: { code: string }) => row.code === 'B')
          .extended_catalog_id,
        code: 'B',
        country: 'FR',
        prices: { price: 0 },
        margin: { price: null },
        dynamic_attributes: {},
      },
    )
  },
)

t.test(
  'above 100 products answers a job, which publishes all rows with the ids as its result',
  async (t) => {
    const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const payload = codes.map((code) => ({ code, country: 'UK' }))
    const response = await shop.post(path, { name: 'L', payload })
    t.equal(response.status, 201)
    t.match(response.body, {
      status: 'progress',
      resource_type: 'published-price-list',
      progress: { total: 101, finished: 0, error: 0 },
    })
    t.equal(response.headers.location, `/api/v1/jobs/${response.body.id}/`)
    const job = await shop.finished(response.body)
    t.match(job, {
      status: 'done',
      progress: { total: 101, finished: 101, error: 0 },
      errors: { length: 0 },
    })
    const rows = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body.results
    const pkOf = new Map(rows.map((row: { code: string; pk: number }) => [row.code, row.pk]))
    t.strictSame(
      job.result,
      codes.map((code) => pkOf.get(code)),
    )
  },
)

t.test(
  'a list is named by price_list_name, by name, or by both when they say the same',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    await aList(shop, { name: 'L' })
    await aList(shop, { name: 'M' })
    const payload = [{ code: 'A', country: 'UK' }]
    for (const names of [
      { price_list_name: 'L' },
      { name: 'L' },
      { price_list_name: 'L', name: 'L' },
    ])
      t.equal((await shop.post(path, { ...names, payload })).status, 201)
    const differing = await shop.post(path, { price_list_name: 'L', name: 'M', payload })
    expectFaults(t, differing, ['/name conflicting_keys'])
    expectFaults(t, await shop.post(path, { payload }), ['/price_list_name required'])
  },
)

t.test('an unknown list, and the list of another account, are 404', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const other = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(other, { name: 'theirs' })
  const payload = [{ code: 'A', country: 'UK' }]
  const notFound = { status: 404, type: 'price-list-not-found' }
  const unknown = await shop.post(path, { price_list_name: 'no such', payload })
  const foreign = await shop.post(path, { price_list_name: 'theirs', payload })
  expectProblem(t, unknown, notFound)
  expectProblem(t, foreign, notFound)
  t.equal(foreign.body.detail.replace('theirs', 'no such'), unknown.body.detail)
})

t.test('a list that was made elsewhere is 409 and keeps its rows', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  const payload = [{ code: 'A', country: 'UK' }]
  const response = await shop.post(path, { price_list_name: 'L', payload })
  expectProblem(t, response, { status: 409, type: 'price-list-not-managed' })
  t.strictSame(await rowsOf(shop, list, 'version=draft'), [])
})

t.test('the threshold of 100 counts the distinct products that were sent', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const payload = codes.map((code) => ({ code, country: 'UK' }))
  const atOnce = await shop.post(path, { name: 'L', payload: payload.slice(0, 100) })
  t.equal(new Set(atOnce.body).size, 100)
  const repeated = [...payload.slice(0, 100), { code: 'P7', extensions: { country: 'UK' } }]
  t.strictSame((await shop.post(path, { name: 'L', payload: repeated })).body, atOnce.body)
  const above = await shop.post(path, { name: 'L', payload })
  t.match(above.body, { status: 'progress', progress: { total: 101 } }, 'those there count too')
  const job = await shop.finished(above.body)
  t.strictSame(job.result.slice(0, 100), atOnce.body)
})

t.test('a payload above 100 is checked just as fully before it becomes a job', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const payload = [...codes.map((code) => ({ code, country: 'UK' })), { code: 'X', country: 'UK' }]
  const response = await shop.post(path, { name: 'L', payload })
  expectFaults(t, response, ['/payload/101/code unknown_product'])
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 0)
})

t.test('a payload that is looked up in slices is one payload', async (t) => {
  const codes = Array.from({ length: 12_000 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const rows = codes.toReversed().map((code) => ({ code, country: 'UK' }))
  const unknown = { code: 'unknown', country: 'UK' }
  const bad = await shop.post(path, {
    price_list_name: 'L',
    payload: [unknown, ...rows, unknown, { code: 'P1', country: 'FR' }],
  })
  const pointers = [0, 12_001, 12_002].map((row) => `/payload/${row}/code unknown_product`)
  expectFaults(t, bad, pointers)
  const payload = [...rows, ...rows.slice(0, 500)]
  const { body: job } = await shop.post(path, { price_list_name: 'L', payload })
  t.equal(job.progress.total, 12_000, 'each product counts once')
  const { result } = await shop.finished(job)
  const read = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: rows.slice(0, 2),
  })
  const pks = read.body.map(({ pk }: { pk: number }) => pk)
  t.strictSame([result.length, result.slice(0, 2)], [12_000, pks], 'in payload order')
})

t.test('products that cannot be added are row errors, and no row is added', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
  const off = { code: 'B', country: 'UK', active: false }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [off])
  const list = await aList(shop, { name: 'L', product_filters: { country: ['UK'] } })
  const payload = [
    { code: 'A', country: 'UK' },
    { code: 'A', country: 'DE' },
    { code: 'B', country: 'UK' },
    { code: 'A', country: 'FR' },
    { code: 'A', country: 'FR' },
  ]
  expectFaults(t, await shop.post(path, { name: 'L', payload }), [
    '/payload/1/code unknown_product',
    '/payload/2/code inactive_product',
    '/payload/3/code filtered_out',
    '/payload/4/code filtered_out',
  ])
  t.strictSame(await rowsOf(shop, list, 'version=draft'), [])
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test('filters hold for code, attributes and extensions together', async (t) => {
  const schema = {
    attributes: ['color', 'brand'].map((name) => ({ name, type: 'string' })),
    extensions: [{ name: 'size', type: 'integer' }],
  }
  const products = [
    { code: 'A', color: 'red', size: 1 },
    { code: 'A', size: 2 },
    { code: 'B', color: 'blue', size: 1 },
    { code: 'C', size: 1 },
    { code: 'D', color: 'red', size: 1 },
    { code: 'E', brand: 'of no color', size: 1 },
  ]
  const shop = await aShopOf(t, service, schema, products)
  await aList(shop, {
    name: 'L',
    product_filters: { code: ['A', 'B', 'C', 'E'], color: ['red', 'green'], size: [1, 3] },
  })
  const payload = products.map(({ code, size }) => ({ code, size }))
  expectFaults(
    t,
    await shop.post(path, { name: 'L', payload }),
    [1, 2, 3, 4, 5].map((row) => `/payload/${row}/code filtered_out`),
  )
  t.equal((await shop.post(path, { name: 'L', payload: payload.slice(0, 1) })).body.length, 1)
})

t.test(
  'extensions of every type stand beside code or under extensions, or both alike',
  async (t) => {
    const schema = {
      extensions: [
        { name: 'size', type: 'integer' },
        { name: 'weight', type: 'number' },
        { name: 'new', type: 'boolean' },
        { name: 'since', type: 'date' },
      ],
    }
    const product = { code: 'A', size: 7, weight: 0.000001, new: false, since: '2024-02-29' }
    const shop = await aShopOf(t, service, schema, [product])
    await aList(shop, { name: 'L' })
    const { code, ...extensions } = product
    const payload = [product, { code, extensions }, { ...product, extensions }]
    const ids = (await shop.post(path, { name: 'L', payload })).body
    t.equal(ids.length, 1)
    const { size, ...rest } = extensions
    const mixed = [{ code, size, extensions: rest }]
    t.strictSame((await shop.post(path, { name: 'L', payload: mixed })).body, ids)
  },
)

t.test(
  'a product that is there keeps its row and its price; the draft and the published version are equal',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const [a] = await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
    await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 19.99 }])
    const both = [
      { code: 'B', country: 'UK' },
      { code: 'A', country: 'UK' },
    ]
    const [b, again] = await addProducts(shop, 'L', both)
    t.equal(again, a)
    const rows = await rowsOf(shop, list)
    t.strictSame(
      new Map(rows.map(({ pk, prices }) => [pk, prices.price])),
      new Map([
        [a, 19.99],
        [b, 0],
      ]),
    )
    const draft = await rowsOf(shop, list, 'version=draft')
    t.strictSame(
      draft.map(({ pk }) => pk),
      rows.map(({ pk }) => pk),
    )
  },
)

t.test(
  'a row that was removed and comes back starts at price 0, in a calendar list on every day',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const product = { code: 'A', country: 'UK' }
    for (const is_calendar of [false, true]) {
      const name = `calendar ${is_calendar}`
      const list = await aList(shop, { name, is_calendar })
      const date = is_calendar ? { date: '2026-03-01' } : {}
      await addProducts(shop, name, [product])
      await setPrices(shop, name, [{ ...product, ...date, price: 5 }])
      const remove = `update price_list_rows set removed_version = 1 where price_list_id = ${list.id}`
      await query(service.url, remove)
      t.strictSame(await rowsOf(shop, list), [])
      await addProducts(shop, name, [product])
      const [row] = await rowsOf(shop, list, is_calendar ? 'date=2026-03-01' : '')
      t.strictSame(row.prices, { price: 0 }, name)
    }
  },
)

t.test('an empty payload does nothing: a list that is not published stays so', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const before = (await shop.get(`/api/v1/price_list/${list.id}`)).body
  const { status, body } = await shop.post(path, { name: 'L', payload: [] })
  t.strictSame({ status, body }, { status: 201, body: [] })
  t.strictSame((await shop.get(`/api/v1/price_list/${list.id}`)).body, before)
})

t.test('bad rows', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
  const list = await aList(shop, { name: 'L' })
  const good = { code: 'A', country: 'UK' }
  const table: [string, unknown, string[]][] = [
    ['a row that is no object', ['A'], ['/payload/0 type']],
    ['a row that is null', [null], ['/payload/0 type']],
    ['no code', [{ country: 'UK' }], ['/payload/0/code required']],
    ['a code that is no string', [{ ...good, code: 5 }], ['/payload/0/code type']],
    ['a code that is null', [{ ...good, code: null }], ['/payload/0/code type']],
    ['an empty code', [{ ...good, code: '' }], ['/payload/0/code length']],
    ['a code of 256', [{ ...good, code: 'x'.repeat(256) }], ['/payload/0/code length']],
    ['no extension', [{ code: 'A' }], ['/payload/0/country required']],
    ['no extension, nested', [{ code: 'A', extensions: {} }], ['/payload/0/country required']],
    ['an extension of another type', [{ ...good, country: 5 }], ['/payload/0/country type']],
    ['an extension that is null', [{ ...good, country: null }], ['/payload/0/country type']],
    [
      'a nested extension of another type',
      [{ code: 'A', extensions: { country: true } }],
      ['/payload/0/extensions/country type'],
    ],
    [
      'extensions that are no object',
      [{ ...good, extensions: [] }],
      ['/payload/0/extensions type'],
    ],
    ['extensions that are null', [{ ...good, extensions: null }], ['/payload/0/extensions type']],
    [
      'an extension twice that differs',
      [{ ...good, extensions: { country: 'FR' } }],
      ['/payload/0/extensions/country conflicting_keys'],
    ],
    ['an unknown key', [{ ...good, price: 1 }], ['/payload/0/price unknown_key']],
    ['an attribute', [{ ...good, description: 'x' }], ['/payload/0/description unknown_key']],
    [
      'an unknown nested key',
      [{ ...good, extensions: { 'a/b~c': 1 } }],
      ['/payload/0/extensions/a~1b~0c unknown_key'],
    ],
    ['constructor as a key', [{ ...good, constructor: 1 }], ['/payload/0/constructor unknown_key']],
    [
      'good and bad rows, of the shape and of the catalog: every bad one is named',
      [
        good,
        { code: 'X', country: 'UK' },
        { code: 5, country: 'UK' },
        { code: 'A' },
        { code: 'B', country: 'UK', more: 1 },
        { code: 'B', country: 'FR' },
        'A',
      ],
      [
        '/payload/1/code unknown_product',
        '/payload/2/code type',
        '/payload/3/country required',
        '/payload/4/more unknown_key',
        '/payload/6 type',
      ],
    ],
  ]
  for (const [name, payload, faults] of table)
    await t.test(name, async (t) => {
      expectFaults(t, await shop.post(path, { name: 'L', payload }), faults)
    })
  t.strictSame(await rowsOf(shop, list, 'version=draft'), [], 'nothing was written')
})

t.test('bad bodies', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const table: [string, unknown, string[]][] = [
    ['an array', [], [' type']],
    ['no payload', { name: 'L' }, ['/payload required']],
    ['a payload that is no array', { name: 'L', payload: {} }, ['/payload type']],
    ['a payload that is null', { name: 'L', payload: null }, ['/payload type']],
    ['a name that is no string', { name: 5, payload: [] }, ['/name type']],
    ['a null name', { price_list_name: null, payload: [] }, ['/price_list_name type']],
    ['an empty name', { price_list_name: '', payload: [] }, ['/price_list_name length']],
    ['an unknown key', { name: 'L', payload: [], id: 1 }, ['/id unknown_key']],
    ['price_list_id', { price_list_id: 1, payload: [] }, ['/price_list_id unknown_key']],
  ]
  for (const [name, body, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await shop.post(path, body), faults))
})

t.test(
  'overlapping additions to one list at once all succeed, each product in one row',
  async (t) => {
    const codes = Array.from({ length: 30 }, (_, index) => `P${index}`)
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const some = codes.slice(index, index + 15).sort(() => Math.random() - 0.5)
        return shop.post(path, {
          name: 'L',
          payload: some.map((code) => ({ code, country: 'UK' })),
        })
      }),
    )
    t.strictSame(new Set(responses.map(({ status }) => status)), new Set([201]))
    const ids = new Set(responses.flatMap(({ body }) => body))
    t.strictSame(new Set((await rowsOf(shop, list)).map(({ pk }) => pk)), ids)
    t.equal(ids.size, 26)
  },
)
