import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { salesOf } from '../helpers/sales.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await startTestService(t, { FEED_LIMIT_MB: '3', FEED_ROWS_MAX: '30000' })
const header = 'transaction_id,code,extension,quantity,revenue'
const row = 'T1,A,UK,1,2.50'
const sale = { transaction_id: 'T1', code: 'A', extension: 'UK', quantity: '1', revenue: '2.50' }

const csv = (account: TestAccount, body: string | Buffer, headers = {}) =>
  account.send('POST', path, body, { 'content-type': 'text/csv', ...headers })
const ndjson = (account: TestAccount, body: string | Buffer, headers = {}) =>
  account.send('POST', path, body, { 'content-type': 'application/x-ndjson', ...headers })
const lines = (...rows: string[]) => rows.map((text) => `${text}\n`).join('')

t.test('a CSV file is loaded like the same rows in JSON', async (t) => {
  const account = await service.newAccount(t)
  const file = lines(
    'code,transaction_id,extension,quantity,revenue,currency',
    'A,T1,UK,1,2.50,GBP',
    '"B,""b""\nb",T2,,-3,-4,',
  )
  const answer = await csv(account, file)
  t.match(answer, { status: 201, body: { rows: 2, created: 2, updated: 0 } })
  t.match(answer.headers['content-type'], 'application/vnd.pricewell.feed+json')
  t.strictSame(await salesOf(account), [
    { ...sale, currency: 'GBP' },
    { transaction_id: 'T2', code: 'B,"b"\nb', extension: '', quantity: '-3', revenue: '-4' },
  ])
  t.match(await csv(account, file), { body: { rows: 2, created: 0, updated: 2, unchanged: 2 } })
  const changed = await csv(account, `${file.replace('2.50', '2.5')}C,T3,,1,1,`)
  t.strictSame(changed.body, { rows: 3, created: 1, updated: 2, unchanged: 1 })
})

t.test('an NDJSON file is loaded like the same rows in JSON', async (t) => {
  const account = await service.newAccount(t)
  const text = JSON.stringify(sale)
  const answer = await ndjson(account, `\n${text}\r\n\r\n ${text.replace('T1', 'T2')} `)
  t.match(answer, { status: 201, body: { rows: 2, created: 2, updated: 0 } })
  t.strictSame(await salesOf(account), [sale, { ...sale, transaction_id: 'T2' }])
})

t.test('however the same file is written, it says the same', async (t) => {
  const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(lines(header, row))])
  const files: Record<string, string | Buffer> = {
    LF: `${header}\n${row}\n`,
    CRLF: `${header}\r\n${row}\r\n`,
    CR: `${header}\r${row}\r`,
    'no end of line': `${header}\n${row}`,
    'a byte order mark': bom,
    'empty lines': `\n${header}\n\n${row}\n\n\n`,
    'quotes everywhere': lines(header, row).replace(/[^,\n]+/g, '"$&"'),
    'columns of answers': lines(`id,${header},error`, `7,${row},code: is required`),
    'the row twice': lines(header, row, row),
    'an escaped text': lines(header, row.replace('UK', "'UK")).replace("'UK", 'UK'),
  }
  for (const [name, file] of Object.entries(files)) {
    const account = await service.newAccount(t)
    const { status, body } = await csv(account, file)
    t.match({ status, body }, { status: 201, body: { created: 1 } }, name)
    t.strictSame(await salesOf(account), [sale], name)
  }
})

t.test('a file without rows does nothing', async (t) => {
  const account = await service.newAccount(t)
  t.match(await csv(account, `${header}\n`), { status: 201, body: { rows: 0, created: 0 } })
  t.match(await csv(account, header), { status: 201, body: { rows: 0, created: 0 } })
  t.match(await ndjson(account, '\n\n'), { status: 201, body: { rows: 0, created: 0 } })
})

type Fault = [line: number | undefined, pointer: string, code: string]

t.test('a header with faults is refused, and all of them are named', async (t) => {
  const cases: [string, ...Fault[]][] = [
    [
      'transaction_id,code,extension,qty,revenue,revenue',
      [1, '#/columns/qty', 'unknown_key'],
      [1, '#/columns/revenue', 'not_allowed'],
      [1, '#/columns/quantity', 'required'],
    ],
    [`,${header}`, [1, '#/columns/', 'unknown_key']],
    [`${header},Currency`, [1, '#/columns/Currency', 'unknown_key']],
    [`${header},__proto__`, [1, '#/columns/__proto__', 'unknown_key']],
    [`${header}, currency`, [1, '#/columns/ currency', 'unknown_key']],
    [`${header},code.x`, [1, '#/columns/code.x', 'unknown_key']],
  ]
  for (const [head, ...faults] of cases) await expectRefused(t, csv, lines(head, row), faults)
})

t.test('every bad row of a file is named with its line', async (t) => {
  const cases: [string, string, ...Fault[]][] = [
    ['too few fields', 'T1,A', [2, '/0/quantity', 'required'], [2, '/0/revenue', 'required']],
    ['too many fields', `${row},x`, [2, '/0', 'malformed_row']],
    ['a required cell is empty', 'T1,,UK,1,2', [2, '/0/code', 'required']],
    ['no decimal', 'T1,A,UK,x,"1,5"', [2, '/0/quantity', 'format'], [2, '/0/revenue', 'format']],
    ['16 digits', 'T1,A,UK,1,1234567890.123456', [2, '/0/revenue', 'format']],
    ['a long text', `T1,${'x'.repeat(256)},UK,1,2`, [2, '/0/code', 'length']],
    [
      'after rows of more lines',
      lines('T1,A,"U\nK\r\n",1,2', '', 'T2,,UK,1,2', 'T3,A,"U\nK",z,2'),
      [6, '/1/code', 'required'],
      [7, '/2/quantity', 'format'],
    ],
    [
      'one key twice',
      lines(row, 'T0,A,UK,1,2', 'T1,A,UK,1,2.5', 'T1,B,UK,1,2.50'),
      [4, '/2', 'duplicate_row'],
      [5, '/3', 'duplicate_row'],
    ],
  ]
  for (const [name, rows, ...faults] of cases)
    await expectRefused(t, csv, lines(header, rows), faults, name)
})

t.test('every bad line of an NDJSON file is named', async (t) => {
  const good = JSON.stringify(sale)
  const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`
  const cases: [string, ...Fault[]][] = [
    [`${good},`, [2, '/1', 'malformed_row']],
    [`${good}${good}`, [2, '/1', 'malformed_row']],
    [deep, [2, '/1', 'malformed_row']],
    [good.replace('"code":', '"code":"B","code":'), [2, '/1', 'malformed_row']],
    [good.replace('"A"', '"\\u0000"'), [2, '/1', 'malformed_row']],
    [good.replace('"A"', '"\\ud800"'), [2, '/1', 'malformed_row']],
    [good.replace('{', '{"__proto__":{},'), [2, '/1', 'malformed_row']],
    ['[1]', [2, '/1', 'type']],
    ['null', [2, '/1', 'type']],
    [good.replace('"1"', '1'), [2, '/1/quantity', 'type']],
    [good.replace('{', '{"x":1,'), [2, '/1/x', 'unknown_key']],
    [`x\n\n${good.replace('"A"', '""')}`, [2, '/1', 'malformed_row'], [4, '/2/code', 'length']],
    [`x\r\n\r${good.replace('"A"', '""')}`, [2, '/1', 'malformed_row'], [4, '/2/code', 'length']],
  ]
  for (const [rows, ...faults] of cases)
    await expectRefused(t, ndjson, lines(good.replace('T1', 'T0'), rows), faults, rows.slice(0, 80))
})

t.test('a file that cannot be read on is refused with the line', async (t) => {
  const invalid = Buffer.concat([
    Buffer.from(`${header}\nT1,`),
    Buffer.from([0xe9]),
    Buffer.from(row),
  ])
  const cases: [string, string | Buffer, number | undefined][] = [
    ['no header', '\n\n', 1],
    ['a quote that is never closed', lines(header, row, 'T2,"A,UK,1,2', 'T3,A,UK,1,2'), 3],
    ['a quote inside a field', lines(header, row, 'T2,A"B,UK,1,2'), 3],
    ['something after a quote', lines(header, '"T2"x,A,UK,1,2'), 2],
    ['invalid UTF-8', invalid, 2],
    ['NUL', lines(header, row, 'T2,A\0,UK,1,2'), 3],
    [
      'after lines inside a cell, and empty ones',
      lines(header, '"T1\r\nx\ny",A,UK,1,2', '', '', 'T2,A"B,UK,1,2'),
      7,
    ],
    ['a huge field', lines(header, row, `T2,"${'x\n'.repeat(600_000)}",UK,1,2`), 3],
    ['a huge line', lines(header, row, `T2,${'x'.repeat(1_200_000)},UK,1,2`), 3],
  ]
  for (const [name, file, line] of cases) {
    const account = await service.newAccount(t)
    const { status, body } = await csv(account, file)
    t.match({ status, type: body.type }, { status: 400, type: 'malformed-file' }, name)
    t.equal(body.errors?.[0]?.line, line, name)
    t.strictSame(await salesOf(account), [], `${name}: nothing was written`)
  }
})

t.test('bad rows before a line that cannot be read are named, too', async (t) => {
  const good = (id: number) => `T${id},A,UK,1,2`
  const ends: [string, Buffer][] = [
    ['a quote', Buffer.from('T9,A"B,UK,1,2\n')],
    ['a quote that is never closed', Buffer.from('T9,"A,UK,1,2\n')],
    ['NUL', Buffer.from('T9,A\0B,UK,1,2\n')],
    ['no UTF-8', Buffer.from([0x54, 0xff, 0x0a])],
    ['a long line', Buffer.from(`T9,${'x'.repeat(1_200_000)},UK,1,2\n`)],
  ]
  for (const [name, end] of ends)
    for (const rows of [[], Array.from({ length: 2500 }, (_, index) => good(index))]) {
      const account = await service.newAccount(t)
      const before = lines(header, 'T1,,UK,1,2', ...rows, 'T2,A,UK,1,x')
      const { status, body } = await csv(account, Buffer.concat([Buffer.from(before), end]))
      t.match({ status, type: body.type }, { status: 400, type: 'malformed-file' }, name)
      const places = body.errors.map(({ line, field }: { line: number; field?: string }) => [
        line,
        field,
      ])
      const last = rows.length + 3
      t.strictSame(
        places,
        [
          [2, 'code'],
          [last, 'revenue'],
          [last + 1, undefined],
        ],
        name,
      )
      t.equal(body.error_count, 3)
    }
})

t.test('a file of a spreadsheet that is UTF-16 is told to be so', async (t) => {
  const file = Buffer.from(`\ufeff${lines(header, row)}`, 'utf16le')
  for (const bytes of [file, Buffer.from(file).swap16()]) {
    const { status, body } = await csv(await service.newAccount(t), bytes)
    t.match({ status, type: body.type }, { status: 400, type: 'malformed-file' })
    t.equal(body.detail, 'The file is UTF-16: save it as UTF-8. Nothing was written.')
  }
})

t.test('the first 1,000 errors are listed, all are counted', async (t) => {
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 2500 }, (_, index) => `T${index},,UK,1,2`)
  const { status, body } = await csv(account, lines(header, ...rows))
  t.equal(status, 400)
  t.equal(body.error_count, 2500)
  t.strictSame([body.errors.length, body.errors[999].line], [1000, 1001])
})

t.test(
  'gzip: read while it arrives, refused when it is not whole or grows too large',
  async (t) => {
    const account = await service.newAccount(t)
    const gzip = { 'content-encoding': 'gzip' }
    const whole = gzipSync(lines(header, row))
    t.match(await csv(account, whole, gzip), { status: 201, body: { created: 1 } })
    const otherName = { 'content-encoding': 'X-GZIP' }
    t.match(await csv(account, whole, otherName), { status: 201, body: { updated: 1 } }, 'x-gzip')
    const members = Buffer.concat([gzipSync(`${header}\n`), gzipSync('T2,A,UK,1,2\n')])
    t.match(await csv(account, members, gzip), { status: 201, body: { created: 1 } }, 'two members')
    const padded = Buffer.concat([whole, Buffer.alloc(100_000)])
    t.match(await csv(account, padded, gzip), { status: 201, body: { updated: 1 } }, 'zeros behind')
    const before = await salesOf(account)
    const broken = { status: 400, body: { type: 'malformed-file' } }
    t.match(await csv(account, whole.subarray(0, -9), gzip), broken, 'cut off')
    t.match(await csv(account, lines(header, row), gzip), broken, 'no gzip')
    for (const zeros of [1, 100_000]) {
      const behind = [gzipSync('T3,A,UK,1,2\n'), Buffer.from('x')]
      for (const more of behind) {
        const file = Buffer.concat([members, Buffer.alloc(zeros), more])
        t.match(await csv(account, file, gzip), broken, `${zeros} zeros, then more`)
      }
    }
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, '\n'))
    t.ok(bomb.length < 1024 * 1024)
    const tooLarge = { status: 413, body: { type: 'payload-too-large', detail: /3145728 bytes/ } }
    t.match(await csv(account, Buffer.concat([gzipSync(`${header}\n`), bomb]), gzip), tooLarge)
    t.strictSame(await salesOf(account), before, 'nothing was written')
  },
)

t.test('more bytes or rows than the limit are 413', async (t) => {
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 30_001 }, (_, index) => `${index},A,UK,1,2`)
  t.match(await csv(account, lines(header, ...rows)), {
    status: 413,
    body: { detail: /30000 rows/ },
  })
  t.match(await csv(account, lines(header, ...rows.slice(1))), { status: 201 })
  const many = Buffer.alloc(3 * 1024 * 1024 + 1, `${row}\n`)
  t.match(await ndjson(account, many), { status: 413, body: { detail: /3145728 bytes/ } })
})

t.test('the rejected rows of a file can be corrected and sent again', async (t) => {
  const account = await service.newAccount(t)
  const accept = { accept: 'text/csv' }
  const file = lines(header, row, '"T,""2",,UK,1,x', 'T3', "T4,'=A,UK,,2")
  const refused = await csv(account, file, accept)
  t.equal(refused.status, 400)
  t.strictSame(parse(refused.body), [
    [...header.split(','), 'error'],
    [
      'T,"2',
      '',
      'UK',
      '1',
      'x',
      'code: is required; quantity: '.slice(0, 17) +
        '; revenue: must be a decimal number in a string, at most 15 significant digits and 6 decimals',
    ],
    ['T3', '', '', '', '', 'code: is required; quantity: is required; revenue: is required'],
    ['T4', "'=A", 'UK', '', '2', 'quantity: is required'],
  ])
  const again = await csv(account, refused.body, accept)
  t.equal(again.status, 400, 'it has the same faults')
  const corrected = refused.body
    .replace(',,UK,1,x', ',B,UK,1,2')
    .replace('T3,,,,', 'T3,A,UK,1,2')
    .replace("'=A,UK,,", "'=A,UK,1,")
  t.match(await csv(account, corrected, accept), { status: 201, body: { created: 3 } })
  t.equal((await salesOf(account))[2]?.code, '=A')
})

t.test(
  'too many fields stay and errors keep their heading, however often rows are rejected',
  async (t) => {
    const account = await service.newAccount(t)
    const long = ['T1', 'A', 'Smith', ' John', '1', '2']
    const short = ['T2', 'A', 'UK', '', '2']
    const files: [header: string, ...rows: string[][]][] = [
      [header, long, short],
      [
        header.replace('code,', 'code,error,'),
        ...[long, short].map(([id = '', code = '', ...others]) => [id, code, 'old', ...others, '']),
      ],
    ]
    for (const [head, ...rows] of files) {
      let file = lines(head, ...rows.map((fields) => fields.join(',')))
      for (const time of [1, 2, 3]) {
        file = (await csv(account, file, { accept: 'text/csv' })).body
        const [columns, first = [], second] = parse(file)
        t.strictSame(columns, [...header.split(','), '', 'error'], head)
        t.match(first.pop(), /^column [67] has a value and no heading$/)
        t.strictSame(first, long, `${head}, time ${time}`)
        t.strictSame(second, [...short, '', 'quantity: is required'], `${head}, time ${time}`)
      }
    }
  },
)

t.test('rejected rows of NDJSON have their errors, digits as they were sent', async (t) => {
  const account = await service.newAccount(t)
  const bad =
    '{"transaction_id":"T1","code":"A","extension":"","quantity":12345678901234567890,"revenue":"2"}'
  const accept = { accept: 'application/x-ndjson' }
  const { status, body } = await ndjson(account, `${bad}\nx\n${JSON.stringify(sale)}\n`, accept)
  t.equal(status, 400)
  t.strictSame(body.split('\n'), [
    `${bad.slice(0, -1)},"error":"quantity: must be string"}`,
    '{"row":"x","error":"is not valid JSON"}',
    '',
  ])
})

t.test('texts with separators of lines and paragraphs come back, too', async (t) => {
  const account = await service.newAccount(t)
  const text = 'A\u2028B\u2029\u0085'
  const file = lines(header, `T1,${text},UK,,2`, 'T2,A,UK,1,2')
  const { body } = await csv(account, file, { accept: 'text/csv' })
  t.strictSame(
    parse(body).map((fields: string[]) => [fields[1], fields.at(-1)]),
    [
      ['code', 'error'],
      [text, 'quantity: is required'],
    ],
  )
})

t.test('rejected rows of NDJSON that are sent again as they are are rejected again', async (t) => {
  const account = await service.newAccount(t)
  const twice =
    '{"error":{"a":[1,"}"]}, "code":"A","extension":"","quantity":"1","revenue":"2","revenue":"3","transaction_id":"T1"}'
  const accept = { accept: 'application/x-ndjson' }
  let file = `${twice}\n${JSON.stringify({ ...sale, error: 'x' })}\n`
  const answers: string[] = []
  for (let time = 0; time < 3; time++) {
    const { status, body } = await ndjson(account, file, accept)
    t.equal(status, 400)
    answers.push(body)
    file = body
  }
  const cut = twice.slice('{"error":{"a":[1,"}"]}, '.length, -1)
  t.equal(answers[0], `{${cut},"error":"An object has the same key twice"}\n`)
  t.strictSame(new Set(answers).size, 1)
})

t.test('Idempotency-Key: a file is loaded once, and its answer is sent again', async (t) => {
  const account = await service.newAccount(t)
  const key = { 'idempotency-key': 'k1' }
  const first = await csv(account, lines(header, row), key)
  t.equal(first.headers['idempotent-replayed'], undefined)
  const zipped = { ...key, 'content-encoding': 'gzip' }
  for (const answer of [
    await csv(account, lines(header, row), key),
    await csv(account, gzipSync(lines(header, row)), zipped),
  ]) {
    t.match(answer, { status: 201, body: { rows: 1, created: 1, updated: 0 } })
    t.equal(answer.headers['idempotent-replayed'], 'true')
  }
  const other = await csv(account, lines(header, row, 'T2,A,UK,1,2'), key)
  for (const answer of [other, await ndjson(account, lines(header, row), key)])
    t.match(answer, { status: 422, body: { type: 'idempotency-key-reused' } })
  t.equal((await salesOf(account)).length, 1)
})

t.test('a client that goes away in the middle has written nothing', async (t) => {
  const account = await service.newAccount(t)
  await service.app.listen({ port: 0 })
  const { port } = service.app.server.address() as AddressInfo
  const headers = { authorization: `jwt ${account.token}`, 'content-type': 'text/csv' }
  const sent = request({ port, path, method: 'POST', headers })
  sent.on('error', () => undefined)
  sent.write(lines(header, ...Array.from({ length: 5000 }, (_, index) => `T${index},A,UK,1,2`)))
  while ((await service.feedsUnderWay()) === 0) await sleep(10)
  sent.destroy()
  while ((await service.feedsUnderWay()) > 0) await sleep(10)
  t.strictSame(await salesOf(account), [])
  t.match(await csv(account, lines(header, row)), { status: 201 }, 'and the service goes on')
})

t.test(
  'a client that sends on is answered all the same, and its connection serves again',
  async (t) => {
    const account = await service.newAccount(t)
    if (!service.app.server.listening) await service.app.listen({ port: 0 })
    const { port } = service.app.server.address() as AddressInfo
    const headers = { authorization: `jwt ${account.token}`, 'content-type': 'text/csv' }
    const large = Buffer.alloc(2 * 1024 * 1024, `${row}\n`)
    for (const head of ['no,header\n', `${header}\nT,"A"B,UK,1,2\n`, `${header}\n`]) {
      const body = Buffer.concat([Buffer.from(head), large])
      const answer = await fetch(`http://localhost:${port}${path}`, {
        method: 'POST',
        headers,
        body,
      })
      t.ok([400, 413].includes(answer.status), head)
      t.equal(answer.headers.get('connection'), null, 'all has passed: it is not closed')
      t.match(await answer.json(), { type: /^(invalid-request|malformed-file|payload-too-large)$/ })
    }
    const zipped = { ...headers, 'content-encoding': 'gzip' }
    const answer = await fetch(`http://localhost:${port}${path}`, {
      method: 'POST',
      headers: zipped,
      body: large,
    })
    t.match(await answer.json(), { type: 'malformed-file' })
  },
)

t.test('real sales go in as a file and come out as they were', async (t) => {
  const account = await service.newAccount(t)
  const data = gunzipSync(
    readFileSync(join(import.meta.dirname, '../../examples/demo/online-retail-2010-12.csv.gz')),
  )
  // Its last line names the source.
  const real: Record<string, string>[] = parse(data, { columns: true, relax_column_count: true })
  const rows = real
    .filter(({ Country }) => Country)
    .map((line, index) => ({
      transaction_id: `${line.InvoiceNo}-${index}`,
      code: line.StockCode,
      extension: line.Country,
      quantity: line.Quantity,
      active_price: line.UnitPrice,
      revenue: (Number(line.Quantity) * Number(line.UnitPrice)).toFixed(2),
    }))
  const file = rows.map((one) => JSON.stringify(one)).join('\n')
  t.match(await ndjson(account, file), { status: 201, body: { created: rows.length } })
  const { body } = await account.send('GET', '/api/v1/sales_history/', undefined, {
    accept: 'text/csv',
  })
  const out: Record<string, string>[] = parse(body, { columns: true })
  const sums = (list: { revenue?: string }[]) =>
    list.reduce((sum, { revenue }) => sum + Math.round(Number(revenue) * 100), 0)
  t.strictSame([out.length, sums(out)], [rows.length, sums(rows)])
})

/** The file is answered 400 with exactly these faults, and nothing was written. */
async function expectRefused(
  t: Test,
  send: (account: TestAccount, file: string) => ReturnType<TestAccount['get']>,
  file: string,
  faults: Fault[],
  name = file.split('\n')[0] ?? '',
): Promise<void> {
  const account = await service.newAccount(t)
  const { status, body } = await send(account, file)
  t.equal(status, 400, name)
  const named = body.errors?.map(({ line, pointer, code }: Record<string, unknown>) => [
    line,
    pointer,
    code,
  ])
  t.strictSame(named, faults, name)
  t.equal(body.error_count, faults.length, name)
  t.strictSame(await salesOf(account), [], `${name}: nothing was written`)
}
