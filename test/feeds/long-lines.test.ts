import t from 'tap'
import { readCsv } from '../../src/feeds/csv.ts'
import { readNdjson } from '../../src/feeds/ndjson.ts'
import { lineBytesMax, textBlocks } from '../../src/feeds/text-blocks.ts'
import type { TestResponse } from '../helpers/conformant.ts'
import { aSale } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await sharedService()
const ndjson = 'application/x-ndjson'
const csvHeader = 'transaction_id,code,extension,quantity,revenue,error,id'

/** Over a socket: injected, a body comes in one piece. */
async function send({ token }: TestAccount, type: string, body: string, headers = {}) {
  const answer = await fetch(`${service.app.listeningOrigin}${path}`, {
    method: 'POST',
    body,
    headers: { authorization: `jwt ${token}`, 'content-type': type, accept: type, ...headers },
  })
  return { status: answer.status, body: (await answer.json()) as TestResponse['body'] }
}

const tooLong = { code: 'malformed_row', line: 3, message: /^Line 3 is longer than 1048576 bytes/ }

function longRow(transaction_id: string): string {
  return JSON.stringify(aSale({ transaction_id, error: 'é'.repeat(600_000) }))
}

const files: Record<string, [type: string, file: string]> = {
  'an NDJSON line': [
    ndjson,
    [JSON.stringify(aSale({})), '', longRow('T1'), JSON.stringify(aSale({ code: '' }))].join('\n'),
  ],
  'a CSV line of fewer characters': [
    'text/csv',
    `${csvHeader}\n\nT1,A,UK,1,2,${'€'.repeat(300_000)},${'x'.repeat(600_000)}\nT2,,UK,1,2,,\n`,
  ],
  'a CSV line of many doubled quotes': [
    'text/csv',
    `${csvHeader}\n\nT1,A,UK,1,2,"${'""'.repeat(600_000)}",\nT2,,UK,1,2,,\n`,
  ],
}

for (const [name, [type, file]] of Object.entries(files)) {
  t.test(`a file is refused at a line over 1 MB, without its rejected rows: ${name}`, async (t) => {
    const account = await service.newAccount(t)
    const expected = { status: 400, body: { type: 'malformed-file', errors: [tooLong] } }
    t.match(await send(account, type, file), expected)
    t.match(await account.send('POST', path, file, { 'content-type': type }), expected, 'in one')
    const { body } = await send(account, type, file, { prefer: 'respond-async', accept: '*/*' })
    t.match(await account.finished(body), { status: 'failed', errors: [tooLong] })
    t.equal((await account.get('/api/v1/sales_history/')).body.count, 0)
  })
}

t.test('a quote that is not closed is named, also far from the end of the file', async (t) => {
  const account = await service.newAccount(t)
  const message =
    'Line 2 begins a row of more than 1048576 bytes, perhaps because a quote is never closed. Nothing was written.'
  const file = `${csvHeader}\nT1,"A,UK,1,2,,\n${'T2,A,UK,1,2,,\n'.repeat(100_000)}`
  const { body } = await send(account, 'text/csv', file)
  t.match(body, { type: 'malformed-file', errors: [{ line: 2, message }] })
})

t.test('a line over 1 MB is refused however the bytes arrive, one of 1 MB is not', async (t) => {
  const file = (bytes: number) => `\ufeffa\r\n${'é'.repeat(bytes / 2)}\r\nb`
  for (const pieceBytes of [lineBytesMax * 2, 2 ** 16, 2 ** 16 + 1, lineBytesMax + 7]) {
    const read = (bytes: number) => linesOf(file(bytes), pieceBytes)
    t.strictSame(await read(lineBytesMax), [1, lineBytesMax, 1], `${pieceBytes} at once`)
    await t.rejects(read(lineBytesMax + 2), { message: /^Line 2 is longer/ })
  }
  const first = (bytes: number) => linesOf(`\ufeff${'x'.repeat(bytes)}\r\nb`, lineBytesMax + 4)
  t.strictSame(await first(lineBytesMax), [lineBytesMax, 1])
  await t.rejects(first(lineBytesMax + 1), { message: /^Line 1 is longer/ })
})

const shape = { schema: { properties: { a: {} } }, columns: [], ignored: new Set<string>() }

/** Rows that take far more memory than their bytes. */
const longRows: Record<string, [type: string, row: string]> = {
  'NDJSON of empty arrays': ['ndjson', `[${'[],'.repeat(340_000)}[]]\n`],
  'CSV of one long field': ['csv', `"${'[],'.repeat(340_000)}"\n`],
  'CSV of empty fields': ['csv', `x${','.repeat(1_000_000)}\n`],
}

for (const [name, [type, row]] of Object.entries(longRows)) {
  t.test(`a file is read on when a few of its long rows are checked: ${name}`, async (t) => {
    let given = 0
    const lines = (async function* () {
      if (type === 'csv') yield { bytes: Buffer.from('a\n'), line: 1 }
      while (given < 12) yield { bytes: Buffer.from(row), line: ++given + 1 }
    })()
    const { batches } = type === 'csv' ? await readCsv(lines, shape) : readNdjson(lines, shape)
    const numbers: number[] = []
    for await (const batch of batches) {
      numbers.push(...batch.map(({ line }) => line))
      t.ok(batch.length <= 2, `${batch.length} rows at once`)
      t.ok(given - numbers.length <= 4, `${given - numbers.length} more are held`)
    }
    t.strictSame(
      numbers,
      Array.from({ length: 12 }, (_, index) => index + 2),
    )
  })
}

t.test('short rows are checked a thousand at a time', async (t) => {
  const bytes = Buffer.from('1\n'.repeat(2500))
  const lines = (async function* () {
    yield { bytes: Buffer.from('a\n'), line: 1 }
    yield { bytes, line: 2 }
  })()
  const sizes: number[] = []
  for await (const batch of (await readCsv(lines, shape)).batches) sizes.push(batch.length)
  t.strictSame(sizes, [1000, 1000, 500])
})

t.test('a header of 200,000 names is answered, also by a job', async (t) => {
  const account = await service.newAccount(t)
  const names = Array.from({ length: 200_000 }, (_, index) => index.toString(36).padStart(4, '0'))
  const file = `${[...names, names[0]].join(',')}\n`
  const { status, body } = await account.send('POST', path, file, { 'content-type': 'text/csv' })
  t.equal(status, 400)
  t.equal(
    body.error_count,
    names.length + 1 + 5,
    'unknown names, one of them twice, and missing ones',
  )
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async' }
  const job = (await account.send('POST', path, file, headers)).body
  t.match(await account.finished(job), { status: 'failed' })
})

/** The lengths of the lines of a file, in bytes. */
async function linesOf(file: string, pieceBytes: number): Promise<number[]> {
  const whole: Buffer[] = []
  for await (const { bytes } of textBlocks(inPieces(Buffer.from(file), pieceBytes)))
    whole.push(bytes)
  const lines = Buffer.concat(whole).toString().split('\r\n')
  return lines.map((line) => Buffer.byteLength(line))
}

async function* inPieces(bytes: Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes)
}

t.test('fewer errors are listed if the keys that they name are megabytes long', async (t) => {
  const line = JSON.stringify(aSale({ ['k'.repeat(1_000_000)]: 1 }))
  const file = Array.from({ length: 40 }, () => line).join('\n')
  const { status, body } = await send(await service.newAccount(t), ndjson, file, { accept: '*/*' })
  t.match(
    { status, count: body.error_count, listed: body.errors.length, detail: body.detail },
    { status: 400, count: 40, listed: 9, detail: /^40 errors, the first 9 are listed\./ },
  )
})
