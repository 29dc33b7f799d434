import { setImmediate as nextLoop } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { openRequest } from '../helpers/socket.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const header = 'transaction_id,code,extension,quantity,revenue'
const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson' }

const service = await sharedService()

/** Rows of which each has so many faults, the first of them this one. */
const kinds: Record<string, [type: object, row: string, faults: number, code: string]> = {
  'CSV with too many fields': [csv, 'T1,A,UK,1,2,3', 1, 'malformed_row'],
  'CSV with bad cells': [csv, 'T1,A,UK,x,y', 2, 'format'],
  'NDJSON that is none': [ndjson, 'x', 1, 'malformed_row'],
  'NDJSON of another type': [ndjson, '1', 1, 'type'],
  'NDJSON without keys': [ndjson, '{}', 5, 'required'],
  'NDJSON with a key twice': [ndjson, '{"a":1,"a":2}', 1, 'malformed_row'],
  'NDJSON that is too deep': [ndjson, `${'['.repeat(33)}${']'.repeat(33)}`, 1, 'malformed_row'],
  'NDJSON with unknown keys': [ndjson, '{"a":1,"b":2}', 7, 'required'],
}

for (const [name, [type, row, faults, code]] of Object.entries(kinds)) {
  t.test(`all faults are counted and the first 1,000 listed: ${name}`, async (t) => {
    const account = await service.newAccount(t)
    const head = type === csv ? `${header}\n` : ''
    const file = `${head}${`${row}\n`.repeat(2500)}`
    const zipped = { ...type, 'content-encoding': 'gzip' }
    for (const [body, headers] of [[file, type] as const, [gzipSync(file), zipped] as const]) {
      const answer = await account.send('POST', path, body, headers as Record<string, string>)
      t.match(answer, { status: 400, body: { type: 'invalid-request' } })
      const { errors, error_count } = answer.body
      t.strictSame([errors.length, error_count], [1000, 2500 * faults])
      const last = Math.ceil(1000 / faults) - 1
      t.match(errors[0], { row: 0, line: head === '' ? 1 : 2, code })
      t.match(errors[999], { row: last, line: last + (head === '' ? 1 : 2) })
    }
  })
}

t.test('faults of all kinds are listed in the order of their rows', async (t) => {
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 1600 }, (_, index) => (index % 2 === 0 ? 'x' : '1'))
  const { body } = await account.send('POST', path, rows.join('\n'), ndjson)
  t.equal(body.error_count, 1600)
  t.strictSame(
    body.errors.map(({ row, code }: { row: number; code: string }) => [row, code]),
    rows.slice(0, 1000).map((text, row) => [row, text === 'x' ? 'malformed_row' : 'type']),
  )
})

for (const [name, [type, row]] of Object.entries(kinds)) {
  t.test(`others are answered while a file is read: ${name}`, async (t) => {
    const account = await service.newAccount(t)
    const file = `${type === csv ? `${header}\n` : ''}${`${row}\n`.repeat(50_000)}`
    let isAnswered = false
    const answered = account
      .send('POST', path, file, type as Record<string, string>)
      .finally(() => (isAnswered = true))
    let others = 0
    while (!isAnswered) {
      await nextLoop()
      others += (await account.get('/health/live')).status === 200 ? 1 : 0
    }
    t.equal((await answered).status, 400)
    t.ok(others > 20, `${others} meanwhile`)
  })
}

t.test('a file whose client goes while it is read is read no further', async (t) => {
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 400_000 }, (_, index) => `T${index},A,UK,1,2`)
  // It has arrived whole, and takes its time.
  const file = gzipSync(`${header}\n${rows.join('\n')}\n`)
  const upload = await openRequest(service.app, path, {
    ...csv,
    'content-encoding': 'gzip',
    'content-length': `${file.length}`,
    authorization: `jwt ${account.token}`,
  })
  upload.write(file)
  while ((await service.feedsUnderWay()) === 0);
  await upload.abort()
  const busy = () =>
    select(
      service.url,
      `select from pg_stat_activity where datname = current_database()
         and application_name = 'pricewell streams' and state <> 'idle'`,
    )
  while ((await busy()).length > 0);
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 0)
})
