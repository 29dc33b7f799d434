import { gzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const header = 'transaction_id,code,extension,quantity,revenue'
const sale = { transaction_id: 'T1', code: 'A', extension: '', quantity: '1', revenue: '2' }
const megabyte = 1024 * 1024

const service = await sharedService()

async function rejectedBy(account: TestAccount, type: string, file: string | Buffer, headers = {}) {
  const answer = await account.send('POST', path, file, {
    'content-type': type,
    accept: type,
    ...headers,
  })
  t.equal(answer.status, 400)
  t.equal(answer.headers['content-type'], `${type}; charset=utf-8`)
  t.match(answer.headers.link, /docs\/problems#invalid-request/, 'says which problem it is')
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 0, 'nothing was written')
  return { body: answer.body as string, count: answer.headers['rejected-rows'] }
}

t.test('a refused file is answered with its rejected rows only', async (t) => {
  const account = await service.newAccount(t)
  const file = `${header}\nT1,A,UK,1,2\nT2,,UK,x,2\nT3,A,UK,1,2\nT1,A,UK,1,3\n`
  const { body, count } = await rejectedBy(account, 'text/csv', file)
  t.equal(count, '3', 'as error_count')
  const rows = parse(body)
  t.strictSame(rows, [
    [...header.split(','), 'error'],
    ['T2', '', 'UK', 'x', '2', rows[1]?.at(-1)],
    ['T1', 'A', 'UK', '1', '3', 'lines 2 and 5 have the same key and differ'],
  ])
  t.match(rows[1]?.at(-1), /^code: is required; quantity: must be /)
  const list = await account.send('POST', path, file, { 'content-type': 'text/csv' })
  t.equal(list.body.error_count, 3)
  t.equal(list.headers['rejected-rows'], undefined)
})

t.test('rejected rows of CSV stay as they were, and no spreadsheet runs them', async (t) => {
  const account = await service.newAccount(t)
  const file = `${header}\r\n'=1,"a, ""b""\r\nc",UK,x,2\r\n`
  const { body } = await rejectedBy(account, 'text/csv', gzipSync(file), {
    'content-encoding': 'gzip',
  })
  t.match(body, `'=1,"a, ""b""\r\nc",UK,x,2,"quantity: must be`)
})

t.test('rejected rows of NDJSON stay as they were, also what is no object', async (t) => {
  const account = await service.newAccount(t)
  const late = JSON.stringify({ ...sale, revenue: '3' })
  const digits = JSON.stringify(sale).replace('"1"', '12345678901234567890')
  const file = [JSON.stringify(sale), late, digits, 'x,"', '[1]'].join('\n')
  const { body, count } = await rejectedBy(account, 'application/x-ndjson', file)
  t.equal(count, '4')
  t.strictSame(body.split('\n'), [
    `${late.slice(0, -1)},"error":"lines 1 and 2 have the same key and differ"}`,
    `${digits.slice(0, -1)},"error":"quantity: must be string"}`,
    '{"row":"x,\\"","error":"is not valid JSON"}',
    '{"row":"[1]","error":"must be object"}',
    '',
  ])
})

/** Rows of which every second is bad: at once, or when all rows are there. */
const kinds: Record<string, (row: number) => string> = {
  'bad by themselves': (row) => `T${row},A,UK,${row % 2 === 0 ? 1 : 'x'},2`,
  'bad beside others': (row) => `T${row - (row % 2)},A,UK,1,${row}`,
}

for (const [name, rowOf] of Object.entries(kinds)) {
  const fileOf = (rows: number, text = '') =>
    `${header},price_list_name\n${Array.from({ length: rows }, (_, row) => `${rowOf(row)},${text}\n`).join('')}`

  t.test(`the first 10,000 rejected rows are answered, all are counted: ${name}`, async (t) => {
    const { body, count } = await rejectedBy(
      await service.newAccount(t),
      'text/csv',
      fileOf(24_000),
    )
    t.equal(count, '12000')
    const rows = parse(body).slice(1)
    t.equal(rows.length, 10_000)
    t.match([rows[0], rows[9999]], [/* line 3 */ rowOf(1).split(','), rowOf(19_999).split(',')])
  })

  t.test(`at most 16 MB of rejected rows are answered: ${name}`, async (t) => {
    const file = fileOf(70, `"${'a'.repeat(megabyte / 2)}"`)
    const { body, count } = await rejectedBy(await service.newAccount(t), 'text/csv', file)
    t.ok(Number(count) >= 35)
    t.equal(parse(body).length, 1 + 31)
    t.ok(Buffer.byteLength(body) <= 16 * megabyte)
  })
}

t.test('a header or a file that cannot be read is answered with its errors', async (t) => {
  const account = await service.newAccount(t)
  for (const [file, error_count] of [
    [`${header},colour\nT1,A,UK,1,2,red\n`, 1],
    [`${header}\nT1,,UK,1,2\n"T2,A,UK,1,2\n`, 2],
  ] as const) {
    const headers = { 'content-type': 'text/csv', accept: 'text/csv' }
    const answer = await account.send('POST', path, file, headers)
    t.match(answer, { status: 400, body: { error_count } })
    t.match(answer.headers['content-type'], /^application\/problem\+json/)
  }
})

t.test('stale rows, and rows that break a guardrail, are given back, too', async (t) => {
  const { shop } = await aFilledList(t, service, {
    codes: ['A', 'B', 'C'],
    guardrails: { max_price: 10 },
  })
  const send = (file: string, type: string) =>
    shop.send('POST', '/api/v1/prices/bulk_update_prices/?price_list_name=L', file, {
      'content-type': type,
      accept: type,
    })
  const high = await send('code,country,price\nA,UK,9\nB,UK,99\nC,UK,10.5\n', 'text/csv')
  t.match(high, { status: 422, headers: { 'rejected-rows': '2' } })
  t.strictSame(parse(high.body), [
    ['code', 'country', 'price', 'error'],
    ['B', 'UK', '99', 'a first price of 99: is above 10'],
    ['C', 'UK', '10.5', 'a first price of 10.5: is above 10'],
  ])
  const first = 'code,country,price\nA,UK,9\n'
  t.equal((await send(first, 'text/csv')).status, 201)
  const row = { code: 'A', country: 'UK', price: 8, expected_price: 7 }
  const stale = await send(JSON.stringify(row), 'application/x-ndjson')
  t.match(stale, { status: 409, headers: { 'rejected-rows': '1' } })
  t.match(JSON.parse(stale.body), { ...row, error: /^\S/ })
})

t.test('a file that is cut off after bad rows is answered with the errors', async (t) => {
  const account = await service.newAccount(t)
  const headers = { 'content-type': 'text/csv', accept: 'text/csv' }
  const rows = Array.from({ length: 20_000 }, (_, row) => `T${row},,UK,1,2\n`).join('')
  const cut = await account.send('POST', path, `${header}\n${rows}"T`, headers)
  t.match(cut, { status: 400, body: { type: 'malformed-file' } })
  t.equal(cut.headers['rejected-rows'], undefined)
})
