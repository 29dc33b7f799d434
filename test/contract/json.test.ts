import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { parseJson } from '../../src/contract/json.ts'
import type { Problem } from '../../src/contract/problem.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await sharedService()
const parse = (body: Buffer) =>
  parseJson(body, { containersMax: 1_000_000, reserve: () => undefined })

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

async function faultOf(body: string | Buffer): Promise<Problem> {
  try {
    await parse(Buffer.from(body))
  } catch (error) {
    return error as Problem
  }
  throw new Error('the body was taken')
}

t.test('what JSON says is what is parsed', async (t) => {
  const texts = [
    '0',
    'null',
    '""',
    '[]',
    '{}',
    ' \n\t\r{"a" : [1, 2.5, -3e2, true, false, null, "x"]} ',
    '{"a:b": "c:d", "{": "[", "e": "\\":{}\\\\"}',
    '{"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}]}',
    '"\\u00e9\\ud83d\\ude00 \\n"',
    '["é", "😀", "\u2028", "\ufeff"]',
    '{"constructor": 1, "toString": 2, "hasOwnProperty": 3}',
    '{"": 1, " ": 2, "a": 3, "A": 4, "\\u00e5": 5, "a\\u030a": 6}',
    '[123456789012345, 12345678901234.5, 0.000001, 1e-6, 1E3, 1e+3]',
    nested(32),
  ]
  for (const [index, text] of texts.entries())
    t.strictSame(await parse(Buffer.from(text)), JSON.parse(text), `text ${index}`)
})

t.test('malformed JSON names the position and quotes nothing of the body', async (t) => {
  const cases: [string, RegExp][] = [
    ['{', /position 1/],
    ['[1,]', /position 3/],
    ['{"a": secret}', /position 6/],
    ['{"a": 1} trailing', /position 9/],
    ['{a: 1}', /position 1/],
    ["{'a': 1}", /position 1/],
    ['[01]', /position 1/],
    ['[+1]', /position 1/],
    ['[.5]', /position 1/],
    ['[1.]', /position 1/],
    ['[NaN]', /position 1/],
    ['[Infinity]', /position 1/],
    ['[undefined]', /position 1/],
    ['[1 2]', /position 3/],
    ['"a', /position 2/],
    ['"\t"', /position 1/],
    ['"\\x"', /position 1/],
    ['"\\u12"', /position 1/],
    ['[1,\n 2,\n  x]', /position 10 \(line 3 column 3\)/],
    ['// comment\n1', /position 0/],
    ['[1]]', /position 3/],
    ['{"a":1,,"b":2}', /position 7/],
    ['{"a"}', /position 4/],
    ['{"a":1', /position 6/],
    ['', /position 0/],
    ['   ', /position 3/],
    ['\ufeff[]', /byte order mark/],
    ['[1, tru]', /position 4/],
    ['[1e]', /position 1/],
    ['[-]', /position 1/],
  ]
  for (const [text, expected] of cases) {
    const { type, message } = await faultOf(text)
    t.equal(type, 'malformed-body', text)
    t.match(message, expected, text)
    t.notMatch(message, /secret|trailing|comment/, `${text}: nothing quoted`)
  }
})

t.test('the position of a fault is found wherever a document is broken', async (t) => {
  const document = '{"a": [1, -2.5e3, "x\\n\\u00e9", {"b": null}], "c": {"d": [true, false]}}'
  for (let index = 0; index < document.length; index++) {
    const cut = (await faultOf(document.slice(0, index))).message
    const position = Number(/position (\d+)/.exec(cut)?.[1])
    t.ok(position <= index, `cut at ${index}: ${cut}`)
    const broken = `${document.slice(0, index)}\u0001${document.slice(index)}`
    const at = Number(/position (\d+)/.exec((await faultOf(broken)).message)?.[1])
    t.ok(at <= index && at > index - 8, `broken at ${index}, found at ${at}`)
  }
})

t.test('a key given twice is refused with its place and its row', async (t) => {
  const cases: [string, string, number?, string?][] = [
    ['{"a":1,"a":1}', '/a'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['{"b":{"a":1,"a":2}}', '/b/a'],
    ['[{"code":"A"},{"code":"B","price":1,"code":"B"}]', '/1/code', 1, 'code'],
    ['{"name":"L","payload":[{"code":"A"},{"p":[],"p":{}}]}', '/payload/1/p', 1, 'p'],
    ['{"payload":[],"payload":[{"code":"A"}]}', '/payload'],
    ['[{"x":{"y~/z":1,"y~/z":1}}]', '/0/x/y~0~1z', 0, 'x/y~/z'],
    ['[{"a":"\\"x\\":","b":"}]","a":1}]', '/0/a', 0, 'a'],
    ['[[1,2],[3,{"":1,"":1}]]', '/1/1/', 1, '1/'],
    ['{"a":"\\",\\"b\\":1","b":2,"c":1,"c":2}', '/c'],
    ['{"0":{"a":1,"a":1}}', '/0/a'],
  ]
  for (const [text, pointer, row, field] of cases) {
    const { type, message, options } = await faultOf(text)
    t.equal(type, 'malformed-body', text)
    t.match(message, pointer, text)
    const place = { pointer, ...(row !== undefined && { row, field }) }
    const expected = [
      { ...place, code: 'not_allowed', message: 'An object has the same key twice' },
    ]
    t.strictSame(options.errors, expected, text)
  }
})

t.test('a text that no database keeps is refused with its place and its row', async (t) => {
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ code: `C${index}` }))
  const long = JSON.stringify([...rows, { code: 'NUL' }]).replace('"NUL"', '"\\u0000"')
  const cases: [string, string, number?, string?][] = [
    ['{"a":"\\u0000"}', '/a'],
    ['[{"code":"A"},{"code":"B\\ud800"}]', '/1/code', 1, 'code'],
    ['{"payload":[{},{"x":{"y/z":["a","\\u0000"]}}]}', '/payload/1/x/y~1z/1', 1, 'x/y/z/1'],
    ['[{"a":{"\\u0000":1}}]', '/0/a', 0, 'a'],
    [long, '/20000/code', 20_000, 'code'],
    [`{"name":"L","payload":${long}}`, '/payload/20000/code', 20_000, 'code'],
  ]
  for (const [text, pointer, row, field] of cases) {
    const { type, message, options } = await faultOf(text)
    t.match(
      { type, message },
      { type: 'malformed-body', message: `, at ${pointer}.` },
      text.slice(0, 80),
    )
    const place = { pointer, ...(row !== undefined && { row, field }) }
    t.match(options.errors, [{ ...place, code: 'not_allowed' }], text.slice(0, 80))
  }
})

t.test('a key __proto__ is refused however it is written', async (t) => {
  for (const text of [
    '{"__proto__": {"a": 1}}',
    '[{"code": "A", "__proto__": null}]',
    '{"\\u005f_proto__": 1}',
    '{"a": [{"__proto__": []}]}',
  ]) {
    const { type, message } = await faultOf(text)
    t.equal(type, 'malformed-body', text)
    t.match(message, /__proto__/)
  }
  t.equal(({} as { a?: number }).a, undefined, 'nothing was polluted')
})

t.test('10,000 keys in an object are taken, one more is refused wherever it is', async (t) => {
  const members = (count: number) => Array.from({ length: count }, (_, key) => `"${key}": 1`)
  const object = (count: number) => `{${members(count)}}`
  t.equal(Object.keys((await parse(Buffer.from(object(10_000)))) as object).length, 10_000)
  const several = `[${object(10_000)}, ${object(10_000)}]`
  t.equal(
    ((await parse(Buffer.from(several))) as object[]).length,
    2,
    'objects are counted by themselves',
  )
  const row = object(10_001)
  for (const body of [row, `[{}, ${row}]`, `{"payload": [{}, {"a": ${row}}]}`])
    t.match((await faultOf(body)).message, /more than 10000 keys/)
  t.match((await faultOf(`[${'{},'.repeat(200_000)}${row}]`)).message, /more than 10000 keys/)
})

t.test('32 levels are taken, 33 are refused, and so are a million', async (t) => {
  t.ok(await parse(Buffer.from(nested(32))))
  for (const depth of [33, 1000, 1_000_000])
    t.match((await faultOf(nested(depth))).message, /32 levels/)
  t.match((await faultOf(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)).message, /32 levels/)
  t.match((await faultOf('['.repeat(100_000))).message, /32 levels/)
  t.ok(
    await parse(Buffer.from(JSON.stringify('['.repeat(1000)))),
    'brackets in a text do not count',
  )
})

t.test('text that a database or another reader would see differently is refused', async (t) => {
  const cases: [string | Buffer, RegExp][] = [
    ['["\\u0000"]', /NUL/],
    ['{"a\\u0000b": 1}', /NUL/],
    ['["\\ud800"]', /surrogate/],
    ['["\\udc00\\ud800"]', /surrogate/],
    ['["x\\ud83dy"]', /surrogate/],
    ['{"\\ud800": 1}', /surrogate/],
    ['[{"a": {"b": ["\\udfff"]}}]', /surrogate/],
    [Buffer.from([0x22, 0xff, 0x22]), /UTF-8/],
    [Buffer.from([0x22, 0xc3, 0x22]), /UTF-8/],
    [Buffer.from([0x22, 0xc0, 0x80, 0x22]), /UTF-8/],
    [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /UTF-8/],
    [Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), /UTF-8/],
    [Buffer.from('["a"]', 'utf16le'), /JSON|UTF-8/],
    [Buffer.from([0x5b, 0x22, 0x00, 0x22, 0x5d]), /position 2/],
  ]
  for (const [body, expected] of cases) {
    const { type, message } = await faultOf(body)
    t.equal(type, 'malformed-body', String(body))
    t.match(message, expected, String(body))
  }
})

t.test('a number that a double cannot hold as it was written is no number', async (t) => {
  const inexact = [
    '9007199254740993',
    '1e400',
    '-1e400',
    '1e-400',
    '0.1234567890123456789',
    '12345678901234567890',
    '1.00000000000000001',
    '-1e-400',
    `1${'0'.repeat(1_000_000)}1`,
  ]
  for (const text of inexact) {
    t.notOk(Number.isFinite(((await parse(Buffer.from(`[${text}]`))) as number[])[0]), text)
  }
  const exact = [
    '9007199254740991',
    '-0.5',
    '0e10',
    '1e22',
    '100000000000000000000',
    '0.10000',
    '1.5e-5',
    '-9007199254740992',
    `1.${'0'.repeat(1_000_000)}`,
  ]
  for (const text of exact) {
    t.equal(((await parse(Buffer.from(`[${text}]`))) as number[])[0], Number(text), text)
  }
})

t.test('-0 is the 0 that it is read back as', async (t) => {
  for (const text of ['-0', '-0.00', '-0e5', '-0.0E-3']) {
    for (const body of [`[${text}]`, `[1, ${text} ]`, `{"a": ${text}}`, `{"a":[1,${text}\n]}`]) {
      const value = await parse(Buffer.from(body))
      t.strictSame(value, JSON.parse(body.replace(text, '0')), body)
      t.notOk(isDeepStrictEqual(value, JSON.parse(body)), body)
    }
  }
  t.same(await parse(Buffer.from('["-0", "a:-0", -0.05]')), ['-0', 'a:-0', -0.05])
})

t.test('only numbers are looked at, and only what is a number becomes one', async (t) => {
  const texts = [
    '"1e400"',
    '{"1e400":"-0"}',
    '"\\"1e400"',
    '["\\\\",1e5,"\\\\\\":-0"]',
    '["1e5",2.50]',
  ]
  for (const text of texts)
    t.strictSame(await parse(Buffer.from(`[1e0,${text}]`)), [1, JSON.parse(text)], text)
  for (const text of [
    '01e5',
    '-01',
    '1.e5',
    '.5e3',
    '1e',
    '1.2.3e4',
    '--0',
    '-0-0',
    '+1e5',
    '1e5x',
  ])
    t.match((await faultOf(`[1e0,${text}]`)).message, /position/, text)
})

t.test('a long array is read in slices as it would be at once', async (t) => {
  const rows = Array.from({ length: 9000 }, (_, id) => ({
    id,
    text: `é "[{,:\\\\ ${id}`,
    list: [1, { a: 2 }],
  }))
  const array = JSON.stringify(rows)
  const around = { name: 'x', include: ['a', 'b'], payload: rows, after: [1, [2]] }
  t.strictSame(await parse(Buffer.from(array)), rows)
  t.strictSame(await parse(Buffer.from(JSON.stringify(around))), around)
  t.strictSame(await parse(Buffer.from(JSON.stringify([rows, rows]))), [rows, rows])
  t.strictSame(await parse(Buffer.from(JSON.stringify({ a: { rows } }))), { a: { rows } })
})

t.test('faults of a long array are found where they are', async (t) => {
  const array = JSON.stringify(
    Array.from({ length: 9000 }, (_, id) => ({ id, text: 'x'.repeat(50) })),
  )
  const payload = `{"payload":${array},"name":"x"}`
  const twice = array.replace('"id":8000,', '"id":8000,"id":8000,')
  t.match((await faultOf(twice)).options, {
    errors: [{ pointer: '/8000/id', row: 8000, field: 'id' }],
  })
  t.match((await faultOf(`{"payload":${twice}}`)).options, {
    errors: [{ pointer: '/payload/8000/id', row: 8000 }],
  })
  const broken = payload.replace('"id":8000,', '"id":8000,,')
  t.match((await faultOf(broken)).message, `at byte ${payload.indexOf('"id":8000,') + 10}.`)
  const bodies = [
    array.slice(0, -1),
    `${array.slice(0, -1)},]`,
    payload.slice(0, -1),
    array.replace('},{"id":7000', '},,{"id":7000'),
  ]
  for (const body of bodies) t.match(await faultOf(body), { type: 'malformed-body' })
  const trailing = `["${'x'.repeat(300_000)}",]`
  t.match((await faultOf(trailing)).message, `at byte ${trailing.length - 1}.`)
})

t.test('a fault behind a long array is told where it is in the body', async (t) => {
  const rows = Array.from({ length: 9000 }, (_, id) => ({ id, text: `é${'x'.repeat(50)}` }))
  const array = JSON.stringify(rows)
  const cases: [string, string][] = [
    [array.slice(0, -1), ''],
    [`{"name":"é","payload":${array} `, '"name":"x"}'],
    [`{"payload":${array},"name":`, 'x}'],
    ['{"name":', `x,"payload":${array}}`],
    ['{"a":1 ', `${array}}`],
  ]
  for (const [sound, rest] of cases) {
    const { message } = await faultOf(sound + rest)
    t.equal(message, `The body is not valid JSON at byte ${Buffer.byteLength(sound)}.`)
  }
})

t.test('a key given twice is named in whatever array it is', async (t) => {
  const values = `"values":["${'x'.repeat(300_000)}"]`
  const columns = `[{"name":"a",${values}},{"name":"b","name":"b"}]`
  for (const [key, pointer] of [
    ['attributes', '/attributes/1/name'],
    ['\\u0061/b~', '/a~1b~0/1/name'],
    ['0', '/0/1/name'],
  ]) {
    const { errors } = (await faultOf(`{"extensions":[],"${key}":${columns}}`)).options
    const expected = { pointer, code: 'not_allowed', message: 'An object has the same key twice' }
    t.strictSame(errors, [expected], 'no row: it is not among the rows')
  }
  const broken = `{"attributes":${columns},"costs"}`
  t.match((await faultOf(broken)).message, `not valid JSON at byte ${broken.length - 1}.`)
})

t.test('every refused body is answered 400 and writes nothing', async (t) => {
  const account = await service.newAccount(t)
  const sale = (id: string) => aSale(id)
  const bodies: [string, string | Buffer][] = [
    ['half a body', `[${sale('A')}`],
    ['a repeated key', `[${sale('A')},{"code":"B","code":"C"}]`],
    ['__proto__', `[${sale('A')},{"__proto__":{}}]`],
    ['depth 33', `[${sale('A')},${nested(33)}]`],
    ['NUL', `[${sale('A')},${sale('\\u0000')}]`],
    ['a lone surrogate', `[${sale('A')},${sale('\\ud800')}]`],
    ['a lone surrogate in a key', `[${sale('A')},{"\\udc00":1}]`],
    [
      'invalid UTF-8',
      Buffer.concat([Buffer.from(`[${sale('A')},"`), Buffer.from([0xff]), Buffer.from('"]')]),
    ],
    ['a byte order mark', `\ufeff[${sale('A')}]`],
    ['an empty body', ''],
    ['white space', ' \n '],
    ['two documents', `[${sale('A')}][${sale('B')}]`],
  ]
  for (const [name, body] of bodies) {
    const answer = await account.send('POST', path, body, { 'content-type': 'application/json' })
    t.equal(answer.status, 400, name)
    t.equal(answer.body.type, 'malformed-body', name)
  }
  await expectNoSales(t, account)
})

t.test('a body of another kind than the contract says is answered 400', async (t) => {
  const account = await service.newAccount(t)
  for (const body of [
    'null',
    'true',
    '0',
    '"text"',
    '{}',
    '{"payload":[]}',
    `{"0":${aSale('A')}}`,
  ]) {
    const answer = await account.send('POST', path, body)
    t.equal(answer.status, 400, body)
    t.equal(answer.body.type, 'invalid-request', body)
  }
  const missing = await account.send('POST', path)
  t.match([missing.status, missing.body.type], [400, 'malformed-body'])
  for (const body of ['null', '[]', '"x"', '1']) {
    const answer = await account.send('POST', '/api/v1/prices/get_prices/', body)
    t.match([answer.status, answer.body.type], [400, 'invalid-request'], body)
  }
  await expectNoSales(t, account)
})

t.test('keys that JavaScript objects inherit are unknown keys like any other', async (t) => {
  const account = await service.newAccount(t)
  for (const key of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']) {
    const body = `[${aSale('A').replace('{', `{"${key}":"x",`)}]`
    const answer = await account.send('POST', path, body)
    t.equal(answer.status, 400, key)
    t.match(answer.body.errors, [{ pointer: `/0/${key}`, row: 0, field: key, code: 'unknown_key' }])
  }
  const missing = '[{"constructor":"x","__lookupGetter__":"x"}]'
  const { body } = await account.send('POST', path, missing)
  const codes = body.errors.map(({ code }: { code: string }) => code)
  t.equal(codes.filter((code: string) => code === 'unknown_key').length, 2)
  await expectNoSales(t, account)
})

t.test('numbers out of range name the row', async (t) => {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    costs: [{ name: 'purchase' }],
  })
  const send = (cost: string) =>
    account.send(
      'POST',
      '/api/v1/product_catalog/bulk_create_or_update/',
      `[{"code":"A"},{"code":"B","purchase":${cost}}]`,
    )
  for (const cost of [
    '1e400',
    '-1e400',
    '9007199254740993',
    '1234567890123456',
    '0.1234567',
    '1e-7',
    '1e-400',
    '-1',
    '"1"',
    'null',
    'true',
    '[1]',
    '{}',
  ]) {
    const { status, body } = await send(cost)
    t.equal(status, 400, cost)
    t.match(body.errors, [{ pointer: '/1/purchase', row: 1, field: 'purchase' }], cost)
    t.equal(body.error_count, 1, cost)
  }
  t.equal((await account.get('/api/v1/product_catalog/')).body.count, 0)
  for (const [cost, kept] of [
    ['-0', 0],
    ['0e5', 0],
    ['123456789012345', 123456789012345],
    ['999999999.999999', 999999999.999999],
    ['1.10e1', 11],
  ] as const) {
    t.equal((await send(cost)).status, 200, cost)
    const { body } = await account.get('/api/v1/product_catalog/?code=B')
    t.ok(Object.is(body.results[0].purchase, kept), `${cost} is read as ${kept}`)
  }
})

t.test('huge texts are refused by their length', async (t) => {
  const account = await service.newAccount(t)
  const sale = JSON.parse(aSale('x'.repeat(5_000_000)))
  const { status, body } = await account.post(path, [sale])
  t.equal(status, 400)
  t.match(body.errors, [{ pointer: '/0/transaction_id', code: 'length' }])
  const key = 'k'.repeat(1_000_000)
  const unknown = await account.post(path, [{ ...JSON.parse(aSale('A')), [key]: 1 }])
  t.equal(unknown.status, 400)
  t.match(unknown.body.errors, [{ code: 'unknown_key' }])
  const { status: ok } = await account.post(path, [JSON.parse(aSale('é'.repeat(255)))])
  t.equal(ok, 201, '255 characters are taken')
  const { status: long } = await account.post(path, [JSON.parse(aSale('😀'.repeat(256)))])
  t.equal(long, 400)
})

function aSale(id: string): string {
  return `{"transaction_id":"${id}","code":"C","extension":"","quantity":"1","revenue":"1"}`
}

async function expectNoSales(t: Test, account: TestAccount): Promise<void> {
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 0, 'nothing was written')
}
