import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/faults.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const schema = {
  attributes: [
    { name: 'title', type: 'string' },
    { name: 'weight', type: 'integer' },
  ],
  extensions: [{ name: 'size', type: 'integer' }],
  costs: [{ name: 'purchase' }],
}
const products = [
  { code: 'A', size: 10, title: 'Red Lamp', weight: 7, purchase: 1 },
  { code: 'A', size: 9, title: 'Red Lamp', weight: 7, purchase: 2 },
  { code: 'B', size: 1, title: 'Grüner Stuhl', weight: 42, purchase: 1 },
  { code: 'C', size: 1, title: 'Straße', weight: 42 },
  { code: 'D', size: 1, title: 'lamp' },
]

/** Prices: A 10: 4, A 9: 4, B: 2, C: 8, D: none. Margins: 75, 50, 50, null, null. */
async function aPricedList(t: Parameters<typeof aShopOf>[0], settings: object = {}, day = {}) {
  const shop = await aShopOf(t, service, schema, products)
  const list = await aList(shop, { name: 'L', ...settings })
  const keys = products.map(({ code, size }) => ({ code, size }))
  await addProducts(shop, 'L', keys.toReversed())
  const prices = [4, 4, 2, 8].map((price, index) => ({ ...keys[index], ...day, price }))
  await setPrices(shop, 'L', prices)
  return { shop, list, path: `/api/v1/price_list/${list.id}/rows`, keys }
}

type Row = { pk: number; code: string; size: number }
const keyOf = ({ code, size }: Row) => `${code}${size}`

async function keysOf(shop: TestAccount, path: string, query: string): Promise<string[]> {
  const { status, body } = await shop.get(`${path}?${query}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.results.map(keyOf)
}

const orders: [query: string, keys: string[]][] = [
  ['order=code', ['A9', 'A10', 'B1', 'C1', 'D1']],
  ['order=-code', ['D1', 'C1', 'B1', 'A9', 'A10']],
  ['order=price', ['B1', 'A9', 'A10', 'C1', 'D1']],
  ['order=-price', ['C1', 'A9', 'A10', 'B1', 'D1']],
  ['order=margin', ['A9', 'B1', 'A10', 'C1', 'D1']],
  ['order=-margin', ['A10', 'A9', 'B1', 'C1', 'D1']],
]

for (const [settings, day] of [
  [{}, {}],
  [{ is_calendar: true }, { date: '2026-03-01' }],
]) {
  const kind = settings && 'is_calendar' in settings ? 'a calendar list on a day' : 'a list'
  const onDay = day && 'date' in day ? '&date=2026-03-01' : ''
  t.test(`rows of ${kind} are ordered over all pages, none last, ties by key`, async (t) => {
    const { shop, path } = await aPricedList(t, settings, day)
    for (const [order, keys] of orders) {
      t.strictSame(await keysOf(shop, path, `${order}${onDay}`), keys, order)
      const pages = await Promise.all(
        [0, 2, 4].map((offset) => keysOf(shop, path, `${order}${onDay}&limit=2&offset=${offset}`)),
      )
      t.strictSame(pages.flat(), keys, `${order} by pages`)
    }
  })

  t.test(`after goes on from a row of ${kind}, in any order`, async (t) => {
    const { shop, path } = await aPricedList(t, settings, day)
    for (const [order, keys] of [...orders, ['', ['A10', 'A9', 'B1', 'C1', 'D1']] as const]) {
      const found: string[] = []
      let after = ''
      for (;;) {
        const { body } = await shop.get(`${path}?${order}${onDay}&limit=2${after}`)
        t.equal(body.count, 5)
        found.push(...body.results.map(keyOf))
        if (body.results.length === 0) break
        after = `&after=${body.results.at(-1).pk}`
      }
      t.strictSame(found, keys, order)
    }
  })

  t.test(`a file of ${kind} has the order and the narrowing of its pages`, async (t) => {
    const { shop, path } = await aPricedList(t, settings, day)
    const linesOf = async (query: string): Promise<string[]> => {
      const accept = { accept: 'application/x-ndjson' }
      const { body } = await shop.send('GET', `${path}?${query}`, undefined, accept)
      return body.split('\n').filter(Boolean).map(JSON.parse).map(keyOf)
    }
    for (const [order, keys] of orders) {
      t.strictSame(await linesOf(`${order}${onDay}`), keys, order)
      t.strictSame(
        await linesOf(`${order}${onDay}&contains=lamp`),
        keys.filter((key) => /A|D/.test(key)),
        order,
      )
    }
    // The whole calendar, in the order of the prices of its first day: there are none.
    if (onDay !== '') t.strictSame((await linesOf('order=-code')).length, 5)
  })
}

t.test('price_dimension says whose price and margin orders the rows', async (t) => {
  const { shop, path, keys } = await aPricedList(
    t,
    { price_dimensions: ['x', 'y'] },
    { price_dimension: 'x' },
  )
  const prices = [1, 2, 3].map((price, index) => ({ ...keys[index], price_dimension: 'y', price }))
  await setPrices(shop, 'L', prices)
  t.strictSame(await keysOf(shop, path, 'order=-price'), ['C1', 'A9', 'A10', 'B1', 'D1'])
  const y = 'price_dimension=y'
  t.strictSame(await keysOf(shop, path, `order=-price&${y}`), ['B1', 'A9', 'A10', 'C1', 'D1'])
  t.strictSame(await keysOf(shop, path, `order=-margin&${y}`), ['B1', 'A9', 'A10', 'C1', 'D1'])
})

t.test('contains looks in code, extensions and text attributes, in any case', async (t) => {
  const { shop, path } = await aPricedList(t)
  const cases = {
    lamp: ['A9', 'A10', 'D1'],
    LAMP: ['A9', 'A10', 'D1'],
    'D L': ['A9', 'A10'],
    b: ['B1'],
    GRÜN: ['B1'],
    GRUN: [],
    straße: ['C1'],
    strasse: [],
    9: ['A9'],
    42: [],
    '%': [],
  }
  for (const [text, keys] of Object.entries(cases)) {
    const query = `order=code&contains=${encodeURIComponent(text)}`
    t.strictSame(await keysOf(shop, path, query), keys, text)
    t.equal((await shop.get(`${path}?${query}`)).body.count, keys.length, text)
  }
})

t.test('filters, contains and priced narrow together, and are counted together', async (t) => {
  const { shop, path } = await aPricedList(t)
  const of = (filters: object) => `filters=${encodeURIComponent(JSON.stringify(filters))}`
  const cases: [string, string[]][] = [
    [of({}), ['A9', 'A10', 'B1', 'C1', 'D1']],
    [of({ weight: [42] }), ['B1', 'C1']],
    [of({ size: [1, 9], weight: [7, 42] }), ['A9', 'B1', 'C1']],
    [of({ code: ['A', 'D'] }), ['A9', 'A10', 'D1']],
    [of({ code: [] }), []],
    [`${of({ code: ['A', 'D'] })}&contains=lamp&priced=true`, ['A9', 'A10']],
    [`${of({ size: [1] })}&contains=lamp`, ['D1']],
  ]
  for (const [query, keys] of cases) {
    t.strictSame(await keysOf(shop, path, `order=code&${query}`), keys, query)
    const { body } = await shop.get(`${path}?${query}&limit=1`)
    t.strictSame([body.count, body.results.length], [keys.length, Math.min(keys.length, 1)], query)
  }
})

t.test('the draft is ordered by code, and searched', async (t) => {
  const { shop, path } = await aPricedList(t)
  const draft = 'version=draft'
  t.strictSame(await keysOf(shop, path, `${draft}&order=-code`), ['D1', 'C1', 'B1', 'A9', 'A10'])
  t.strictSame(await keysOf(shop, path, `${draft}&order=code&contains=stuhl`), ['B1'])
  for (const order of ['price', '-price', 'margin', '-margin']) {
    const refused = await shop.get(`${path}?${draft}&order=${order}`)
    expectProblem(t, refused, { status: 400, type: 'invalid-request' })
    t.match(refused.body.errors, [{ pointer: '/query/order', code: 'not_allowed' }])
  }
})

t.test('rows of the past are ordered by their prices of then, and have no margins', async (t) => {
  const { shop, path, keys } = await aPricedList(t)
  await setPrices(shop, 'L', [{ ...keys[2], price: 100 }])
  t.strictSame(await keysOf(shop, path, 'order=-price'), ['B1', 'C1', 'A9', 'A10', 'D1'])
  const past = 'as_of=2'
  t.strictSame(await keysOf(shop, path, `${past}&order=-price`), ['C1', 'A9', 'A10', 'B1', 'D1'])
  t.strictSame(await keysOf(shop, path, `${past}&order=code&contains=red`), ['A9', 'A10'])
  const refused = await shop.get(`${path}?${past}&order=margin`)
  t.match(refused.body.errors, [{ pointer: '/query/order', message: /no history/ }])
})

const faults: [query: string, pointer: string, code: string][] = [
  ['order=', '/query/order', 'not_allowed'],
  ['order=name', '/query/order', 'not_allowed'],
  ['order=--code', '/query/order', 'not_allowed'],
  ['order=code,price', '/query/order', 'not_allowed'],
  ['contains=', '/query/contains', 'length'],
  [`contains=${'x'.repeat(256)}`, '/query/contains', 'length'],
  ['price_dimension=price', '/query/price_dimension', 'not_allowed'],
  ['order=code&price_dimension=price', '/query/price_dimension', 'not_allowed'],
  ['order=price&price_dimension=other', '/query/price_dimension', 'unknown_price_dimension'],
  ['order=code&offset=10001', '/query/offset', 'range'],
  ['after=0', '/query/after', 'range'],
  ['after=x', '/query/after', 'type'],
  ['after=1', '/query/after', 'not_allowed'],
  ['filters=', '/query/filters', 'length'],
  ['filters=lamp', '/query/filters', 'format'],
  ['filters=[]', '/query/filters', 'type'],
  ['filters={"title":"x"}', '/query/filters/title', 'type'],
  ['filters={"title":[null]}', '/query/filters/title/0', 'type'],
  ['filters={"colour":["red"]}', '/query/filters/colour', 'unknown_column'],
  ['filters={"weight":[1,"x"]}', '/query/filters/weight/1', 'type'],
  ['filters={"purchase":[1]}', '/query/filters/purchase', 'unknown_column'],
  ['filters={"title":["x"],"title":["y"]}', '/query/filters', 'format'],
  ['filters={"__proto__":["x"]}', '/query/filters', 'format'],
]

t.test('a faulty order, search or place is refused by name', async (t) => {
  const { shop, path } = await aPricedList(t)
  for (const [query, pointer, code] of faults) {
    const [name = '', value = ''] = query.split(/=(.*)/s)
    const written = name === 'filters' ? `filters=${encodeURIComponent(value)}` : query
    const refused = await shop.get(`${path}?${written}`)
    expectProblem(t, refused, { status: 400, type: 'invalid-request' })
    t.match(refused.body.errors, [{ pointer, code }], query)
    t.equal(refused.body.errors[0].pointer, pointer, query)
  }
})

t.test(
  'more rows than values are looked up for say so, and are ordered when narrowed',
  async (t) => {
    const { shop, list, path } = await aPricedList(t)
    await query(
      service.url,
      `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select ${shop.id}, ${list.id}, p.id, 'X' || i, '{1}', '["1"]', '{1}', 1 from generate_series(1, 100000) i,
       (select min(id) as id from products where account_id = ${shop.id}) p`,
    )
    for (const version of ['order=-margin', 'order=price&as_of=2']) {
      const refused = await shop.get(`${path}?${version}`)
      expectProblem(t, refused, { status: 400, type: 'too-costly' })
      t.match(refused.body.detail, /^An order by (margin|a past price) .* no more than 100000 rows/)
      t.strictSame(
        await keysOf(shop, path, `${version}&contains=lamp`),
        version.includes('margin') ? ['A10', 'A9', 'D1'] : ['A9', 'A10', 'D1'],
      )
    }
    t.equal((await shop.get(`${path}?order=price&limit=1`)).status, 200)
  },
)

t.test('a row of another list is no place to go on from', async (t) => {
  const { shop, path } = await aPricedList(t)
  const other = await aList(shop, { name: 'M' })
  const [pk] = await addProducts(shop, other.name, [{ code: 'A', size: 9 }])
  const refused = await shop.get(`${path}?order=price&after=${pk}`)
  t.match(refused.body.errors, [{ pointer: '/query/after', code: 'not_allowed' }])
})
