import { Readable } from 'node:stream'
import t from 'tap'
import { parseJson } from '../../src/contract/json.ts'
import { Problem } from '../../src/contract/problem.ts'
import { startTestService } from '../helpers/service.ts'

const containersMax = 1000
const room = { containersMax, reserve: () => undefined }

const faultOf = (body: string): Promise<Problem> =>
  parseJson(Buffer.from(body), room).then(
    () => t.fail('the body was taken'),
    (fault) => fault,
  )

/** `count` values, the commas in the text are none. */
const values = (count: number) => `"${','.repeat(600_000)}"${',1'.repeat(count - 1)}`

t.test('500,000 values are taken in a row or around the rows, one more is refused', async (t) => {
  const row = `{"text":"${'x'.repeat(300_000)}"}`
  const bodies: [string, (list: string) => string][] = [
    ['a list', (list) => `[${list}]`],
    ['a row', (list) => `[${row},[${list}],${row}]`],
    ['a row behind many', (list) => `[${'1,'.repeat(100_000)}[${list}]]`],
    ['a row of a payload', (list) => `{"payload":[${row},[${list}],${row}]}`],
    ['a list in an object', (list) => `{"a":{"b":[${list}]}}`],
    ['a list in a list', (list) => `[[${list}]]`],
  ]
  for (const [name, body] of bodies) {
    t.ok(await parseJson(Buffer.from(body(values(499_990))), room), `${name} is taken`)
    if (name === 'a list') continue
    const { type, message } = await faultOf(body(values(500_020)))
    t.equal(type, 'malformed-body', name)
    t.match(message, /row .* around its rows, has more than 500000 values/, name)
  }
  const around = `{"payload":[${row},${row}],"a":{"b":[${values(500_020)}]}}`
  t.equal((await faultOf(around)).type, 'malformed-body', 'around the rows')
})

t.test('a list of any length is taken that is cut into slices', async (t) => {
  const list = await parseJson(Buffer.from(`[${'1,'.repeat(2_000_000)}1]`), room)
  t.equal((list as unknown[]).length, 2_000_001)
})

t.test('more objects and arrays than a body may have are refused wherever they are', async (t) => {
  const empty = (count: number) => `{}${',{}'.repeat(count - 1)}`
  t.ok(await parseJson(Buffer.from(`[${empty(containersMax - 1)}]`), room))
  for (const body of [
    `[${empty(containersMax)}]`,
    `[[${empty(500)}],[${empty(500)}]]`,
    `{"a":{"b":[${empty(containersMax)}]}}`,
    `[${'[[[[[]]]]],'.repeat(200)}1]`,
  ]) {
    const { type, message } = await faultOf(body)
    t.equal(type, 'payload-too-large')
    t.match(message, /at most 1000 objects and arrays/)
  }
})

t.test('a body counts for the memory that it takes, before it is parsed', async (t) => {
  const sizes: number[] = []
  const reserve = (bytes: number) => void sizes.push(bytes)
  const text = JSON.stringify([{ text: 'x'.repeat(1000) }])
  for (const body of [text, '[{},{},{}]'])
    await parseJson(Buffer.from(body), { containersMax, reserve })
  t.strictSame(sizes, [text.length, 4 * 64])
  const full = new Problem('overloaded', 'full')
  const refuse = () => {
    throw full
  }
  await t.rejects(parseJson(Buffer.from('[{},{'), { containersMax, reserve: refuse }), full)
})

t.test('a call may have a million objects and arrays', async (t) => {
  const service = await startTestService(t, { ROWS_MAX: '10' })
  const account = await service.newAccount(t)
  const path = '/api/v1/sales_history/bulk_create_or_update'
  const send = (rows: number) => account.send('POST', path, `[${'{},'.repeat(rows - 1)}{}]`)
  const { status, body } = await send(1_000_000)
  t.match([status, body.type], [413, 'payload-too-large'])
  t.match(body.detail, /at most 1000000 objects and arrays/)
  t.match((await send(999_999)).body.detail, /at most 10 rows/)
})

t.test('who has no token may send 64 kB', async (t) => {
  const { app } = await startTestService(t)
  const bytesMax = 64 * 1024
  const credentials = JSON.stringify({ email: 'nobody@example.com', password: 'x' })
  const login = (payload: string | Readable, more = {}) =>
    app.inject({
      method: 'POST',
      url: '/login/',
      payload,
      headers: { 'content-type': 'application/json', ...more },
    })
  t.equal((await login(credentials.padEnd(bytesMax))).statusCode, 401)
  const over = await login(credentials.padEnd(bytesMax + 1))
  t.equal(over.statusCode, 413)
  t.equal(over.json().detail, 'The body limit is 65536 bytes, this one has 65537.')
  const chunks = Readable.from([credentials, ' '.repeat(bytesMax)].map((text) => Buffer.from(text)))
  const chunked = await login(chunks, { 'transfer-encoding': 'chunked' })
  t.equal(chunked.statusCode, 413, 'also in chunks')
})
