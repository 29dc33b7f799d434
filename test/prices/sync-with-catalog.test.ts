import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import {
  codes,
  inUk,
  names,
  pks,
  pricesPath,
  rowsOf,
  sync,
  syncPath,
  upsertPath,
} from '../helpers/sync.ts'

const service = await sharedService()

t.test('keeps, removes, adds and leaves out, as the rule table says, and publishes', async (t) => {
  const shop = await aShop(t, service, { codes: ['D', 'B', 'A', 'C'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { code: ['A', 'B', 'C'] } })
  const [a, b] = await addProducts(shop, 'L', inUk(['A', 'B']))
  const price = { code: 'A', country: 'UK', price: 2.5 }
  await shop.post(pricesPath, { price_list_name: 'L', payload: [price] })
  await shop.post(upsertPath, [{ code: 'B', country: 'UK', active: false }])
  const { status, body } = await sync(shop)
  t.equal(status, 201)
  const rows = await rowsOf(shop, list)
  t.strictSame(names(rows), ['A', 'C'])
  t.strictSame(body, { added: [rows[1]?.pk], removed: [b], untouched: [a] })
  t.strictSame(
    rows.map(({ prices }) => prices),
    [{ price: 2.5 }, { price: 0 }],
    'what stays keeps its price, what is added has price 0',
  )
  t.strictSame(names(await rowsOf(shop, list, 'draft')), ['A', 'C'])
  const again = await sync(shop)
  t.strictSame(again.body, { added: [], removed: [], untouched: pks(rows) }, 'then nothing changes')
})

t.test('ids are in the order of code and extensions', async (t) => {
  const shop = await aShop(t, service, { codes: ['b', 'a', 'Z'], countries: ['UK', 'FR'] })
  const list = await aList(shop, { name: 'L' })
  const { body } = await sync(shop)
  const rows = await rowsOf(shop, list)
  const byKey = rows.sort((x, y) => (x.code + x.country < y.code + y.country ? -1 : 1))
  t.strictSame(body.added, pks(byKey))
  t.strictSame(
    byKey.map(({ code, country }) => `${code} ${country}`),
    ['Z FR', 'Z UK', 'a FR', 'a UK', 'b FR', 'b UK'],
  )
})

t.test(
  'all keys of a filter must match, any of their values, each of the column type',
  async (t) => {
    const shop = await service.newAccount(t)
    await shop.post('/api/v1/product_catalog/schema/create_schema/', {
      attributes: [
        { name: 'brand', type: 'string' },
        { name: 'weight', type: 'number' },
        { name: 'fragile', type: 'boolean' },
        { name: 'since', type: 'date' },
      ],
      extensions: [
        { name: 'size', type: 'integer' },
        { name: 'country', type: 'string' },
      ],
    })
    const heavy = { brand: 'acme', weight: 10.5, fragile: false, since: '2024-02-29' }
    const light = { brand: "O'Hara", weight: 0, fragile: true, since: '2025-01-01' }
    await shop.post(upsertPath, [
      { code: 'A', size: 1, country: 'UK', ...heavy },
      { code: 'A', size: 10, country: 'FR', ...heavy },
      { code: 'B', size: 1, country: 'FR', ...light },
      { code: 'C', size: 2, country: 'UK' },
      { code: 'D', size: 1, country: 'UK', ...light, active: false },
    ])
    const cases: [object, string[]][] = [
      [{}, ['A1UK', 'A10FR', 'B1FR', 'C2UK']],
      [{ code: ['A'] }, ['A1UK', 'A10FR']],
      [{ code: ['A', 'C', 'nothing'] }, ['A1UK', 'A10FR', 'C2UK']],
      [{ code: ['a'] }, []],
      [{ code: [] }, []],
      [{ size: [1] }, ['A1UK', 'B1FR']],
      [{ size: [1, 10] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ brand: ['acme'] }, ['A1UK', 'A10FR']],
      [{ brand: ["O'Hara", 'acme'] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ weight: [10.5] }, ['A1UK', 'A10FR']],
      [{ weight: [0] }, ['B1FR']],
      [{ fragile: [true] }, ['B1FR']],
      [{ fragile: [false, true] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ since: ['2024-02-29'] }, ['A1UK', 'A10FR']],
      [{ brand: ['acme'], country: ['UK'] }, ['A1UK']],
      [{ country: ['FR'], size: [1], fragile: [true], code: ['A', 'B'] }, ['B1FR']],
      [{ country: ['FR'], size: [2] }, []],
    ]
    for (const [index, [product_filters, expected]] of cases.entries()) {
      const list = await aList(shop, { name: `L${index}`, product_filters })
      const { body } = await sync(shop, `L${index}`)
      const { results } = (await shop.get(`/api/v1/price_list/${list.id}/rows`)).body
      const label = (row: { code: string; size: number; country: string }) =>
        `${row.code}${row.size}${row.country}`
      t.strictSame(
        new Set(results.map(label)),
        new Set(expected),
        `filter ${JSON.stringify(product_filters)}`,
      )
      t.equal(body.added.length, expected.length)
    }
  },
)

t.test('an unpublished list is published, also when nothing matches', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { code: ['X'] } })
  const read = () =>
    shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [{}] })
  t.equal((await read()).status, 409)
  const { status, body } = await sync(shop)
  t.equal(status, 201)
  t.strictSame(body, { added: [], removed: [], untouched: [] })
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, true)
  const { status: readable, body: prices } = await read()
  t.equal(readable, 201)
  t.strictSame(prices, [])
})

t.test('a list is published again, also when nothing changes', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const publishedAt = async () => {
    await sync(shop)
    return Date.parse((await shop.get(`/api/v1/price_list/${id}`)).body.published_at)
  }
  const first = await publishedAt()
  t.ok((await publishedAt()) > first)
})

t.test('a new attribute value or a new product counts from the next sync on', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { description: ['new'] } })
  t.strictSame((await sync(shop)).body.added, [])
  await shop.post(upsertPath, [
    { code: 'B', country: 'UK', description: 'new' },
    { code: 'C', country: 'UK', description: 'new' },
  ])
  t.equal((await sync(shop)).body.added.length, 2)
  t.strictSame(names(await rowsOf(shop, list)), ['B', 'C'])
})

t.test('a row that is removed and added again starts anew', async (t) => {
  const days = [{ is_calendar: false }, { is_calendar: true }]
  for (const { is_calendar } of days) {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
    const list = await aList(shop, { name: 'L', is_calendar })
    const { body: first } = await sync(shop)
    const date = is_calendar ? { date: '2026-01-01' } : {}
    await shop.post(pricesPath, {
      price_list_name: 'L',
      payload: inUk(['A', 'B']).map((row) => ({ ...row, ...date, price: 7 })),
    })
    await select(
      service.url,
      `update price_list_rows set dynamic_attributes = '{"a":1}' where account_id = ${shop.id}`,
    )
    const setActive = (active: boolean) =>
      shop.post(upsertPath, [{ code: 'A', country: 'UK', active }])
    await setActive(false)
    t.strictSame((await sync(shop)).body.removed, [first.added[0]])
    await setActive(true)
    const { body } = await sync(shop)
    t.strictSame(body.untouched, [first.added[1]])
    t.equal(body.added.length, 1)
    const [a, b] = await rowsOf(shop, list)
    t.match(a, { code: 'A', prices: { price: 0 } })
    t.strictSame(a?.dynamic_attributes, {})
    t.match(b, { code: 'B', prices: { price: 7 }, dynamic_attributes: { a: 1 } })
  }
})

t.test('so does one whose removed row is not deleted yet', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', is_calendar: true })
  await sync(shop)
  const payload = inUk(['A', 'B']).map((row) => ({ ...row, date: '2026-01-01', price: 7 }))
  await shop.post(pricesPath, { price_list_name: 'L', payload })
  await select(
    service.url,
    `update price_list_rows set removed_version = 1, dynamic_attributes = '{"a":1}'
     where price_list_id = $1 and code = 'A'`,
    [list.id],
  )
  t.strictSame(names(await rowsOf(shop, list)), ['B'])
  t.equal((await sync(shop)).body.added.length, 1)
  const [a, b] = await rowsOf(shop, list)
  t.match(a, { code: 'A', prices: { price: 0 } })
  t.strictSame(a?.dynamic_attributes, {})
  t.match(b, { code: 'B', prices: { price: 7 } })
})

t.test('removed rows and their calendar prices are kept apart from the list', async (t) => {
  for (const count of [2, 150]) {
    const settings = { codes: codes(0, count), is_calendar: true }
    const { shop, list } = await aFilledList(t, service, settings)
    const payload = [{ code: 'P0000', country: 'UK', date: '2026-01-01', price: 7 }]
    await shop.post(pricesPath, { price_list_name: 'L', payload })
    const inactive = inUk(codes(0, count - 1)).map((row) => ({ ...row, active: false }))
    await shop.post(upsertPath, inactive)
    const { body } = await sync(shop)
    const { removed } = body.removed ? body : (await shop.finished(body)).result
    t.equal(removed.length, count - 1)
    const stored = () =>
      select(
        service.url,
        `select (select count(*)::int from price_list_rows where price_list_id = $1) as rows,
           (select count(*)::int from removed_rows where price_list_id = $1) as removed`,
        [list.id],
      )
    while ((await stored())[0].rows > 1) await new Promise((resolve) => setTimeout(resolve, 20))
    t.strictSame(await stored(), [{ rows: 1, removed: count - 1 }])
  }
})

t.test('up to 100 products are handled at once; added, removed and untouched count', async (t) => {
  const rows = inUk(codes(0, 70))
  const { shop, list } = await aFilledList(t, service, { codes: codes(0, 101), rows })
  const off = inUk([...codes(40, 70), 'P0100']).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const atOnce = await sync(shop)
  t.equal(atOnce.status, 201)
  t.equal(atOnce.headers.location, undefined)
  t.equal(atOnce.body.untouched.length, 40)
  t.equal(atOnce.body.removed.length, 30)
  t.equal(atOnce.body.added.length, 30)
  t.equal((await rowsOf(shop, list)).length, 70)
})

t.test('a body that is not as the contract says is 400, and nothing is written', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const type = 'invalid-request'
  const at = '/price_list_name'
  const cases: [unknown, string, [string, string][]][] = [
    [{}, type, [[at, 'required']]],
    [{ price_list_name: 5 }, type, [[at, 'type']]],
    [{ price_list_name: null }, type, [[at, 'type']]],
    [{ price_list_name: ['L'] }, type, [[at, 'type']]],
    [{ price_list_name: '' }, type, [[at, 'length']]],
    [{ price_list_name: 'L'.repeat(256) }, type, [[at, 'length']]],
    [{ price_list_name: 'L', name: 'L' }, type, [['/name', 'unknown_key']]],
    [{ price_list_name: 'L', payload: [] }, type, [['/payload', 'unknown_key']]],
    [
      { price_list_id: list.id },
      type,
      [
        [at, 'required'],
        ['/price_list_id', 'unknown_key'],
      ],
    ],
    [[], type, [['', 'type']]],
    ['"L"', type, [['', 'type']]],
    [
      '{"price_list_name":"L","price_list_name":"L"}',
      'malformed-body',
      [['/price_list_name', 'not_allowed']],
    ],
    ['{"price_list_name":"L\\u0000"}', 'malformed-body', [['/price_list_name', 'not_allowed']]],
    ['{"price_list_name":"\\ud800"}', 'malformed-body', [['/price_list_name', 'not_allowed']]],
    ['{"__proto__":{}}', 'malformed-body', [['', 'not_allowed']]],
    ['{', 'malformed-body', []],
    [undefined, 'malformed-body', []],
  ]
  for (const [payload, problem, expected] of cases) {
    const { status, body } = await shop.post(syncPath, payload)
    const name = JSON.stringify(payload)?.slice(0, 60)
    t.equal(status, 400, name)
    t.equal(body.type, problem, name)
    const found = (body.errors ?? []).map((error: { pointer: string; code: string }) => [
      error.pointer,
      error.code,
    ])
    t.strictSame(new Set(found), new Set(expected), name)
  }
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test("an unknown list and another account's list are the same 404", async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const other = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(other, { name: 'theirs' })
  const { body: foreign, status } = await sync(shop, 'theirs')
  const { body: absent } = await sync(shop, 'nobodys')
  t.equal(status, 404)
  t.equal(foreign.type, 'price-list-not-found')
  const detail = foreign.detail.replace('theirs', 'nobodys')
  t.strictSame({ ...foreign, detail, instance: '' }, { ...absent, instance: '' })
  t.equal((await other.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test('a list that was made elsewhere is 409', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await select(service.url, `update price_lists set origin = 'interface' where id = $1`, [list.id])
  const { status, body } = await sync(shop)
  t.equal(status, 409)
  t.equal(body.type, 'price-list-not-managed')
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test('products of other accounts do not come into the list', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  t.equal((await sync(shop)).body.added.length, 1)
  t.strictSame(names(await rowsOf(shop, list)), ['A'])
})
