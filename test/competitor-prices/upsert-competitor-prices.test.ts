import { createHash, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { expectAllFaults, type Faults } from '../helpers/faults.ts'
import { aMarket, anEntry, listPath, loadPath, uncommitted } from '../helpers/market.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { untilLockAwaited } from '../helpers/sql.ts'

const service = await sharedService()
const everyColumn = ['size', 'code', 'weight', 'organic', 'since', 'brand', 'season']
const typed = {
  code: 'A',
  brand: 'Acme',
  season: 'summer',
  size: '42',
  weight: '1.50',
  organic: 'true',
  since: '2024-02-29',
  competitor_name: 'Rival',
  competitor_price: 2.55,
}

/** The hash as the contract defines it, apart from the service's own code. */
function hashOf(...values: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values), 'utf8').digest('hex')
}

t.test(
  'answers the hashes of new entries and of those that existed, in payload order',
  async (t) => {
    const market = await aMarket(t, service, { attributes_config: ['code'] })
    const hash = (code: string) => hashOf(code, 'Rival', null)
    const first = await market.post(
      loadPath,
      ['D', 'B', 'C'].map((code) => anEntry({ code })),
    )
    t.equal(first.status, 201)
    t.strictSame(first.body, { created: ['D', 'B', 'C'].map(hash), updated: [] })
    const second = await market.post(
      loadPath,
      ['E', 'D', 'A', 'C'].map((code) => anEntry({ code })),
    )
    t.strictSame(second.body, { created: ['E', 'A'].map(hash), updated: ['D', 'C'].map(hash) })
  },
)

t.test('the hash is computed from the values as cast, in schema order', async (t) => {
  const market = await aMarket(t, service, { attributes_config: everyColumn, is_dated: true })
  const { body } = await market.post(loadPath, [
    typed,
    { ...typed, weight: '-0.000001', organic: 'false', departure_date: '2026-07-01', size: '-7' },
    { ...typed, weight: '0', size: '9007199254740991', code: 'é"\\\n\u2028😀', brand: '</script>' },
  ])
  t.strictSame(body.created, [
    hashOf(42, 'A', 1.5, true, '2024-02-29', 'Acme', 'summer', 'Rival', null),
    hashOf(-7, 'A', -0.000001, false, '2024-02-29', 'Acme', 'summer', 'Rival', '2026-07-01'),
    hashOf(
      9007199254740991,
      'é"\\\n\u2028😀',
      0,
      true,
      '2024-02-29',
      '</script>',
      'summer',
      'Rival',
      null,
    ),
  ])
})

t.test('the hash of the example in the contract', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code', 'size'] })
  const entry = { code: '85123A', size: '42', competitor_name: 'Lantern & Co', competitor_price: 1 }
  const { body } = await market.post(loadPath, [entry])
  const text = '["85123A",42,"Lantern & Co",null]'
  t.strictSame(body.created, [createHash('sha256').update(text).digest('hex')])
})

t.test('texts of one value are one entry', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['weight'] })
  const entry = (weight: string) => ({ weight, competitor_name: 'R', competitor_price: 1 })
  const { body } = await market.post(loadPath, [entry('1.5'), entry('1.50'), entry('2')])
  t.equal(body.created.length, 2)
  t.equal((await market.post(loadPath, [entry('1.500')])).body.updated.length, 1)
  t.strictSame(
    (await market.get(listPath)).body.results.map((row: { weight: string }) => row.weight).sort(),
    ['1.5', '2'],
  )
})

t.test('a number is one entry in every text that the catalog takes for it', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['size', 'weight'] })
  const entry = (size: string, weight: string) => ({
    size,
    weight,
    competitor_name: 'R',
    competitor_price: 1,
  })
  const texts: Record<string, string[]> = {
    42: ['42', '42.0', '42.000000000000000000', '4.2e1', '420E-1'],
    0: ['0', '-0', '-0.0', '0e5', '0.0000000'],
    '-7': ['-7', '-7.0', '-0.7e+1'],
  }
  for (const [text, same] of Object.entries(texts)) {
    const { body } = await market.post(
      loadPath,
      same.map((one) => entry(one, one)),
    )
    const value = Number(text)
    t.strictSame(body.created, [hashOf(value, value, 'R', null)], text)
    const rows = same.flatMap((size) => same.map((weight) => `${size},${weight},R,1\n`))
    const file = await market.send(
      ...(['POST', loadPath] as const),
      `size,weight,competitor_name,competitor_price\n${rows.join('')}`,
      { 'content-type': 'text/csv' },
    )
    t.match(file.body, { created: 0, updated: 1 }, text)
  }
  const { results } = (await market.get(listPath)).body
  t.strictSame(results.map(({ size, weight }: Record<string, string>) => [size, weight]).sort(), [
    ['-7', '-7'],
    ['0', '0'],
    ['42', '42'],
  ])
})

t.test(
  'competitor prices take a number as a text exactly where the catalog takes it',
  async (t) => {
    const market = await aMarket(t, service, { attributes_config: ['size', 'weight'] })
    const texts = [
      '42',
      '42.0',
      '4e2',
      '-0',
      '1e3',
      '1.5',
      '1.50',
      '2.5e-1',
      '1e-7',
      '0.1234567',
      '1e20',
      '1e400',
      '9007199254740991',
      '9007199254740993',
      '42.0000000000000000001',
      '1234567890.123456',
      '042',
      '+42',
      '42.',
      '.5',
      ' 42',
      '0x2A',
      '1,5',
      'NaN',
      '1_000',
    ]
    for (const text of texts) {
      for (const [size, weight] of [
        [text, '1'],
        ['1', text],
      ]) {
        const product = `code,size,weight,organic,since\nA,"${size}","${weight}",true,2026-01-01\n`
        const csv = { 'content-type': 'text/csv' }
        const path = '/api/v1/product_catalog/bulk_create_or_update/'
        const { status } = await market.send('POST', path, product, csv)
        const entry = { size, weight, competitor_name: 'R', competitor_price: 1 }
        const answer = await market.post(loadPath, [entry])
        t.equal(answer.status === 201, status < 300, `${text}: ${answer.status}, ${status}`)
      }
    }
  },
)

t.test('an entry sent again unchanged counts as updated and is not written again', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const entry = anEntry({ latest_update: '2026-01-01' })
  const { body: first } = await market.post(loadPath, [entry])
  const before = (await market.get(listPath)).body
  const place = await placeOfRow(market.id)
  const { body: second } = await market.post(loadPath, [entry])
  t.strictSame(second, { created: [], updated: first.created })
  t.strictSame((await market.get(listPath)).body, before)
  t.strictSame(await placeOfRow(market.id), place)
})

/** Where the account's entry lies on disk: another place once it has been written again. */
async function placeOfRow(account: number): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  const text = 'select ctid from competitor_prices where account_id = $1'
  const { rows } = await client.query(text, [account])
  await client.end()
  return rows
}

t.test('an update replaces the entry: what is left out gets its default', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  await market.post(loadPath, [anEntry({ latest_update: '2020-01-01' })])
  const before = Date.now()
  await market.post(loadPath, [anEntry({ competitor_price: 1.999999 })])
  const [entry] = (await market.get(listPath)).body.results
  t.equal(entry.competitor_price, 1.999999)
  const time = Date.parse(entry.latest_update)
  t.ok(time >= before - 60_000 && time <= Date.now() + 60_000, 'latest_update is now')
})

t.test('an update replaces the price, also when latest_update is the same', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const latest_update = '2026-01-01'
  await market.post(loadPath, [anEntry({ latest_update })])
  await market.post(loadPath, [anEntry({ latest_update, competitor_price: 3 })])
  t.equal((await market.get(listPath)).body.results[0].competitor_price, 3)
})

t.test('latest_update takes every moment from the year 0001 on', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const moments: [sent: string, read: string][] = [
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['2026-03-29T02:30:00', '2026-03-29T02:30:00.000Z'],
    ['2026-01-01 00:30:00,5+0100', '2025-12-31T23:30:00.500Z'],
    ['2026-02-28T23:59:59.999999999Z', '2026-02-28T23:59:59.999999Z'],
  ]
  const entries = moments.map(([latest_update], index) =>
    anEntry({ code: `${index}`, latest_update }),
  )
  t.equal((await market.post(loadPath, entries)).status, 201)
  const { results } = (await market.get(listPath)).body
  const read = new Map(
    results.map((row: Record<string, string>) => [Number(row.code), row.latest_update]),
  )
  t.strictSame(
    moments.map((_, index) => read.get(index)),
    moments.map(([, moment]) => moment),
  )
  t.equal(
    (await market.get('/api/v1/competitor_prices/schema/')).body.output.latest_update,
    '2026-03-29',
  )
})

t.test('departure_date is part of the key, and its absence a value of its own', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'], is_dated: true })
  const entries = [
    anEntry({ departure_date: '2026-07-01' }),
    anEntry({ departure_date: '2026-07-02' }),
    anEntry(),
  ]
  t.equal((await market.post(loadPath, entries)).body.created.length, 3)
  const again = (await market.post(loadPath, entries)).body
  t.strictSame([again.created.length, again.updated.length], [0, 3])
  t.equal((await market.get(listPath)).body.count, 3)
})

t.test('without a schema it is a conflict, also with bad rows and with none', async (t) => {
  const account = await service.newAccount(t)
  for (const body of [[anEntry()], [{}], []]) {
    const response = await account.post(loadPath, body)
    t.equal(response.status, 409)
    t.equal(response.body.type, 'no-competitor-schema')
  }
})

t.test('an empty array does nothing', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const { status, body } = await market.post(loadPath, [])
  t.equal(status, 201)
  t.strictSame(body, { created: [], updated: [] })
})

t.test('equal rows count once, rows that differ under one key are an error', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const equal = anEntry({ code: 'A', latest_update: '2026-01-01' })
  const { body } = await market.post(loadPath, [
    equal,
    equal,
    { ...equal, latest_update: '2026-01-01T00:00:00Z' },
  ])
  t.equal(body.created.length, 1)
  const response = await market.post(loadPath, [
    anEntry({ code: 'B' }),
    anEntry({ code: 'C' }),
    anEntry({ code: 'B', competitor_price: 9 }),
    anEntry({ code: 'C', latest_update: '2026-01-01' }),
  ])
  expectAllFaults(t, response, [
    ['/2', 'duplicate_row'],
    ['/3', 'duplicate_row'],
  ])
  t.match(response.body.errors[0].message, /rows 0 and 2/)
  t.equal((await market.get(listPath)).body.count, 1)
})

t.test('every bad row is named with its pointer, and nothing is written', async (t) => {
  const market = await aMarket(t, service, { attributes_config: everyColumn, is_dated: true })
  const { competitor_name: _, ...nameless } = typed
  const { competitor_price: __, ...priceless } = typed
  const { weight: ___, code: ____, ...unidentified } = typed
  const cases: [row: unknown, faults: [field: string, code: string][]][] = [
    [typed, []],
    [nameless, [['/competitor_name', 'required']]],
    [priceless, [['/competitor_price', 'required']]],
    [
      unidentified,
      [
        ['/weight', 'required'],
        ['/code', 'required'],
      ],
    ],
    [{ ...typed, color: 'red' }, [['/color', 'unknown_key']]],
    [{ ...typed, freight: '1' }, [['/freight', 'unknown_key']]],
    [{ ...typed, extensions: { size: '42' } }, [['/extensions', 'unknown_key']]],
    [{ ...typed, constructor: 'x' }, [['/constructor', 'unknown_key']]],
    [{ ...typed, 'a/b~c': 'x' }, [['/a~1b~0c', 'unknown_key']]],
    [{ ...typed, code: 5 }, [['/code', 'type']]],
    [{ ...typed, code: null }, [['/code', 'type']]],
    [{ ...typed, code: '' }, [['/code', 'length']]],
    [{ ...typed, code: 'x'.repeat(256) }, [['/code', 'length']]],
    [{ ...typed, brand: '' }, [['/brand', 'length']]],
    [{ ...typed, brand: null }, [['/brand', 'type']]],
    [{ ...typed, season: 'spring' }, [['/season', 'not_allowed']]],
    ...[42, null, true, ['42']].map((size) => refused('size', size, 'type')),
    ...['042', '4.5', ' 42', '42 ', '+42', '42.', '', '4e-2', '0x2A', '9007199254740993', '٤٢'].map(
      (size) => refused('size', size, 'format'),
    ),
    ...[1.5, null].map((weight) => refused('weight', weight, 'type')),
    ...['1e-7', 'NaN', 'Infinity', '1.0000001', '1234567890.1234567', '1,5', ''].map((weight) =>
      refused('weight', weight, 'format'),
    ),
    refused('organic', true, 'type'),
    ...['TRUE', '1', 'yes', ''].map((organic) => refused('organic', organic, 'format')),
    ...['2026-02-29', '2026-2-1', 'today', '2026-01-01T00:00:00Z', ''].map((since) =>
      refused('since', since, 'format'),
    ),
    ...['2.55', null, true, [2.55]].map((price) => refused('competitor_price', price, 'type')),
    refused('competitor_price', -0.01, 'range'),
    refused('competitor_price', 1.0000001, 'format'),
    refused('competitor_name', 5, 'type'),
    refused('competitor_name', null, 'type'),
    refused('competitor_name', '', 'length'),
    refused('departure_date', null, 'type'),
    refused('departure_date', 20260701, 'type'),
    refused('departure_date', '2026-02-30', 'format'),
    refused('departure_date', '2026-07-01T10:00:00Z', 'format'),
    refused('latest_update', null, 'type'),
    refused('latest_update', 1767225600, 'type'),
    refused('latest_update', 'now', 'format'),
    refused('latest_update', '2026-01-01T25:00:00Z', 'format'),
    ['entry', [['', 'type']]],
    [null, [['', 'type']]],
    [[], [['', 'type']]],
  ]
  const faults = cases.flatMap(
    ([, rowFaults], index): Faults => rowFaults.map(([field, code]) => [`/${index}${field}`, code]),
  )
  const rows = cases.map(([row]) => row)
  expectAllFaults(t, await market.post(loadPath, rows), faults)
  t.equal((await market.get(listPath)).body.count, 0)
})

function refused(key: string, value: unknown, code: string): [unknown, [string, string][]] {
  return [{ ...typed, [key]: value }, [[`/${key}`, code]]]
}

t.test('an undated schema takes no departure_date', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const rows = [anEntry(), anEntry({ code: 'B', departure_date: '2026-07-01' })]
  expectAllFaults(t, await market.post(loadPath, rows), [['/1/departure_date', 'not_allowed']])
  t.equal((await market.get(listPath)).body.count, 0)
})

t.test('a schema without code takes no code', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['brand'] })
  const rows = [anEntry({ brand: 'B' })]
  expectAllFaults(t, await market.post(loadPath, rows), [['/0/code', 'unknown_key']])
})

t.test('bodies that are no array are refused', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  for (const body of [{}, anEntry(), '"text"', 'null', '5'])
    expectAllFaults(t, await market.post(loadPath, body), [['', 'type']])
})

t.test('hostile texts and column names are read back as they were written', async (t) => {
  const account = await service.newAccount(t)
  const names = [
    'constructor',
    'toString',
    "x'); drop table accounts; --",
    'a/b~c',
    '{"}',
    '0',
    'ключ',
  ]
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: names.map((name) => ({ name, type: 'string' })),
  })
  await account.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: names,
  })
  const texts = ['{NULL}', 'NULL', '"\\', ' padded ', '=1+1', '\u0001\n\t', '😀'.repeat(255)]
  const row = Object.fromEntries(names.map((name, index) => [name, texts[index]]))
  const entry = { ...row, competitor_name: '{},"\\', competitor_price: 0 }
  const { status, body } = await account.post(loadPath, [entry])
  t.equal(status, 201)
  t.strictSame(body.created, [hashOf(...texts, '{},"\\', null)])
  t.match((await account.get(listPath)).body.results[0], entry)
  const { constructor: _, ...lacking } = entry as Record<string, unknown>
  expectAllFaults(t, await account.post(loadPath, [lacking]), [['/0/constructor', 'required']])
})

t.test('names are compared code point by code point', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const codes = ['e\u0301', '\u00e9', 'E\u0301', 'a', 'A', 'a ', ' a']
  const { body } = await market.post(
    loadPath,
    codes.map((code) => anEntry({ code })),
  )
  t.equal(body.created.length, codes.length)
})

t.test('30 long extensions are no problem for the key', async (t) => {
  const account = await service.newAccount(t)
  const names = Array.from({ length: 30 }, (_, index) => `column ${index}`)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    extensions: names.map((name) => ({ name, type: 'string' })),
  })
  await account.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: names,
  })
  const random = () =>
    String.fromCodePoint(...Array.from({ length: 255 }, () => randomInt(0x10000, 0x10ffff)))
  const row = Object.fromEntries(names.map((name) => [name, random()]))
  const entry = { ...row, competitor_name: 'R', competitor_price: 1 }
  t.equal((await account.post(loadPath, [entry])).status, 201)
  t.match((await account.get(listPath)).body.results[0], entry)
})

t.test('concurrent overlapping loads all succeed and leave one entry per key', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const codes = Array.from({ length: 200 }, (_, index) => `P${index}`)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, load) => {
      const shuffled = codes.toSorted(() => Math.random() - 0.5)
      return market.post(
        loadPath,
        shuffled.map((code) => anEntry({ code, competitor_price: load })),
      )
    }),
  )
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map(() => 201),
  )
  const created = answers.flatMap(({ body }) => body.created)
  t.equal(created.length, codes.length)
  t.equal(new Set(created).size, codes.length)
  t.equal((await market.get(listPath)).body.count, codes.length)
})

/** Another schema for entries of days, up to its commit. */
const anotherSchema = (account: number) =>
  uncommitted(
    service.url,
    account,
    'select from competitor_schemas where account_id = $1 for update',
    'update competitor_schemas set is_dated = true where account_id = $1',
  )

t.test('a load waits for another schema and is checked against it', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const commit = await anotherSchema(market.id)
  const loading = market.post(loadPath, [anEntry({ departure_date: '2026-11-27' })])
  await sleep(100)
  await commit()
  t.equal((await loading).status, 201)
})

t.test('a file whose schema changes while it is read is to be sent again', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const commit = await anotherSchema(market.id)
  const file = 'code,competitor_name,competitor_price\nA,Rival,1\n'
  const loading = market.send('POST', loadPath, file, { 'content-type': 'text/csv' })
  await untilLockAwaited(service.url, 'pricewell streams', loading)
  await commit()
  t.match(await loading, { status: 503, body: { type: 'unavailable' } })
  t.equal((await market.get(listPath)).body.count, 0)
})

t.test('accounts have their own entries under the same hash', async (t) => {
  const markets = [
    await aMarket(t, service, { attributes_config: ['code'] }),
    await aMarket(t, service, { attributes_config: ['code'] }),
  ]
  for (const [index, market] of markets.entries()) {
    const { body } = await market.post(loadPath, [anEntry({ competitor_price: index })])
    t.equal(body.created.length, 1)
  }
  for (const [index, market] of markets.entries())
    t.equal((await market.get(listPath)).body.results[0].competitor_price, index)
})

t.test('12,500 entries in one call', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code', 'size'] })
  const entries = Array.from({ length: 12_500 }, (_, index) =>
    anEntry({ code: `P${index % 500}`, size: String(index), latest_update: '2026-01-01' }),
  )
  t.equal((await market.post(loadPath, entries)).body.created.length, 12_500)
  t.equal((await market.post(loadPath, entries)).body.updated.length, 12_500)
  t.equal((await market.get(listPath)).body.count, 12_500)
})
