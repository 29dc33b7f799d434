import t from 'tap'
import { expectFaults } from '../helpers/faults.ts'
import { aSale, salesOf } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await sharedService()

const fullSale = aSale({
  price_list_name: 'Retail',
  price_dimension: 'price',
  active_price: '2.55',
  client_code: '17850',
  agreement_code: 'AG-1',
  departure_date: '2026-02-28',
  transaction_date: '2010-12-01T08:26:00Z',
  currency: 'GBP',
})
const stored = (sale: object) => ({ ...sale, transaction_date: '2010-12-01T08:26:00.000Z' })

t.test('every field is kept', async (t) => {
  const shop = await service.newAccount(t)
  const sales = [fullSale, aSale({ transaction_id: 'T2' })]
  const { status, body } = await shop.post(path, sales)
  t.equal(status, 201)
  t.equal(new Set(body).size, 2)
  t.strictSame(await salesOf(shop), [stored(fullSale), sales[1]])
  const withSlash = await shop.post(`${path}/`, sales)
  t.strictSame(withSlash.body, [], 'the path answers with a slash too')
})

t.test('answers the ids of the created sales in payload order, [] when all existed', async (t) => {
  const shop = await service.newAccount(t)
  const sales = (...ids: string[]) => ids.map((transaction_id) => aSale({ transaction_id }))
  const idOf = async (transaction_id: string) =>
    (await shop.get(`/api/v1/sales_history/?transaction_id=${transaction_id}`)).body.results[0].id
  await shop.post(path, sales('M', 'C'))
  const [z, a, x] = (await shop.post(path, sales('Z', 'M', 'A', 'C', 'X'))).body
  t.strictSame([z, a, x], [await idOf('Z'), await idOf('A'), await idOf('X')])
  const again = await shop.post(
    path,
    sales('Z', 'C').map((sale) => ({ ...sale, code: 'B' })),
  )
  t.strictSame({ status: again.status, body: again.body }, { status: 201, body: [] })
  t.strictSame((await shop.post(path, sales('A', 'Z'))).body, [], 'unchanged ones too')
  t.strictSame((await shop.post(path, [])).body, [])
  t.equal((await salesOf(shop)).length, 5)
})

t.test(
  'a later upsert replaces the sale: optional fields that it leaves out are gone, the id stays',
  async (t) => {
    const shop = await service.newAccount(t)
    const [id] = (await shop.post(path, [fullSale])).body
    const later = aSale({ code: 'B', extension: '', quantity: '-1', revenue: '0' })
    await shop.post(path, [later])
    t.strictSame((await shop.get('/api/v1/sales_history/')).body.results, [{ id, ...later }])
    await shop.post(path, [fullSale])
    t.strictSame(await salesOf(shop), [stored(fullSale)])
    for (const key of Object.keys(fullSale).filter((key) => !(key in aSale()))) {
      const { [key]: _, ...without } = fullSale
      await shop.post(path, [without])
      t.strictSame(
        await salesOf(shop),
        ['transaction_date' === key ? without : stored(without)],
        key,
      )
    }
  },
)

t.test('decimals are exact strings; quantity and revenue may be negative', async (t) => {
  const shop = await service.newAccount(t)
  const kept = [
    '0',
    '5',
    '-5',
    '19.99',
    '-19.99',
    '15.30',
    '0.000001',
    '-0.000001',
    '999999999999.999',
    '123456789012345',
    '123456789.012345',
    '100000000000000000000',
  ]
  const sales = kept.map((text, index) =>
    aSale({
      transaction_id: String(100 + index),
      quantity: text,
      revenue: text,
      active_price: text.replace('-', ''),
    }),
  )
  t.equal((await shop.post(path, sales)).status, 201)
  t.strictSame(await salesOf(shop), sales)
  for (const quantity of ['15.30', '15.3', '15.300', '15.3']) {
    await shop.post(path, [aSale({ quantity })])
    t.match(await salesOf(shop, 'transaction_id=T1'), [{ quantity }], 'decimals as last sent')
  }
  const spellings = { '+5': '5', '.5': '0.5', '5.': '5', '007': '7', '-0': '0', '00.50': '0.50' }
  for (const [sent, quantity] of Object.entries(spellings)) {
    const sale = aSale({ quantity: sent, active_price: sent })
    t.equal((await shop.post(path, [sale])).status, 201, sent)
    t.match(await salesOf(shop, 'transaction_id=T1'), [{ quantity, active_price: quantity }], sent)
  }
})

t.test('what is no exact decimal in a string is refused', async (t) => {
  const shop = await service.newAccount(t)
  const table: [unknown, string][] = [
    ['1234567890123456', 'format'],
    ['0.1234567', 'format'],
    ['1.234567890123456', 'format'],
    ['', 'format'],
    [' 5', 'format'],
    ['5 ', 'format'],
    ['5\n', 'format'],
    ['5,5', 'format'],
    ['1,000', 'format'],
    ['1_000', 'format'],
    ['--5', 'format'],
    ['1e2', 'format'],
    ['0x10', 'format'],
    ['NaN', 'format'],
    ['Infinity', 'format'],
    ['.', 'format'],
    ['-', 'format'],
    ['٣', 'format'],
    ['0'.repeat(41), 'format'],
    [5, 'type'],
    [null, 'type'],
    [true, 'type'],
    [['5'], 'type'],
  ]
  for (const field of ['quantity', 'revenue', 'active_price'])
    for (const [value, code] of table) {
      const response = await shop.post(path, [aSale({ [field]: value })])
      expectFaults(t, response, [`/0/${field} ${code}`])
    }
  for (const value of ['-1', '-0.000001'])
    expectFaults(t, await shop.post(path, [aSale({ active_price: value })]), [
      '/0/active_price format',
    ])
  t.strictSame(await salesOf(shop), [])
})

t.test('a transaction_date is a moment in UTC, of any offset or none, or a day', async (t) => {
  const shop = await service.newAccount(t)
  const table = {
    '2026-03-29T02:30:00Z': '2026-03-29T02:30:00.000Z',
    '2026-03-29T02:30:00': '2026-03-29T02:30:00.000Z',
    '2026-03-29T02:30': '2026-03-29T02:30:00.000Z',
    '2026-03-29 02:30:00': '2026-03-29T02:30:00.000Z',
    '2026-03-29t02:30:00z': '2026-03-29T02:30:00.000Z',
    '2026-03-29T02:30:00+02:00': '2026-03-29T00:30:00.000Z',
    '2026-03-29T02:30:00-0530': '2026-03-29T08:00:00.000Z',
    '2026-01-01T00:30:00+14:00': '2025-12-31T10:30:00.000Z',
    '2024-02-29': '2024-02-29T00:00:00.000Z',
    '2026-12-31T23:59:59.999Z': '2026-12-31T23:59:59.999Z',
    '2026-12-31T23:59:59.123456Z': '2026-12-31T23:59:59.123456Z',
    '2026-12-31T23:59:59,5Z': '2026-12-31T23:59:59.500Z',
    '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59Z': '9999-12-31T23:59:59.000Z',
    '9999-12-31T23:59:59.999999999Z': '9999-12-31T23:59:59.999999Z',
  }
  for (const [transaction_date, expected] of Object.entries(table)) {
    t.equal((await shop.post(path, [aSale({ transaction_date })])).status, 201, transaction_date)
    t.equal((await salesOf(shop))[0]?.transaction_date, expected, transaction_date)
  }
})

t.test('a departure_date is kept as it was sent', async (t) => {
  const shop = await service.newAccount(t)
  for (const departure_date of [
    '2026-02-28',
    '2026-02-28T10:00:00',
    '2026-02-28T10:00:00+02:00',
    '2026-02-28 10:00',
  ]) {
    await shop.post(path, [aSale({ departure_date })])
    t.equal((await salesOf(shop))[0]?.departure_date, departure_date)
  }
})

t.test('what is no date or timestamp is refused', async (t) => {
  const shop = await service.newAccount(t)
  const texts = [
    '',
    'today',
    'now',
    'infinity',
    '2026-02-29',
    '2026-13-01',
    '2026-00-01',
    '0000-01-01',
    '2026-1-1',
    '20260101',
    '01/02/2026',
    '2026-01-01T24:00:00Z',
    '2026-01-01T10:60:00Z',
    '2026-01-01T10:00:60Z',
    '2026-01-01T10:00:00+15:00',
    '2026-01-01T',
    '2026-01-01T10',
    '2026-01-01Z',
    ' 2026-01-01',
    '2026-01-01\n',
    '10000-01-01',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-01-01T10:00:00 Europe/Paris',
  ]
  for (const text of texts)
    for (const field of ['transaction_date', 'departure_date'])
      expectFaults(t, await shop.post(path, [aSale({ [field]: text })]), [`/0/${field} format`])
  t.strictSame(await salesOf(shop), [])
})

t.test('an extension may be empty and is one opaque string', async (t) => {
  const shop = await service.newAccount(t)
  for (const extension of ['', '{"country":"UK"}', ' ', 'x'.repeat(255), '😀'.repeat(255)]) {
    t.equal((await shop.post(path, [aSale({ extension })])).status, 201)
    t.equal((await salesOf(shop))[0]?.extension, extension)
  }
})

t.test('texts are kept as they were sent, whatever they hold', async (t) => {
  const shop = await service.newAccount(t)
  const texts = [
    `'`,
    `"`,
    `\\`,
    `\\\\"`,
    '{',
    '}',
    '{}',
    '{"a",NULL}',
    'NULL',
    'null',
    '\n',
    '\r\n\t',
    ' a ',
    ',',
    'a,b',
    '()',
    '😀',
    '👩‍👩‍👧',
    'é',
    'e\u0301',
    '\u200b',
    '\ufeff',
    '\u0001',
    '\u007f',
    '\uffff',
    '$1',
    '%s',
    '--',
    "'; drop table sales; --",
    '__proto__',
    'constructor',
    '0',
    'x'.repeat(255),
    '😀'.repeat(255),
  ]
  const names = [
    'transaction_id',
    'price_list_name',
    'price_dimension',
    'code',
    'extension',
    'client_code',
    'agreement_code',
  ]
  const sales = texts.map((text) => aSale(Object.fromEntries(names.map((name) => [name, text]))))
  const { status, body } = await shop.post(path, sales)
  t.equal(status, 201)
  t.equal(body.length, texts.length)
  for (const [index, id] of body.entries()) {
    const query = `transaction_id=${encodeURIComponent(texts[index] ?? '')}`
    const { results } = (await shop.get(`/api/v1/sales_history/?${query}`)).body
    t.strictSame(results, [{ id, ...sales[index] }], JSON.stringify(texts[index]))
  }
})

t.test('transaction ids are compared code point by code point', async (t) => {
  const shop = await service.newAccount(t)
  const ids = ['a', 'A', 'a ', ' a', 'é', 'e\u0301', 'ß', 'ss', '1', '01', '１']
  const sales = ids.map((transaction_id) => aSale({ transaction_id }))
  t.equal((await shop.post(path, sales)).body.length, ids.length)
  t.strictSame((await salesOf(shop)).map(({ transaction_id }) => transaction_id).sort(), ids.sort())
})

t.test('accounts have their own transaction ids', async (t) => {
  const [one, other] = [await service.newAccount(t), await service.newAccount(t)]
  await one.post(path, [aSale()])
  t.equal((await other.post(path, [aSale({ code: 'B' })])).body.length, 1)
  t.strictSame(await salesOf(one), [aSale()])
})

t.test('products, price lists and agreements may be named before they are loaded', async (t) => {
  const shop = await service.newAccount(t)
  const names = { code: 'no such', price_list_name: 'no such', agreement_code: 'no such' }
  t.equal((await shop.post(path, [aSale(names)])).body.length, 1)
})

t.test(
  'equal rows count once, rows that share a transaction_id and differ are an error that names both',
  async (t) => {
    const shop = await service.newAccount(t)
    const other = aSale({ transaction_id: 'T0' })
    t.equal((await shop.post(path, [aSale(), other, aSale()])).body.length, 2)
    const differing = [
      aSale(),
      other,
      aSale({ quantity: '2' }),
      aSale(),
      aSale({ currency: 'GBP' }),
    ]
    const response = await shop.post(path, differing)
    expectFaults(t, response, ['/2 duplicate_row', '/4 duplicate_row'])
    t.match(response.body.errors[0].message, /rows 0 and 2 /)
    t.match(response.body.errors[1].message, /rows 0 and 4 /)
    t.equal((await salesOf(shop)).length, 2)
  },
)

t.test('bad rows', async (t) => {
  const shop = await service.newAccount(t)
  const texts = [
    'transaction_id',
    'code',
    'price_list_name',
    'price_dimension',
    'client_code',
    'agreement_code',
  ]
  const required = ['transaction_id', 'code', 'extension', 'quantity', 'revenue']
  const all = [
    ...texts,
    'extension',
    'quantity',
    'revenue',
    'active_price',
    'departure_date',
    'transaction_date',
    'currency',
  ]
  const table: [string, unknown[], string[]][] = [
    ...required.map((field): [string, unknown[], string[]] => {
      const { [field]: _, ...without } = aSale()
      return [`no ${field}`, [without], [`/0/${field} required`]]
    }),
    ...all.flatMap((field) =>
      [5, null, true, {}, ['x']].map((value): [string, unknown[], string[]] => [
        `${field} ${JSON.stringify(value)}`,
        [aSale({ [field]: value })],
        [`/0/${field} type`],
      ]),
    ),
    ...texts.flatMap((field) =>
      ['', 'x'.repeat(256), '😀'.repeat(256)].map((value): [string, unknown[], string[]] => [
        `${field} of ${[...value].length} characters`,
        [aSale({ [field]: value })],
        [`/0/${field} length`],
      ]),
    ),
    ['an extension of 256', [aSale({ extension: 'x'.repeat(256) })], ['/0/extension length']],
    ...['gbp', 'GB', 'GBPX', '', 'GB1', 'GBP\n', '€'].map(
      (currency): [string, unknown[], string[]] => [
        `currency ${JSON.stringify(currency)}`,
        [aSale({ currency })],
        ['/0/currency format'],
      ],
    ),
    ['an unknown key', [aSale({ country: 'UK' })], ['/0/country unknown_key']],
    ['an empty key', [aSale({ '': 1 })], ['/0/ unknown_key']],
    ['an id', [aSale({ id: 1 })], ['/0/id unknown_key']],
    ['constructor as a key', [aSale({ constructor: 1 })], ['/0/constructor unknown_key']],
    ['a row that is no object', ['T1'], ['/0 type']],
    ['a row that is null', [null], ['/0 type']],
    ['a row that is an array', [[]], ['/0 type']],
    [
      'good and bad rows: every bad one is named with each of its faults',
      [
        aSale({ transaction_id: 'good' }),
        aSale({ transaction_id: 'X', quantity: 1, revenue: 'x' }),
        {},
        aSale({ transaction_id: 'Y' }),
        aSale({ transaction_id: 'Y', code: 'B' }),
        aSale({ transaction_id: 'Z', active_price: '-1' }),
      ],
      [
        '/1/quantity type',
        '/1/revenue format',
        ...required.map((field) => `/2/${field} required`),
        '/4 duplicate_row',
        '/5/active_price format',
      ],
    ],
  ]
  for (const [name, payload, faults] of table)
    await t.test(name, async (t) => expectFaults(t, await shop.post(path, payload), faults))
  t.strictSame(await salesOf(shop), [], 'nothing was written')
})

t.test('bad bodies', async (t) => {
  const shop = await service.newAccount(t)
  for (const body of [{}, { payload: [] }, 'null', '"x"', '5', 'true'])
    t.equal((await shop.post(path, body)).status, 400, JSON.stringify(body))
  const texts = [
    '',
    '[',
    '[{}',
    '[{"transaction_id":"\\u0000"}]',
    '[{"code":"\\ud800"}]',
    '[{"code":"a","code":"b"}]',
  ]
  for (const text of texts) {
    const { status, body } = await shop.send('POST', path, text, {
      'content-type': 'application/json',
    })
    t.strictSame([status, body.type], [400, 'malformed-body'], text)
  }
})

t.test(
  '20 overlapping upserts in random order at once all succeed, and each id is created once',
  async (t) => {
    const shop = await service.newAccount(t)
    const ids = Array.from({ length: 300 }, (_, index) => `T${index}`)
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, writer) => {
        const shuffled = ids.toSorted(() => Math.random() - 0.5).slice(0, 200)
        return shop.post(
          path,
          shuffled.map((transaction_id) => aSale({ transaction_id, quantity: `${writer}` })),
        )
      }),
    )
    t.strictSame(
      responses.map(({ status }) => status),
      Array(20).fill(201),
    )
    const created = responses.flatMap(({ body }) => body)
    const { count, results } = (await shop.get('/api/v1/sales_history/?limit=1000')).body
    t.equal(created.length, count)
    t.strictSame(new Set(results.map(({ id }: { id: number }) => id)), new Set(created))
  },
)
