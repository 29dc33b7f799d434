import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { aBigJob } from '../helpers/jobs.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { salesOf } from '../helpers/sales.ts'
import { metricsToken, startTestService, type TestAccount } from '../helpers/service.ts'
import { openRequest } from '../helpers/socket.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await startTestService(t, {
  FEED_LIMIT_MB: '3',
  FEED_ROWS_MAX: '30000',
  FEED_JOB_MB: '1',
})
const header = 'transaction_id,code,extension,quantity,revenue'
const row = 'T1,A,UK,1,2.50'
const async = { prefer: 'respond-async' }

const csv = (account: TestAccount, body: string | Buffer, headers = {}) =>
  account.send('POST', path, body, { 'content-type': 'text/csv', ...async, ...headers })
const lines = (...rows: string[]) => rows.map((text) => `${text}\n`).join('')
const manyRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `T${index},A,UK,1,2`)
const piecesOf = async ({ id }: TestAccount) =>
  (await select(service.url, `select count(*)::int from file_pieces where account_id = ${id}`))[0]
    .count

t.test('a file is accepted with the job that loads it', async (t) => {
  const account = await service.newAccount(t)
  const answer = await csv(account, lines(header, row, '', '"T2",A,"U\nK",1,2'))
  t.equal(answer.status, 202)
  t.match(answer.headers, {
    'content-type': /^application\/json/,
    'preference-applied': 'respond-async',
    location: `/api/v1/jobs/${answer.body.id}/`,
  })
  t.match(answer.body, { status: 'progress', resource_type: 'file', progress: { error: 0 } })
  const job = await account.finished(answer.body)
  t.match(job, {
    status: 'done',
    kind: 'load-file',
    resource_type: 'file',
    operation: 'upsertSales',
    progress: { total: 2, finished: 2, error: 0 },
    errors: { length: 0 },
  })
  t.strictSame(job.result, { rows: 2, created: 2, updated: 0, unchanged: 0 })
  t.equal(job.price_list_id, undefined)
  t.equal((await salesOf(account)).length, 2)
  t.equal(await piecesOf(account), 0, 'and the file is deleted')
  const { body } = await account.get('/api/v1/jobs/')
  t.match(body, { count: 1, results: [{ id: job.id, operation: 'upsertSales' }] })
})

t.test('a job loads what a request would have loaded', async (t) => {
  const files: [string, string | Buffer, object][] = [
    ['CSV', lines(header, ...manyRows(3000)), {}],
    ['CRLF, one row twice', lines(header, row, row).replaceAll('\n', '\r\n'), {}],
    ['no end of line', `${header}\n${row}`, {}],
    ['CR', `${header}\r${row}\r`, {}],
    ['mixed ends', `${header}\r\n${row}\r${row.replace('T1', 'T2')}\n`, {}],
    ['no rows', header, {}],
    ['gzip', gzipSync(lines(header, row)), { 'content-encoding': 'gzip' }],
    [
      'NDJSON',
      '\n{"transaction_id":"T1","code":"A","extension":"","quantity":"1","revenue":"2"}\n',
      { 'content-type': 'application/x-ndjson' },
    ],
  ]
  for (const [name, file, headers] of files) {
    const [first, second] = [await service.newAccount(t), await service.newAccount(t)]
    const atOnce = await csv(first, file, { prefer: '', ...headers })
    t.equal(atOnce.status, 201, name)
    const { body } = await csv(second, file, headers)
    const { status, result, progress } = await second.finished(body)
    t.match({ status, result }, { status: 'done', result: atOnce.body }, name)
    t.strictSame(progress, { total: result.rows, finished: result.rows, error: 0 }, name)
    t.strictSame(await salesOf(second), await salesOf(first), name)
  }
})

t.test('a file that is refused ends the job with the errors of the request', async (t) => {
  const broken = lines(header, row, 'T2,"A,UK,1,2')
  const files: [string, number][] = [
    [lines(header, 'T1,,UK,x,2', row, 'T3'), 3],
    [lines(header, row, row.replace('2.50', '3')), 2],
    [lines(header.replace('code', 'cod'), row), 0],
    [lines(header, ...manyRows(2500).map((one) => one.replace(',A,', ',,'))), 2500],
    [broken, 1],
    ['', 0],
    [lines(header, 'T1,A\0,UK,1,2'), 0],
  ]
  for (const [file, checked] of files) {
    const name = file.slice(0, 80)
    const account = await service.newAccount(t)
    const atOnce = (await csv(account, file, { prefer: 'wait=10' })).body
    t.equal(atOnce.status, 400, name)
    const { status, body } = await csv(account, file)
    t.equal(status, 202, name)
    const job = await account.finished(body)
    t.equal(job.status, 'failed', name)
    t.strictSame(job.errors, atOnce.errors, name)
    t.equal(job.progress.error, atOnce.error_count ?? atOnce.errors.length, name)
    t.equal(job.progress.finished, checked, `${name}: rows checked`)
    t.equal(job.result, undefined)
    t.strictSame(await salesOf(account), [], `${name}: nothing was written`)
    t.equal(await piecesOf(account), 0, 'and the file is deleted')
  }
})

t.test('a refused file counts as refused, not as a fault of the service', async (t) => {
  const headers = { authorization: `Bearer ${metricsToken}` }
  const text = (await send(t, service, { method: 'GET', path: '/metrics', headers })).body
  const outcomes = [
    ...text.matchAll(/job_attempts_total\{kind="load-file",outcome="(\w+)"\} [1-9]/g),
  ]
  t.strictSame(outcomes.map(([, outcome]) => outcome).sort(), ['done', 'refused'])
})

t.test('what stands in the way of the whole file is told by the job, too', async (t) => {
  const account = await service.newAccount(t)
  const many = await account.finished((await csv(account, lines(header, ...manyRows(30_001)))).body)
  t.equal(many.status, 'failed')
  t.match(many.errors, [{ code: 'payload-too-large', message: /30000 rows/ }])
  const competitors = '/api/v1/competitor_prices/bulk_create_or_update/'
  const headers = { 'content-type': 'text/csv', ...async }
  const { body } = await account.send('POST', competitors, 'competitor_name\nX\n', headers)
  t.match((await account.finished(body)).errors, [{ code: 'no-competitor-schema' }])
})

t.test('what is known before the rows are read is answered at once', async (t) => {
  const account = await service.newAccount(t)
  const cases: [string, Record<string, string>, string | Buffer, number, string][] = [
    ['not signed in', { authorization: 'jwt x' }, row, 401, 'unauthorized'],
    ['another charset', { 'content-type': 'text/csv; charset=latin1' }, row, 415, ''],
    ['too large', {}, Buffer.alloc(3 * 1024 * 1024 + 1, 'x\n'), 413, 'payload-too-large'],
    ['no gzip', { 'content-encoding': 'gzip' }, row, 400, 'malformed-file'],
    [
      'a gzip bomb',
      { 'content-encoding': 'gzip' },
      gzipSync(Buffer.alloc(50 * 1024 * 1024)),
      ...([413, 'payload-too-large'] as const),
    ],
    ['cut off', { 'content-encoding': 'gzip' }, gzipSync(row).subarray(0, -9), 400, ''],
    ['a bad header', { 'idempotency-key': '' }, row, 400, 'invalid-request'],
  ]
  for (const [name, headers, file, status, type] of cases) {
    const answer = await csv(account, file, headers)
    t.equal(answer.status, status, name)
    if (type) t.equal(answer.body.type, type, name)
  }
  t.equal((await account.get('/api/v1/jobs/')).body.count, 0, 'there is no job')
  t.equal(await piecesOf(account), 0, 'nor anything of a file')
})

t.test('the preference is for files, and beside others', async (t) => {
  const account = await service.newAccount(t)
  const cases: [string, number][] = [
    ['respond-async', 202],
    ['Respond-Async', 202],
    ['return=minimal, respond-async;x=1 , wait=10', 202],
    ['respond-asynchronously', 201],
    ['wait=10', 201],
    ['', 201],
  ]
  for (const [prefer, status] of cases)
    t.equal((await csv(account, lines(header, row), { prefer })).status, status, prefer)
  const sale = { transaction_id: 'T', code: 'A', extension: '', quantity: '1', revenue: '2' }
  const json = await account.send('POST', path, [sale], async)
  t.match(json, { status: 201, body: [Number] })
  t.equal(json.headers['preference-applied'], undefined)
})

t.test('a file over FEED_JOB_MB becomes a job unasked', async (t) => {
  const account = await service.newAccount(t)
  const file = lines(header, ...manyRows(29_000)).padEnd(1024 * 1024 + 1, '\n')
  const length = (bytes: number) => ({ prefer: '', 'content-length': String(bytes) })
  const large = await csv(account, file, length(file.length))
  t.equal(large.status, 202)
  t.equal(large.headers['preference-applied'], undefined)
  t.match(await account.finished(large.body), { status: 'done', result: { rows: 29_000 } })
  const rejects = { ...length(file.length), accept: 'text/csv' }
  t.equal((await csv(account, file, rejects)).status, 201, 'not if it asks for its rejected rows')
  const small = file.slice(0, -1)
  t.equal((await csv(account, small, length(small.length))).status, 201)
})

t.test('Idempotency-Key: the same file is one job, and the answer is sent again', async (t) => {
  const account = await service.newAccount(t)
  const key = { 'idempotency-key': 'k' }
  const file = lines(header, row)
  const first = await csv(account, file, key)
  const zipped = await csv(account, gzipSync(file), { ...key, 'content-encoding': 'gzip' })
  await account.finished(first.body)
  const unasked = await csv(account, file, { ...key, prefer: '' })
  for (const again of [zipped, unasked]) {
    t.equal(again.status, 202)
    t.strictSame(again.body, first.body)
    t.match(again.headers, {
      'idempotent-replayed': 'true',
      location: first.headers.location,
      'preference-applied': 'respond-async',
    })
  }
  t.match(await csv(account, `${file}\n`, key), { status: 422 })
  t.equal((await account.get('/api/v1/jobs/')).body.count, 1)
})

t.test('an answer of a load at once is sent again as it was', async (t) => {
  const account = await service.newAccount(t)
  const key = { 'idempotency-key': 'k' }
  const first = await csv(account, lines(header, row), { ...key, prefer: '' })
  const again = await csv(account, lines(header, row), key)
  t.match(again, { status: 201, body: first.body })
})

t.test('another account sees neither the job nor its file', async (t) => {
  const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
  const { body } = await csv(account, lines(header, row))
  for (const [method, rest] of [
    ['GET', ''],
    ['GET', 'events/'],
    ['POST', 'cancel/'],
  ] as const)
    t.equal((await other.send(method, `/api/v1/jobs/${body.id}/${rest}`)).status, 404)
  t.equal((await other.get('/api/v1/jobs/')).body.count, 0)
  t.match(await account.finished(body), { status: 'done' })
})

t.test('who may not send a file is told before it is read', async (t) => {
  const account = await service.newAccount(t)
  const port = await portOf()
  for (const [authorization, prefix, status] of [
    ['jwt x.y.z', '', 401],
    [`jwt ${account.token}`, '/api/v1/prices/bulk_add_products/?price_list_name=none', 404],
  ] as const) {
    const headers = { authorization, 'content-type': 'text/csv', 'content-length': '999', ...async }
    const sent = request({ port, path: prefix || path, method: 'POST', headers })
    sent.flushHeaders()
    sent.on('error', () => undefined)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    t.equal(response.statusCode, status)
    sent.destroy()
  }
})

t.test('the file of a client that goes away in the middle is gone', async (t) => {
  const account = await service.newAccount(t)
  const port = await portOf()
  const headers = { authorization: `jwt ${account.token}`, 'content-type': 'text/csv', ...async }
  const sent = request({ port, path, method: 'POST', headers })
  sent.on('error', () => undefined)
  sent.write(lines(header, ...manyRows(29_000)))
  const uploads = `select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'pricewell streams' and state like 'idle in%'`
  await until(t, async () => (await select(service.url, uploads))[0].count > 0)
  sent.destroy()
  await until(t, async () => (await select(service.url, uploads))[0].count === 0)
  t.equal((await account.get('/api/v1/jobs/')).body.count, 0)
  t.equal(await piecesOf(account), 0)
})

async function portOf(): Promise<number> {
  if (!service.app.server.listening) await service.app.listen({ port: 0 })
  return (service.app.server.address() as AddressInfo).port
}

async function until(t: Test, isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(10)
  t.pass()
}

t.test('so many files of an account wait for their jobs, and no more', async (t) => {
  const waiting = await startTestService(t, { ROLE: 'api', ACCOUNT_FILES: '2' })
  const { shop: account } = await aBigJob(t, waiting)
  const other = await waiting.newAccount(t)
  const first = await csv(account, lines(header, row))
  t.equal(first.status, 202)
  t.equal((await csv(account, lines(header, row))).status, 202, 'a job that has no file is none')
  const refused = await csv(account, lines(header, row))
  expectProblem(t, refused, 429, 'too-many-requests', 'the third')
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await csv(account, lines(header, row), { prefer: '' })).status, 201, 'but at once')
  t.equal((await csv(other, lines(header, row))).status, 202, 'of another account')
  await account.post(`/api/v1/jobs/${first.body.id}/cancel/`, undefined)
  t.equal((await csv(account, lines(header, row))).status, 202, 'when one is cancelled')
})

t.test('who has too many files that wait is told before the next one is there', async (t) => {
  const service = await startTestService(t, { ROLE: 'api', ACCOUNT_FILES: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const account = await service.newAccount(t)
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async' }
  t.equal((await account.send('POST', path, `${header}\n${row}\n`, headers)).status, 202)
  const authorization = `jwt ${account.token}`
  const more = { authorization, ...headers, 'content-length': '1000000' }
  const next = await openRequest(service.app, path, more)
  next.write(`${header}\n${row}\n`)
  const answer = next.answer()
  const late = new Promise((resolve) => setTimeout(resolve, 10_000, { status: 'none' }).unref())
  t.match(await Promise.race([answer, late]), { status: 429 })
  await next.abort()
})
