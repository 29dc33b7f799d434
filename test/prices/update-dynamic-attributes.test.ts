import t, { type Test } from 'tap'
import { query } from '../helpers/database.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_dynamic_attributes/'
const service = await sharedService()

const key = { code: 'A', country: 'UK' }

function attribute(name: string, value: unknown, of: object = key): Record<string, unknown> {
  return { ...of, dynamic_attribute_name: name, dynamic_attribute_value: value }
}

/** A shop with the rows A and B, UK and FR, in the published list L. */
const aPublishedShop = (t: Test) =>
  aFilledList(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })

const set = (shop: TestAccount, payload: unknown[], list: object = { price_list_name: 'L' }) =>
  shop.post(path, { ...list, payload })

/** The dynamic attributes of every row, as get_prices shows them, by code and country. */
async function kept(shop: TestAccount): Promise<Record<string, unknown>> {
  const { body } = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    include: ['dynamic_attributes'],
    payload: [{}],
  })
  const entries = body.map((row: Record<string, unknown>) => [
    `${row.code} ${row.country}`,
    row.dynamic_attributes,
  ])
  return Object.fromEntries(entries)
}

const nothing = { 'A FR': {}, 'A UK': {}, 'B FR': {}, 'B UK': {} }

t.test('sets attributes and answers the ids of the rows in payload order, each once', async (t) => {
  const { shop, pks } = await aPublishedShop(t)
  const [aUk, aFr, bUk] = pks
  const { status, body, headers } = await set(shop, [
    attribute('shelf', 4, { code: 'B', country: 'UK' }),
    attribute('shelf', 1),
    attribute('colour', 'red', { code: 'B', extensions: { country: 'UK' } }),
    attribute('shelf', 2, { code: 'A', country: 'FR' }),
    attribute('side', 'left'),
  ])
  t.equal(status, 201)
  t.equal(headers['price-list-revision'], '1', 'the revision that holds: there is no new one')
  t.strictSame(body, [bUk, aUk, aFr])
  t.strictSame(await kept(shop), {
    ...nothing,
    'A UK': { shelf: 1, side: 'left' },
    'A FR': { shelf: 2 },
    'B UK': { shelf: 4, colour: 'red' },
  })
})

t.test('both reads show the attributes, get_prices only where it is asked to', async (t) => {
  const { shop, id, pks } = await aPublishedShop(t)
  await set(shop, [attribute('shelf', { aisle: 4 })])
  const { results } = (await shop.get(`/api/v1/price_list/${id}/rows`)).body
  const row = results.find(({ pk }: { pk: number }) => pk === pks[0])
  t.strictSame(row.dynamic_attributes, { shelf: { aisle: 4 } })
  const draft = (await shop.get(`/api/v1/price_list/${id}/rows?version=draft`)).body
  t.notOk(draft.results.some((row: object) => 'dynamic_attributes' in row))
  const read = { price_list_name: 'L', payload: [key] }
  const plain = (await shop.post('/api/v1/prices/get_prices/', read)).body
  t.notOk('dynamic_attributes' in plain[0])
})

const values: unknown[] = [
  false,
  true,
  0,
  -1.5,
  0.1,
  1e21,
  1e-7,
  1.7976931348623157e308,
  '',
  ' ',
  'text',
  '"\\/\n\t',
  '😀',
  'null',
  [],
  [[]],
  [1, 'two', false, null, {}],
  {},
  { a: { b: [{ c: null }] } },
  { constructor: 1, toString: '', 'a"b': 2, '': 3, 'ä/~': 4 },
  'x'.repeat(4094),
  'é'.repeat(2047),
]

t.test('any JSON value comes back as it was sent', async (t) => {
  const { shop } = await aPublishedShop(t)
  const names = values.map((_, index) => `value ${index}`)
  const { status } = await set(
    shop,
    values.map((value, index) => attribute(names[index] ?? '', value)),
  )
  t.equal(status, 201)
  const expected = Object.fromEntries(values.map((value, index) => [names[index], value]))
  t.strictSame((await kept(shop))['A UK'], expected)
})

t.test('any name comes back as it was sent', async (t) => {
  const { shop } = await aPublishedShop(t)
  const names = [
    'constructor',
    'toString',
    'hasOwnProperty',
    'prototype',
    'price',
    'code',
    '0',
    ' ',
    ' x ',
    `'; drop table price_list_rows; --`,
    '"',
    '\\',
    '{}',
    '$1',
    'a.b',
    '\u00e9',
    'e\u0301',
    '😀'.repeat(255),
  ]
  const { status } = await set(
    shop,
    names.map((name, index) => attribute(name, index)),
  )
  t.equal(status, 201)
  const read = (await kept(shop))['A UK'] as Record<string, unknown>
  t.strictSame(new Set(Object.keys(read)), new Set(names))
  for (const [index, name] of names.entries()) t.equal(read[name], index, name)
})

t.test('names that a call leaves out stay, a name that it gives is replaced whole', async (t) => {
  const { shop } = await aPublishedShop(t)
  await set(shop, [attribute('a', { x: 1 }), attribute('b', 1)])
  await set(shop, [attribute('a', { y: 2 }), attribute('c', [])])
  t.strictSame((await kept(shop))['A UK'], { a: { y: 2 }, b: 1, c: [] })
})

t.test('prices and the draft are not altered, and attributes survive a publication', async (t) => {
  const { shop, id } = await aPublishedShop(t)
  const price = { price_list_name: 'L', payload: [{ ...key, price: 2.5 }] }
  await shop.post('/api/v1/prices/bulk_update_prices/', price)
  const before = (await shop.get(`/api/v1/price_list/${id}/rows?version=draft`)).body
  await set(shop, [attribute('a', 1)])
  t.strictSame((await shop.get(`/api/v1/price_list/${id}/rows?version=draft`)).body, before)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ code: 'C', country: 'UK' }])
  await addProducts(shop, 'L', [{ code: 'C', country: 'UK' }, key])
  const { body } = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    include: ['dynamic_attributes'],
    payload: [key],
  })
  t.match(body, [{ active_price: 2.5, dynamic_attributes: { a: 1 } }])
})

t.test('a calendar list has attributes by row, not by day', async (t) => {
  const { shop, pks } = await aFilledList(t, service, { is_calendar: true })
  const [pk] = pks
  t.strictSame((await set(shop, [attribute('a', 1)])).body, [pk])
  const { status, body } = await set(shop, [{ ...attribute('a', 2), date: '2026-01-01' }])
  t.equal(status, 400)
  t.match(body.errors, [{ pointer: '/payload/0/date', code: 'unknown_key' }])
})

t.test('an empty payload does nothing', async (t) => {
  const { shop } = await aPublishedShop(t)
  t.match(await set(shop, []), { status: 201, body: { length: 0 } })
  t.strictSame(await kept(shop), nothing)
})

t.test('the same row and name twice: equal counts once, different is refused', async (t) => {
  const { shop, pks } = await aPublishedShop(t)
  const same = [
    attribute('a', { x: [1], y: 2 }),
    attribute('a', { y: 2, x: [1] }, { code: 'A', extensions: { country: 'UK' } }),
  ]
  t.strictSame((await set(shop, same)).body, [pks[0]])
  const differing: [unknown, unknown][] = [
    [1, 2],
    [1, '1'],
    [0, false],
    ['', false],
    [[], {}],
    [
      [1, 2],
      [2, 1],
    ],
  ]
  for (const [one, other] of differing) {
    const { status, body } = await set(shop, [
      attribute('b', one),
      attribute('c', 1),
      attribute('b', other),
    ])
    t.equal(status, 400)
    t.match(body.errors, [{ pointer: '/payload/2', row: 2, code: 'duplicate_row' }])
    t.match(body.errors[0].message, 'rows 0 and 2')
  }
  t.strictSame(await kept(shop), { ...nothing, 'A UK': { a: { x: [1], y: 2 } } })
})

t.test('null removes the attribute, and a row that has none is no error', async (t) => {
  const { shop, pks } = await aPublishedShop(t)
  const [aUk, aFr, bUk] = pks
  const other = { code: 'A', country: 'FR' }
  await set(shop, [attribute('a', 1), attribute('b', { c: null }), attribute('a', 1, other)])
  const { status, body } = await set(shop, [
    attribute('a', null, { code: 'B', country: 'UK' }),
    attribute('none', null),
    attribute('a', null),
    attribute('d', 4),
    attribute('b', null, other),
  ])
  t.equal(status, 201)
  t.strictSame(body, [bUk, aUk, aFr])
  t.strictSame(await kept(shop), {
    ...nothing,
    'A UK': { b: { c: null }, d: 4 },
    'A FR': { a: 1 },
  })
  await set(shop, [attribute('b', null), attribute('d', null), attribute('a', null, other)])
  t.strictSame(await kept(shop), nothing)
})

t.test('any name is removed, and no other one', async (t) => {
  const { shop } = await aPublishedShop(t)
  const names = ['{}', 'NULL', '{a,b}', '"', '\\', 'a', 'A', ' a', '0', 'constructor', '']
  const others = names.filter((name) => name !== '').map((name) => `${name}.`)
  for (const name of names.slice(0, -1)) {
    await set(
      shop,
      [name, ...others].map((one) => attribute(one, 1)),
    )
    t.equal((await set(shop, [attribute(name, null)])).status, 201)
    const read = Object.keys((await kept(shop))['A UK'] as object)
    t.strictSame(new Set(read), new Set(others), name)
  }
})

t.test('the same row and name, once removed and once set, is refused', async (t) => {
  const { shop } = await aPublishedShop(t)
  await set(shop, [attribute('a', 1)])
  for (const [one, second] of [
    [null, 1],
    [1, null],
    [null, 'null'],
    [null, false],
  ]) {
    const { status, body } = await set(shop, [attribute('a', one), attribute('a', second)])
    t.equal(status, 400)
    t.match(body.errors, [{ pointer: '/payload/1', row: 1, code: 'duplicate_row' }])
  }
  t.strictSame((await kept(shop))['A UK'], { a: 1 })
  t.equal((await set(shop, [attribute('a', null), attribute('a', null)])).status, 201)
  t.strictSame(await kept(shop), nothing)
})

t.test('a bad row beside a removal: nothing is removed', async (t) => {
  const { shop } = await aPublishedShop(t)
  await set(shop, [attribute('a', 1)])
  const absent = attribute('a', null, { code: 'A', country: 'DE' })
  const { status, body } = await set(shop, [attribute('a', null), absent])
  t.equal(status, 400)
  t.match(body.errors, [{ pointer: '/payload/1/code', code: 'row_not_in_list' }])
  t.strictSame((await kept(shop))['A UK'], { a: 1 })
})

t.test('the list is named by price_list_name, price_list_id or both', async (t) => {
  const { shop, id, pks } = await aPublishedShop(t)
  const other = await aList(shop, { name: 'M' })
  for (const list of [
    { price_list_name: 'L' },
    { price_list_id: id },
    { price_list_name: 'L', price_list_id: id },
  ])
    t.strictSame((await set(shop, [attribute('a', 1)], list)).body, [pks[0]])
  const cases: [object, number, string, string | undefined][] = [
    [{}, 400, 'invalid-request', '/price_list_name'],
    [{ price_list_name: 'M', price_list_id: id }, 400, 'invalid-request', '/price_list_id'],
    [{ price_list_name: 'none', price_list_id: id }, 400, 'invalid-request', '/price_list_id'],
    [{ price_list_name: 'L', price_list_id: other.id }, 400, 'invalid-request', '/price_list_id'],
    [{ price_list_id: String(id) }, 400, 'invalid-request', '/price_list_id'],
    [{ price_list_id: 0 }, 400, 'invalid-request', '/price_list_id'],
    [{ price_list_name: null }, 400, 'invalid-request', '/price_list_name'],
    [{ name: 'L' }, 400, 'invalid-request', '/name'],
    [{ price_list_name: 'none' }, 404, 'price-list-not-found', undefined],
    [{ price_list_id: 9007199254740991 }, 404, 'price-list-not-found', undefined],
    [{ price_list_name: 'M' }, 409, 'price-list-not-published', undefined],
  ]
  for (const [list, status, type, pointer] of cases) {
    const answer = await set(shop, [attribute('a', 2)], list)
    t.equal(answer.status, status, JSON.stringify(list))
    t.equal(answer.body.type, type, JSON.stringify(list))
    t.equal(answer.body.errors?.[0].pointer, pointer, JSON.stringify(list))
  }
  t.strictSame((await kept(shop))['A UK'], { a: 1 })
})

t.test('a list that was made elsewhere is a conflict', async (t) => {
  const { shop, id } = await aPublishedShop(t)
  await query(service.url, `update price_lists set origin = 'interface' where id = ${id}`)
  const { status, body } = await set(shop, [attribute('a', 1)])
  t.equal(status, 409)
  t.equal(body.type, 'price-list-not-managed')
  t.strictSame(await kept(shop), nothing)
})

t.test('the list of another account answers like one that does not exist', async (t) => {
  const [mine, theirs] = [await aPublishedShop(t), await service.newAccount(t)]
  const foreign = await set(theirs, [attribute('a', 1)], { price_list_id: mine.id })
  const absent = await set(theirs, [attribute('a', 1)], { price_list_id: 9007199254740991 })
  t.equal(foreign.status, 404)
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
  t.strictSame(await kept(mine.shop), nothing)
})

/** JSON text, for what JSON.stringify would not write. */
const raw = (value: string) =>
  `{"code":"A","country":"UK","dynamic_attribute_name":"n","dynamic_attribute_value":${value}}`

const bad: [string, unknown, { pointer: string; code: string }[]][] = [
  ['no code', { ...attribute('n', 1), code: undefined }, [{ pointer: '/code', code: 'required' }]],
  [
    'no extension',
    { ...attribute('n', 1), country: undefined },
    [{ pointer: '/country', code: 'required' }],
  ],
  [
    'an extension of another type',
    { ...attribute('n', 1), country: 1 },
    [{ pointer: '/country', code: 'type' }],
  ],
  [
    'an attribute beside code',
    { ...attribute('n', 1), description: 'x' },
    [{ pointer: '/description', code: 'unknown_key' }],
  ],
  ['a price', { ...attribute('n', 1), price: 1 }, [{ pointer: '/price', code: 'unknown_key' }]],
  [
    'a row that is not in the list',
    attribute('n', 1, { code: 'A', country: 'DE' }),
    [{ pointer: '/code', code: 'row_not_in_list' }],
  ],
  [
    'no name',
    { ...key, dynamic_attribute_value: 1 },
    [{ pointer: '/dynamic_attribute_name', code: 'required' }],
  ],
  ['an empty name', attribute('', 1), [{ pointer: '/dynamic_attribute_name', code: 'length' }]],
  [
    'a name of 256 characters',
    attribute('x'.repeat(256), 1),
    [{ pointer: '/dynamic_attribute_name', code: 'length' }],
  ],
  [
    'a number as name',
    attribute(1 as never, 1),
    [{ pointer: '/dynamic_attribute_name', code: 'type' }],
  ],
  [
    '__proto__ as name',
    attribute('__proto__', 1),
    [{ pointer: '/dynamic_attribute_name', code: 'not_allowed' }],
  ],
  [
    'no value',
    { ...key, dynamic_attribute_name: 'n' },
    [{ pointer: '/dynamic_attribute_value', code: 'required' }],
  ],
  [
    '4,097 bytes',
    attribute('n', 'x'.repeat(4095)),
    [{ pointer: '/dynamic_attribute_value', code: 'length' }],
  ],
  [
    '4,098 bytes in 2,050 characters',
    attribute('n', 'é'.repeat(2048)),
    [{ pointer: '/dynamic_attribute_value', code: 'length' }],
  ],
  [
    'a number that overflows',
    raw('1e400'),
    [{ pointer: '/dynamic_attribute_value', code: 'type' }],
  ],
  [
    'a number with too many digits',
    raw('9007199254740993'),
    [{ pointer: '/dynamic_attribute_value', code: 'type' }],
  ],
  [
    'such numbers inside a value',
    raw('{"a/b":[1,-1e999,{"c~":0.12345678901234567890}],"d":1}'),
    [
      { pointer: '/dynamic_attribute_value/a~1b/1', code: 'type' },
      { pointer: '/dynamic_attribute_value/a~1b/2/c~0', code: 'type' },
    ],
  ],
]

t.test('a bad row is refused with its pointer and nothing is written', async (t) => {
  const { shop } = await aPublishedShop(t)
  for (const [what, row, expected] of bad) {
    const rows = [attribute('fine', 1), row].map((item) =>
      typeof item === 'string' ? item : JSON.stringify(item),
    )
    const { status, body } = await shop.post(
      path,
      `{"price_list_name":"L","payload":[${rows.join(',')}]}`,
    )
    t.equal(status, 400, what)
    t.strictSame(
      body.errors?.map(({ pointer, row, code }: Record<string, unknown>) => ({
        pointer,
        row,
        code,
      })),
      expected.map(({ pointer, code }) => ({ pointer: `/payload/1${pointer}`, row: 1, code })),
      what,
    )
  }
  t.strictSame(await kept(shop), nothing)
})

t.test('a body of another shape is refused', async (t) => {
  const { shop } = await aPublishedShop(t)
  const texts = ['\\u0000', '\\ud800']
  const bodies = [
    [attribute('a', 1)],
    { price_list_name: 'L' },
    { price_list_name: 'L', payload: attribute('a', 1) },
    { price_list_name: 'L', payload: [[]] },
    ...texts.map((text) => `{"price_list_name":"L","payload":[${raw(`{"a":"${text}"}`)}]}`),
    `{"price_list_name":"L","payload":[${raw('{"a":1,"a":1}')}]}`,
    `{"price_list_name":"L","payload":[${raw('{"__proto__":1}')}]}`,
    `{"price_list_name":"L","payload":[${raw(`${'['.repeat(40)}${']'.repeat(40)}`)}]}`,
  ]
  for (const body of bodies)
    t.equal((await shop.post(path, body)).status, 400, JSON.stringify(body))
  t.strictSame(await kept(shop), nothing)
})

t.test('a row that a job is about to publish is waited for', async (t) => {
  const { shop } = await aPublishedShop(t)
  const products = Array.from({ length: 300 }, (_, index) => ({ code: `N${index}`, country: 'UK' }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', products)
  await shop.post('/api/v1/prices/bulk_add_products/', { name: 'L', payload: products })
  const { status, body } = await set(
    shop,
    products.map((product) => attribute('a', product.code, product)),
  )
  t.equal(status, 201)
  t.equal(body.length, 300)
  const all = await kept(shop)
  t.strictSame(all['N299 UK'], { a: 'N299' })
})

t.test('calls on one list at the same time lose nothing of each other', async (t) => {
  const { shop } = await aPublishedShop(t)
  const calls = Array.from({ length: 12 }, (_, index) => set(shop, [attribute(`n${index}`, index)]))
  for (const { status } of await Promise.all(calls)) t.equal(status, 201)
  const expected = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`n${index}`, index]),
  )
  t.strictSame((await kept(shop))['A UK'], expected)
})
