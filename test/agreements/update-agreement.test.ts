import t, { type Test } from 'tap'
import { anAgreement, listPath, loadAgreement } from '../helpers/agreement.ts'
import { expectAllFaults, type Faults } from '../helpers/faults.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const start = anAgreement({
  price_line: { product_code: 'A', attribute_1: 'Home' },
  prices: { retail: 2.35, rental: { '2026-07-01': 45, '2026-07-02': 40 } },
})

/** An account with one agreement, and the means to change and read it. */
async function anAgreed(t: Test) {
  const account = await service.newAccount(t)
  const { id } = await loadAgreement(account, start)
  const patch = (body: unknown, headers: Record<string, string> = {}) =>
    account.send('PATCH', `${listPath}${id}`, body, headers)
  return { account, id, patch, read: () => account.get(`${listPath}${id}`) }
}

t.test('merges key by key: what is left out stays, null removes', async (t) => {
  const merges: [patch: object, changed: object][] = [
    [{}, {}],
    [{ name: 'New' }, { name: 'New' }],
    [
      { client_code: 'C2', price_list_code: 'P2' },
      { client_code: 'C2', price_list_code: 'P2' },
    ],
    [
      { price_line: { attribute_1: null, attribute_2: 7, organic: true } },
      { price_line: { product_code: 'A', attribute_2: 7, organic: true } },
    ],
    [{ price_line: {} }, {}],
    [{ price_line: { absent: null } }, {}],
    [
      { prices: { retail: 2, wholesale: 1.5 } },
      { prices: { ...(start.prices as object), retail: 2, wholesale: 1.5 } },
    ],
    [{ prices: { rental: null } }, { prices: { retail: 2.35 } }],
    [
      { prices: { rental: { '2026-07-01': null, '2026-07-03': 39.99 } } },
      { prices: { retail: 2.35, rental: { '2026-07-02': 40, '2026-07-03': 39.99 } } },
    ],
    [
      { prices: { retail: { '2026-07-01': 1, '2026-07-02': null }, rental: 5 } },
      { prices: { retail: { '2026-07-01': 1 }, rental: 5 } },
    ],
    [{ prices: { rental: {} } }, {}],
    [
      { price_line: { constructor: 'x', 'a/b~c': 0 }, prices: { toString: 1 } },
      {
        price_line: { ...(start.price_line as object), constructor: 'x', 'a/b~c': 0 },
        prices: { ...(start.prices as object), toString: 1 },
      },
    ],
  ]
  for (const [body, changed] of merges) {
    const { id, patch, read } = await anAgreed(t)
    const response = await patch(body)
    t.equal(response.status, 200)
    t.strictSame(response.body, { id, ...start, ...changed }, JSON.stringify(body))
    const after = await read()
    t.strictSame(after.body, response.body)
    t.equal(after.headers.etag, response.headers.etag)
  }
})

t.test('the body may be a merge patch by its media type', async (t) => {
  const { patch, read } = await anAgreed(t)
  const headers = { 'content-type': 'application/merge-patch+json; charset=utf-8' }
  t.equal((await patch({ prices: { retail: 9 } }, headers)).body.prices.retail, 9)
  expectAllFaults(t, await patch({ prices: { retail: '9' } }, headers), [
    ['/prices/retail', 'type'],
  ])
  t.equal((await read()).body.prices.retail, 9)
  for (const type of ['text/plain', 'application/json-patch+json']) {
    const { status, body } = await patch('{}', { 'content-type': type })
    t.equal(status, 415)
    t.equal(body.type, 'unsupported-media-type')
  }
})

t.test('the ETag changes with every change and not otherwise', async (t) => {
  const { patch, read } = await anAgreed(t)
  const seen = new Set([(await read()).headers.etag])
  for (const [index, body] of [
    { name: 'New' },
    { prices: { retail: 1 } },
    { prices: { retail: 2.35 } },
    { name: start.name },
  ].entries()) {
    seen.add((await patch(body)).headers.etag)
    t.equal(seen.size, index + 2)
  }
  const { headers } = await read()
  for (const body of [{}, start, { prices: { absent: null } }, { price_line: {} }])
    t.equal((await patch(body)).headers.etag, headers.etag)
})

t.test('If-Match lets a change through only in a state that it names', async (t) => {
  const { patch, read } = await anAgreed(t)
  const { etag } = (await read()).headers
  const before = (await read()).body
  const version = String(etag).slice(1, -1)
  const others = [
    '"0"',
    'W/"0"',
    '"0-gzip"',
    `"${version}-x"`,
    `"${version}-gzip-gzip"`,
    `w/${etag}`,
  ]
  for (const tag of [...others, `"${version}"-gzip`, `W/${version}`, '"-gzip"', 'x', '', version]) {
    const { status, body } = await patch({ name: 'No' }, { 'if-match': tag })
    t.equal(status, 412, tag)
    t.equal(body.type, 'precondition-failed', tag)
  }
  t.strictSame((await read()).body, before)
  const first = await patch({ name: 'Yes 1' }, { 'if-match': String(etag) })
  t.equal(first.status, 200)
  t.equal((await patch({ name: 'Late' }, { 'if-match': String(etag) })).status, 412)
  const list = `"a,b" ,W/"0", ${first.headers.etag}`
  t.equal((await patch({ name: 'Yes 2' }, { 'if-match': list })).body.name, 'Yes 2')
  t.equal((await patch({ name: 'Yes 3' }, { 'if-match': '*' })).body.name, 'Yes 3')
})

t.test('If-Match takes a tag as a proxy that compresses has changed it', async (t) => {
  const { patch, read } = await anAgreed(t)
  const changed = ['W/"1"', '"1-gzip"', 'W/"1-gzip"', '"1-br"', 'W/"1-zstd"', '"0", W/"1-deflate"']
  for (const [index, tag] of changed.entries()) {
    const version = String((await read()).headers.etag).slice(1, -1)
    const headers = { 'if-match': tag.replace('1', version) }
    const answer = await patch({ name: `Name ${index}` }, headers)
    t.match(answer, { status: 200, body: { name: `Name ${index}` } }, tag)
    t.equal((await patch({ name: 'Late' }, headers)).status, 412, `${tag}, of the state before`)
  }
})

t.test('of two changes of one state only one gets through', async (t) => {
  const { patch, read } = await anAgreed(t)
  const headers = { 'if-match': String((await read()).headers.etag) }
  const answers = await Promise.all(['A', 'B', 'C'].map((name) => patch({ name }, headers)))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 412, 412])
})

t.test('changes without If-Match go one after the other, none is lost', async (t) => {
  const { patch, read } = await anAgreed(t)
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  await Promise.all(names.map((name, index) => patch({ prices: { [name]: index } })))
  const { prices } = (await read()).body
  t.strictSame(
    names.map((name) => prices[name]),
    names.map((_, index) => index),
  )
})

t.test('a key that another agreement has is a conflict, and nothing changes', async (t) => {
  const { account, id, patch, read } = await anAgreed(t)
  await loadAgreement(account, { ...start, client_code: 'C2', price_line: { b: 1, a: 'x' } })
  const before = await read()
  const line = { a: 'x', b: 1, product_code: null, attribute_1: null }
  const { status, body } = await patch({ client_code: 'C2', price_line: line })
  t.equal(status, 409)
  t.equal(body.type, 'agreement-exists')
  const after = await read()
  t.strictSame(after.body, before.body)
  t.equal(after.headers.etag, before.headers.etag)
  t.equal((await patch({ client_code: 'C3', price_line: line })).status, 200)
  await loadAgreement(account, {
    ...start,
    client_code: 'C3',
    price_line: { a: 'x', b: 1 },
    prices: { new: 1 },
  })
  t.equal((await read()).body.prices.new, 1, 'the upsert finds the agreement under its new key')
  t.equal((await account.get(`${listPath}${id}`)).body.client_code, 'C3')
  t.equal((await account.get(listPath)).body.count, 2)
})

t.test('the key of an agreement of another account is free', async (t) => {
  await loadAgreement(await service.newAccount(t), anAgreement({ name: 'Taken' }))
  const { patch } = await anAgreed(t)
  t.equal((await patch({ name: 'Taken', price_line: { attribute_1: null } })).status, 200)
})

t.test('bad patches are refused with every fault, and nothing changes', async (t) => {
  const { patch, read } = await anAgreed(t)
  const before = await read()
  const long = 'x'.repeat(256)
  const bad: [body: unknown, faults: Faults][] = [
    ...['name', 'client_code', 'price_list_code'].flatMap((key): [unknown, Faults][] => [
      [{ [key]: null }, [[`/${key}`, 'required']]],
      [{ [key]: 5 }, [[`/${key}`, 'type']]],
      [{ [key]: '' }, [[`/${key}`, 'length']]],
      [{ [key]: long }, [[`/${key}`, 'length']]],
    ]),
    [
      { name: null, price_line: null, prices: null },
      [
        ['/name', 'required'],
        ['/price_line', 'required'],
        ['/prices', 'required'],
      ],
    ],
    [{ price_line: 'A' }, [['/price_line', 'type']]],
    [{ price_line: ['A'] }, [['/price_line', 'type']]],
    [{ price_line: { product_code: null, attribute_1: null } }, [['/price_line', 'length']]],
    [{ price_line: { a: ['A'] } }, [['/price_line/a', 'type']]],
    [{ price_line: { a: {} } }, [['/price_line/a', 'type']]],
    [{ price_line: { a: '' } }, [['/price_line/a', 'length']]],
    [{ price_line: { a: 1e-7 } }, [['/price_line/a', 'format']]],
    [{ price_line: { '': 1 } }, [['/price_line/', 'length']]],
    [{ prices: 5 }, [['/prices', 'type']]],
    [{ prices: { retail: null, rental: null } }, [['/prices', 'length']]],
    [
      { prices: { rental: { '2026-07-01': null, '2026-07-02': null } } },
      [['/prices/rental', 'length']],
    ],
    [{ prices: { retail: {} } }, [['/prices/retail', 'length']]],
    [{ prices: { 'a/b~c': { '2026-07-01': null } } }, [['/prices/a~1b~0c', 'length']]],
    [{ prices: { retail: '2' } }, [['/prices/retail', 'type']]],
    [{ prices: { retail: true } }, [['/prices/retail', 'type']]],
    [{ prices: { retail: -1 } }, [['/prices/retail', 'range']]],
    [{ prices: { retail: 0.1234567 } }, [['/prices/retail', 'format']]],
    [{ prices: { rental: { '2026-02-29': 1 } } }, [['/prices/rental/2026-02-29', 'format']]],
    [{ prices: { rental: { '2026-07-01': '1' } } }, [['/prices/rental/2026-07-01', 'type']]],
    [{ prices: { rental: { '2026-07-01': -1 } } }, [['/prices/rental/2026-07-01', 'range']]],
    [{ [long]: 1 }, [[`/${long}`, 'unknown_key']]],
    [{ id: 7 }, [['/id', 'unknown_key']]],
    [{ version: null }, [['/version', 'unknown_key']]],
    [{ payload: [{}] }, [['/payload', 'unknown_key']]],
    ['null', [['', 'type']]],
    ['"text"', [['', 'type']]],
    [[], [['', 'type']]],
    [[{ op: 'replace', path: '/name', value: 'x' }], [['', 'type']]],
  ]
  for (const [body, faults] of bad) expectAllFaults(t, await patch(body), faults)
  for (const body of ['', '{', '{"__proto__":{}}', '{"prices":{"__proto__":1}}'])
    t.equal((await patch(body)).body.type, 'malformed-body')
  const after = await read()
  t.strictSame(after.body, before.body)
  t.equal(after.headers.etag, before.headers.etag)
})

t.test("another account's agreement answers like one that does not exist", async (t) => {
  const { id, read } = await anAgreed(t)
  const account: TestAccount = await service.newAccount(t)
  const headers = { 'if-match': '*' }
  const foreign = await account.send('PATCH', `${listPath}${id}`, { name: 'Mine' }, headers)
  const absent = await account.send('PATCH', `${listPath}${id + 1000}`, { name: 'Mine' }, headers)
  t.equal(foreign.status, 404)
  t.equal(foreign.body.type, 'not-found')
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
  t.equal((await read()).body.name, start.name)
})
