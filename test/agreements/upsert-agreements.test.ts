import t from 'tap'
import { anAgreement, listPath, loadAgreement, loadPath } from '../helpers/agreement.ts'
import { expectAllFaults, type Faults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('stores agreements and answers an empty object', async (t) => {
  const account = await service.newAccount(t)
  const agreements = [
    anAgreement({
      price_line: { product_code: 'A', attribute_1: 'Home', attribute_2: -3.5, organic: false },
      prices: {
        retail: 2.35,
        wholesale: 0,
        exact: 123456789.123456,
        rental: { '2024-02-29': 45.5 },
      },
    }),
    anAgreement({ client_code: 'C2' }),
  ]
  const { status, body } = await account.post(loadPath, agreements)
  t.equal(status, 200)
  t.strictSame(body, {})
  const { results } = (await account.get(listPath)).body
  const read = results.map(({ id: _, ...agreement }: { id: number }) => agreement)
  const byClient = (rows: Record<string, unknown>[]) =>
    rows.toSorted((a, b) => (`${a.client_code}` < `${b.client_code}` ? -1 : 1))
  t.strictSame(byClient(read), byClient(agreements))
})

t.test('the path answers with a trailing slash too', async (t) => {
  const account = await service.newAccount(t)
  t.equal((await account.post(`${loadPath}/`, [anAgreement()])).status, 200)
})

t.test('an agreement that exists keeps its id and gets the prices that are sent', async (t) => {
  const account = await service.newAccount(t)
  const first = await loadAgreement(
    account,
    anAgreement({ prices: { a: 1, b: { '2026-01-01': 2 } } }),
  )
  const second = await loadAgreement(account, anAgreement({ prices: { c: 3 } }))
  t.strictSame(second, { ...first, prices: { c: 3 } })
  t.equal((await account.get(listPath)).body.count, 1)
})

t.test('the order of the keys in price_line does not matter', async (t) => {
  const account = await service.newAccount(t)
  const one = await loadAgreement(account, anAgreement({ price_line: { b: 1, a: '1', c: true } }))
  const two = await loadAgreement(account, anAgreement({ price_line: { c: true, a: '1', b: 1.0 } }))
  t.equal(one.id, two.id)
})

t.test('each field of the key tells agreements apart, and so do the types of values', async (t) => {
  const account = await service.newAccount(t)
  const lines = [
    { a: 1 },
    { a: '1' },
    { a: true },
    { a: 'true' },
    { b: 1 },
    { a: 1, b: 1 },
    { a: 'x,b' },
    { a: 'x', b: 'y' },
    { 'a","b': 1 },
  ]
  const agreements = [
    ...lines.map((price_line) => anAgreement({ price_line })),
    anAgreement(),
    anAgreement({ name: 'Other' }),
    anAgreement({ client_code: 'Other' }),
    anAgreement({ price_list_code: 'Other' }),
    anAgreement({ name: 'C1', client_code: 'Frame contract' }),
    anAgreement({ name: 'frame contract' }),
  ]
  t.equal((await account.post(loadPath, agreements)).status, 200)
  t.equal((await account.get(listPath)).body.count, agreements.length)
})

t.test('the ETag stays when nothing changes and changes when the prices do', async (t) => {
  const account = await service.newAccount(t)
  const { id } = await loadAgreement(account, anAgreement({ prices: { a: 1, b: 2 } }))
  const etag = async () => (await account.get(`${listPath}${id}`)).headers.etag
  const first = await etag()
  await loadAgreement(account, anAgreement({ prices: { b: 2, a: 1.0 } }))
  t.equal(await etag(), first)
  await loadAgreement(account, anAgreement({ prices: { a: 1, b: 3 } }))
  t.not(await etag(), first)
})

t.test('equal rows count once, rows that differ under one key are an error', async (t) => {
  const account = await service.newAccount(t)
  const line = (price_line: object, prices: object) => anAgreement({ price_line, prices })
  const equal = [line({ a: 1, b: 2 }, { x: 1, y: 2 }), line({ b: 2, a: 1 }, { y: 2, x: 1 })]
  t.equal((await account.post(loadPath, equal)).status, 200)
  t.equal((await account.get(listPath)).body.count, 1)
  const response = await account.post(loadPath, [
    line({ a: 1 }, { x: 1 }),
    line({ a: 1, b: 2 }, { x: 1 }),
    line({ b: 2, a: 1 }, { x: 2 }),
  ])
  expectAllFaults(t, response, [['/2', 'duplicate_row']])
  t.match(response.body.errors[0].message, /rows 1 and 2/)
  t.equal((await account.get(listPath)).body.count, 1)
})

t.test('an empty array does nothing', async (t) => {
  const account = await service.newAccount(t)
  const { status, body } = await account.post(loadPath, [])
  t.equal(status, 200)
  t.strictSame(body, {})
})

t.test('every bad row is named with its pointer, and nothing is written', async (t) => {
  const account = await service.newAccount(t)
  const long = 'x'.repeat(256)
  const texts = ['name', 'client_code', 'price_list_code']
  const refused = (overrides: object, ...faults: Faults): [unknown, Faults] => [
    anAgreement(overrides as Record<string, unknown>),
    faults,
  ]
  const missing = (key: string): [unknown, Faults] => {
    const { [key]: _, ...row } = anAgreement()
    return [row, [[`/${key}`, 'required']]]
  }
  const cases: [row: unknown, faults: Faults][] = [
    [anAgreement(), []],
    ...['name', 'client_code', 'price_list_code', 'price_line', 'prices'].map(missing),
    ...texts.flatMap((key) => [
      refused({ [key]: 5 }, [`/${key}`, 'type']),
      refused({ [key]: null }, [`/${key}`, 'type']),
      refused({ [key]: ['C1'] }, [`/${key}`, 'type']),
      refused({ [key]: '' }, [`/${key}`, 'length']),
      refused({ [key]: long }, [`/${key}`, 'length']),
    ]),
    refused({ id: 1 }, ['/id', 'unknown_key']),
    refused({ constructor: 1 }, ['/constructor', 'unknown_key']),
    ...['A', 5, null, true, ['A']].map((line) =>
      refused({ price_line: line }, ['/price_line', 'type']),
    ),
    refused({ price_line: {} }, ['/price_line', 'length']),
    ...[null, { a: 1 }, ['A']].map((value) =>
      refused({ price_line: { a: value } }, ['/price_line/a', 'type']),
    ),
    refused({ price_line: { a: '' } }, ['/price_line/a', 'length']),
    refused({ price_line: { a: long } }, ['/price_line/a', 'length']),
    refused({ price_line: { a: 0.0000001 } }, ['/price_line/a', 'format']),
    refused({ price_line: { '': 'A' } }, ['/price_line/', 'length']),
    refused({ price_line: { [long]: 'A' } }, [`/price_line/${long}`, 'length']),
    refused({ price_line: { 'a/b~c': null } }, ['/price_line/a~1b~0c', 'type']),
    ...['A', 5, null, true, [1]].map((prices) => refused({ prices }, ['/prices', 'type'])),
    refused({ prices: {} }, ['/prices', 'length']),
    ...['2.35', null, true, [2.35]].map((price) =>
      refused({ prices: { a: price } }, ['/prices/a', 'type']),
    ),
    refused({ prices: { a: -1 } }, ['/prices/a', 'range']),
    refused({ prices: { a: 1.2345678 } }, ['/prices/a', 'format']),
    refused({ prices: { a: {} } }, ['/prices/a', 'length']),
    refused({ prices: { '': 1 } }, ['/prices/', 'length']),
    refused({ prices: { [long]: 1 } }, [`/prices/${long}`, 'length']),
    refused({ prices: { a: { '2026-02-30': 1 } } }, ['/prices/a/2026-02-30', 'format']),
    refused({ prices: { a: { today: 1 } } }, ['/prices/a/today', 'format']),
    ...['1', null, { '2026-01-01': 1 }].map((price) =>
      refused({ prices: { a: { '2026-01-01': price } } }, ['/prices/a/2026-01-01', 'type']),
    ),
    refused({ prices: { a: { '2026-01-01': -1 } } }, ['/prices/a/2026-01-01', 'range']),
    refused(
      { name: 5, prices: { a: null, b: -1 } },
      ['/name', 'type'],
      ['/prices/a', 'type'],
      ['/prices/b', 'range'],
    ),
    ['agreement', [['', 'type']]],
    [null, [['', 'type']]],
  ]
  const faults = cases.flatMap(
    ([, rowFaults], index): Faults => rowFaults.map(([field, code]) => [`/${index}${field}`, code]),
  )
  const rows = cases.map(([row]) => row)
  expectAllFaults(t, await account.post(loadPath, rows), faults)
  t.equal((await account.get(listPath)).body.count, 0)
})

t.test('numbers that no decimal keeps as they were written are refused', async (t) => {
  const account = await service.newAccount(t)
  for (const number of ['1e400', '9007199254740993', '0.1234567890123456', '1e-7']) {
    for (const [field, pointer] of [
      ['price_line', '/0/price_line/a'],
      ['prices', '/0/prices/a'],
    ] as const) {
      const agreement = JSON.stringify(anAgreement({ [field]: { a: '?' } })).replace('"?"', number)
      const { status, body } = await account.post(loadPath, `[${agreement}]`)
      t.equal(status, 400, number)
      t.equal(body.errors[0].pointer, pointer, number)
    }
  }
  t.equal((await account.get(listPath)).body.count, 0)
})

t.test('bodies that are no array, and keys that cannot be kept, are refused', async (t) => {
  const account = await service.newAccount(t)
  for (const body of [{}, anAgreement(), '"text"', 'null', '5'])
    expectAllFaults(t, await account.post(loadPath, body), [['', 'type']])
  for (const line of ['{"__proto__":"A"}', '{"a":1,"a":1}', '{"\\u0000":1}', '{"a":"\\ud800"}']) {
    const agreement = JSON.stringify(anAgreement({ price_line: '?' })).replace('"?"', line)
    const { status, body } = await account.post(loadPath, `[${agreement}]`)
    t.equal(status, 400, line)
    t.equal(body.type, 'malformed-body', line)
  }
  t.equal((await account.get(listPath)).body.count, 0)
})

t.test('a merge patch is no bulk body', async (t) => {
  const account = await service.newAccount(t)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status, body } = await account.send('POST', loadPath, [{}], headers)
  t.equal(status, 415)
  t.equal(body.type, 'unsupported-media-type')
})

t.test('hostile texts and key names are read back as they were written', async (t) => {
  const account = await service.newAccount(t)
  const texts = [
    'constructor',
    'toString',
    'hasOwnProperty',
    "'; drop table agreements; --",
    '{NULL}',
    '0',
    '"\\',
    'a/b~c',
    ' padded ',
    '\u0001\n',
    '\u2028',
    '😀'.repeat(255),
    'ключ',
    'length',
    ' ',
  ]
  const agreement = anAgreement({
    name: texts[3],
    client_code: texts[6],
    price_list_code: texts[11],
    price_line: Object.fromEntries(texts.map((text, index) => [text, texts.at(-1 - index)])),
    prices: Object.fromEntries(texts.map((text, index) => [text, index / 8])),
  })
  const { id, ...read } = await loadAgreement(account, agreement)
  t.strictSame(read, agreement)
  const { id: again } = await loadAgreement(account, agreement)
  t.equal(again, id)
})

t.test('concurrent overlapping loads all succeed and leave one agreement per key', async (t) => {
  const account = await service.newAccount(t)
  const clients = Array.from({ length: 100 }, (_, index) => `C${index}`)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, price) => {
      const shuffled = clients.toSorted(() => Math.random() - 0.5)
      return account.post(
        loadPath,
        shuffled.map((client_code) => anAgreement({ client_code, prices: { price } })),
      )
    }),
  )
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  t.equal((await account.get(listPath)).body.count, clients.length)
})

t.test('accounts have their own agreements under the same key', async (t) => {
  const [one, two] = [await service.newAccount(t), await service.newAccount(t)]
  await loadAgreement(one, anAgreement({ prices: { price: 1 } }))
  await loadAgreement(two, anAgreement({ prices: { price: 2 } }))
  t.match((await one.get(listPath)).body, { count: 1, results: [{ prices: { price: 1 } }] })
})

for (const size of [50, 12_500])
  t.test(`${size} agreements are loaded alike, whatever is in their texts`, async (t) => {
    const account = await service.newAccount(t)
    const name = 'tab\t, line\n, \\N and "quotes" {,}'
    const agreements = Array.from({ length: size }, (_, index) =>
      anAgreement({ name, price_line: { product_code: `A${index}`, note: name } }),
    )
    t.equal((await account.post(loadPath, agreements)).status, 200)
    const { count, results } = (await account.get(`${listPath}?limit=1000`)).body
    t.equal(count, size)
    t.ok(results.every((row: { name: string }) => row.name === name))
    t.equal(results[0].price_line.note, name)
  })
