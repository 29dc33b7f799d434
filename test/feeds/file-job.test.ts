import { Readable } from 'node:stream'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Trx } from '../../src/database/pool.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { type Attempt, startAttempt } from '../../src/jobs/attempt.ts'
import { storeFile } from '../../src/jobs/file-pieces.ts'
import { someCodes } from '../helpers/jobs.ts'
import { salesOf } from '../helpers/sales.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aFilledList, aList, aShop, rowsOf } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import {
  anAttempt,
  openJobsDatabase,
  startTestWorkers,
  stopAfter,
  testFileLoader,
} from '../helpers/workers.ts'

/** Accepts jobs and runs none: what is under way is under the tests' control. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const isLost = { message: 'the job has ended or another worker has taken it up' }
const load = testFileLoader(undefined as never)
const run = async (attempt: Attempt) => load(attempt, await startAttempt(attempt))

const size = 20_000
const extension = 'x'.repeat(200)
/** Of several pieces, so that an attempt can end between two of them. */
const file = [
  'transaction_id,code,extension,quantity,revenue',
  ...Array.from({ length: size }, (_, index) => `T${index},A,${extension},1,2.50`),
].join('\n')

const few = file.split('\n').slice(0, 100).join('\n')
const sale = { transaction_id: 'T0', code: 'A', extension: '', quantity: '1', revenue: '1' }
const salesPath = '/api/v1/sales_history/bulk_create_or_update'

const sendTo = (account: TestAccount, path: string, body: string, prefer = 'respond-async') =>
  account.send('POST', path, body, { 'content-type': 'text/csv', prefer })

type FileJob = Awaited<ReturnType<typeof aFileJob>>

async function aFileJob(t: Test, body = file) {
  const account = await service.newAccount(t)
  const { body: job } = await sendTo(account, salesPath, body)
  const read = async () => (await account.get(`/api/v1/jobs/${job.id}/`)).body
  return { account, job, read }
}

const countOf = async (account: TestAccount) =>
  (await account.get('/api/v1/sales_history/?limit=1')).body.count
const piecesOf = async ({ id }: TestAccount) =>
  select(service.url, `select number from file_pieces where account_id = ${id} order by number`)

t.test('its total is known when it is accepted; the file is stored in pieces', async (t) => {
  const { account, read } = await aFileJob(t)
  t.match(await read(), { status: 'progress', progress: { total: size + 1, finished: 0 } })
  const pieces = await piecesOf(account)
  t.ok(pieces.length > 12, `${pieces.length} pieces`)
})

/** What `work` finds in a transaction of which nothing stays. */
async function undone(account: TestAccount, work: (trx: Trx) => Promise<void>): Promise<void> {
  const transaction = inAccount(db, account.id, async (trx) => {
    await work(trx)
    throw new Error('undone')
  })
  await t.rejects(transaction, { message: 'undone' })
}

t.test('a file may be long on its way; what follows in its transaction may not', async (t) => {
  const account = await service.newAccount(t)
  await undone(account, async (trx) => {
    const find = sql<{ idle: string }>`
      select current_setting('idle_in_transaction_session_timeout') as idle`
    const idle = async () => (await find.execute(trx)).rows[0]?.idle
    async function* arriving() {
      yield Buffer.from(few)
      t.equal(await idle(), '1h')
    }
    await storeFile(trx, account.id, arriving())
    t.equal(await idle(), '10s')
  })
})

t.test('the lines of a file are counted whatever ends them', async (t) => {
  const account = await service.newAccount(t)
  const files = { '': 0, a: 1, 'a\nb\n': 2, 'a\r\nb\r\n': 2, 'a\rb\r': 2, 'a\r\nb': 2, 'a\n\nb': 3 }
  await undone(account, async (trx) => {
    for (const [text, lines] of Object.entries(files)) {
      const chunks = Readable.from([Buffer.from(text)])
      t.match(await storeFile(trx, account.id, chunks), { lines }, JSON.stringify(text))
    }
  })
})

t.test('competitor prices of a file are of the time of its call', async (t) => {
  const account = await service.newAccount(t)
  const attributes_config = ['code']
  await account.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config })
  const rows = 'code,competitor_name,competitor_price\nA,X,1\n'
  const path = '/api/v1/competitor_prices/bulk_create_or_update/'
  const { body: job } = await sendTo(account, path, rows)
  await run(anAttempt(db, account, job, 0))
  const { created_at } = (await account.get(`/api/v1/jobs/${job.id}/`)).body
  const [entry] = (await account.get('/api/v1/competitor_prices/')).body.results
  t.equal(entry.latest_update.slice(0, 23), created_at.slice(0, 23))
})

t.test('an attempt reads the file of its job, whichever others wait', async (t) => {
  const { account } = await aFileJob(t)
  const own = await sendTo(account, salesPath, few)
  await run(anAttempt(db, account, own.body, 0))
  t.equal(await countOf(account), 99)
  t.ok((await piecesOf(account)).length > 12, 'the other file is still there')
})

t.test('progress grows while the rows are read, and ends at the number of rows', async (t) => {
  const { account, job, read } = await aFileJob(t)
  const seen: number[] = []
  const attempt = anAttempt(
    db,
    account,
    job,
    0,
    watching(async () => (await read()).progress),
  )
  function watching(look: () => Promise<{ finished: number }>): AbortSignal {
    let looked = Promise.resolve<unknown>(undefined)
    // One after the other: of two looks at a time the later one may be answered first.
    const throwIfAborted = () => {
      looked = looked.then(look).then(({ finished }) => seen.push(finished))
    }
    return { aborted: false, throwIfAborted } as AbortSignal
  }
  await run(attempt)
  t.match(await read(), { status: 'done', progress: { total: size, finished: size, error: 0 } })
  t.strictSame(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  t.ok(new Set(seen).size > 2, `${seen}`)
})

t.test(
  'an attempt that ends in the middle has written nothing; the next one loads all',
  async (t) => {
    const { account, job, read } = await aFileJob(t)
    const first = anAttempt(db, account, job, 0, stopAfter(12))
    await t.rejects(run(first), { message: 'stopped' })
    const { finished } = (await read()).progress
    t.equal(await countOf(account), 0)
    await run(anAttempt(db, account, job, 1))
    t.match(await read(), { status: 'done', result: { rows: size, created: size, updated: 0 } })
    t.ok(finished > 0 && finished < size, 'and its progress had begun')
    t.equal(await countOf(account), size)
    t.strictSame(await piecesOf(account), [])
  },
)

t.test('an attempt that was overtaken commits nothing', async (t) => {
  const { account, job, read } = await aFileJob(t, few)
  const old = anAttempt(db, account, job, 0)
  const row = await startAttempt(old)
  await startAttempt(anAttempt(db, account, job, 1))
  await t.rejects(load(old, row), isLost)
  t.equal(await countOf(account), 0)
  await run(anAttempt(db, account, job, 2))
  t.match(await read(), { status: 'done' })
  await t.rejects(load(anAttempt(db, account, job, 2), row), isLost, 'and it is done once')
})

t.test('an attempt that is overtaken or cancelled while it writes commits nothing', async (t) => {
  const endings: [string, (job: FileJob) => Promise<unknown>][] = [
    ['progress', ({ account, job }) => startAttempt(anAttempt(db, account, job, 1))],
    ['cancelled', ({ account, job }) => account.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)],
  ]
  for (const [status, end] of endings) {
    const started = await aFileJob(t, few)
    const { account, job, read } = started
    await account.post(salesPath, [{ ...sale, quantity: '7' }])
    const writing = await whileLocked(t, account, async () => {
      const running = run(anAttempt(db, account, job, 0))
      running.catch(() => undefined)
      const waiting = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      while ((await select(service.url, waiting)).length === 0);
      await end(started)
      return { running }
    })
    await t.rejects(writing.running, isLost)
    t.match(await salesOf(account), [{ quantity: '7' }])
    t.equal((await read()).status, status)
  }
})

/** Does `work` while nobody can write the account's sales. */
async function whileLocked<T>(t: Test, { id }: TestAccount, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: service.url })
  t.teardown(() => client.end())
  await client.connect()
  await client.query('begin')
  await client.query(`set local app.account = '${id}'`)
  await client.query('select from sales where account_id = $1 for update', [id])
  return work().finally(() => client.query('commit'))
}

t.test('a file that is refused by an attempt that was overtaken is not refused', async (t) => {
  const { account, job, read } = await aFileJob(t, 'code\n')
  const old = anAttempt(db, account, job, 0)
  const row = await startAttempt(old)
  await startAttempt(anAttempt(db, account, job, 1))
  await t.rejects(load(old, row), isLost)
  t.match(await read(), { status: 'progress', errors: { length: 0 } })
})

t.test('cancelled while it waits, it never runs and its file is deleted', async (t) => {
  const { account, job, read } = await aFileJob(t)
  const cancelled = await account.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.match(cancelled, { status: 200, body: { status: 'cancelled', resource_type: 'file' } })
  t.strictSame(await piecesOf(account), [])
  await t.rejects(run(anAttempt(db, account, job, 0)), isLost)
  t.equal((await read()).status, 'cancelled')
  t.equal(await countOf(account), 0)
})

t.test('cancelled while it runs, it writes nothing', async (t) => {
  const { account, job } = await aFileJob(t)
  const cancel = () => account.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  let looks = 0
  const throwIfAborted = () => void (++looks === 2 && cancel())
  const signal = { aborted: false, throwIfAborted } as AbortSignal
  await t.rejects(run(anAttempt(db, account, job, 0, signal)), isLost)
  t.equal(await countOf(account), 0)
  t.strictSame(await piecesOf(account), [])
  t.match(await cancel(), { status: 409, body: { type: 'job-ended' } })
})

t.test('with its job its file is removed from an account', async (t) => {
  const { account, job } = await aFileJob(t)
  await select(
    service.url,
    `update jobs set finished_at = now() - interval '8 days' where id = ${job.id}`,
  )
  await select(service.url, 'select delete_expired_jobs()')
  t.strictSame(await piecesOf(account), [])
})

t.test('no account sees the pieces of another', async (t) => {
  const { account } = await aFileJob(t)
  const other = await service.newAccount(t)
  const read = (reader: TestAccount) =>
    inAccount(db, reader.id, (trx) =>
      trx.selectFrom('file_pieces').select('number').where('account_id', '=', account.id).execute(),
    )
  t.not((await read(account)).length, 0)
  t.strictSame(await read(other), [])
})

t.test('files are loaded one after the other, in the order they were accepted', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const account = await own.newAccount(t)
  const jobs: { id: number }[] = []
  for (const quantity of [1, 2, 3]) {
    const body = `transaction_id,code,extension,quantity,revenue\nT,A,,${quantity},1\n`
    jobs.push((await sendTo(account, salesPath, body)).body)
  }
  await startTestWorkers(t, own)
  for (const job of jobs) t.equal((await account.finished(job)).status, 'done')
  t.match(await salesOf(account), [{ quantity: '3' }])
})

t.test('files of two accounts are loaded at the same time', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const accounts = [await own.newAccount(t), await own.newAccount(t)]
  const sent = await Promise.all(accounts.map((account) => sendTo(account, salesPath, few)))
  let begun = 0
  const both = Promise.withResolvers<void>()
  const loadHere = testFileLoader(undefined as never)
  await startTestWorkers(t, own, {
    'load-file': async (attempt, job) => {
      if (++begun === 2) both.resolve()
      await both.promise
      await loadHere(attempt, job)
    },
  })
  for (const [index, account] of accounts.entries())
    t.equal((await account.finished(sent[index]?.body)).status, 'done')
})

const rows = '/api/v1/prices/bulk_add_products/'
const prices = '/api/v1/prices/bulk_update_prices/'
const attributes = '/api/v1/prices/bulk_update_dynamic_attributes/'

t.test('files for a list are jobs of the list: rows, then their prices, in turn', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const codes = someCodes(150)
  const shop = await aShop(t, own, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const few = codes.slice(0, 120).map((code) => ({ code, country: 'UK' }))
  const first = await shop.post(rows, { name: 'L', payload: few })
  const csvOf = (head: string, rest: string) =>
    [head, ...codes.map((code) => `${code},UK${rest}`)].join('\n')
  const name = '?price_list_name=L'
  const sent = [
    first,
    await sendTo(shop, rows + name, csvOf('code,country', '')),
    await sendTo(shop, `${prices}?price_list_id=${list.id}`, csvOf('code,country,price', ',2.5')),
    await sendTo(
      shop,
      attributes + name,
      csvOf('code,country,dynamic_attribute_name,dynamic_attribute_value', ',shelf,7'),
    ),
  ]
  t.strictSame(
    sent.map(({ status }) => status),
    [201, 202, 202, 202],
  )
  const busy = await shop.post(rows, { name: 'L', payload: few.slice(0, 1) })
  t.match(busy, { status: 503 }, 'a call waits for them')
  const file = 'code,country,price\n'
  const ofCall = await shop.send('POST', prices + name, file, { 'content-type': 'text/csv' })
  t.match(ofCall, { status: 503, body: { type: 'unavailable' } }, 'and so does a file')
  await startTestWorkers(t, own)
  const ended = await Promise.all(sent.map(({ body }) => shop.finished(body)))
  t.strictSame(
    ended
      .slice(1)
      .map(({ status, result, price_list_name }) => ({ status, result, price_list_name })),
    [
      { rows: 150, created: 30, updated: 120, unchanged: 120 },
      { rows: 150, created: 0, updated: 150, unchanged: 0 },
      { rows: 150, created: 0, updated: 150 },
    ].map((result) => ({ status: 'done', result, price_list_name: 'L' })),
  )
  const found = await rowsOf(shop, list)
  t.equal(found.length, 150)
  t.ok(
    found.every(
      ({ prices, dynamic_attributes }) => prices.price === 2.5 && dynamic_attributes.shelf === 7,
    ),
  )
})

t.test('a file for a list that is not there, or is of nobody, is answered at once', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  for (const path of [rows, prices, attributes]) {
    t.match(await sendTo(shop, `${path}?price_list_name=none`, 'code\n'), { status: 404 })
    t.match(await sendTo(shop, path, 'code\n'), {
      status: 400,
      body: { errors: [{ pointer: '/query/price_list_name', code: 'required' }] },
    })
  }
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 0)
})

t.test('rows of a list that are refused are named by the job, and none is changed', async (t) => {
  const added = [{ code: 'A', country: 'UK' }]
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], rows: added })
  const name = '?price_list_name=L'
  const files: [string, string, object][] = [
    [
      rows + name,
      'code,country\nB,UK\nX,UK\n',
      { line: 3, field: 'code', code: 'unknown_product' },
    ],
    [
      prices + name,
      'code,country,price\nA,UK,2\nB,UK,3\n',
      { line: 3, field: 'code', code: 'row_not_in_list' },
    ],
    [prices + name, 'code,country,price\nA,UK,-1\n', { line: 2, field: 'price', code: 'range' }],
  ]
  for (const [path, body, fault] of files) {
    const { body: job } = await sendTo(shop, path, body)
    await t.rejects(run(anAttempt(db, shop, job, 0)), { message: 'invalid-request' })
    const { status, errors } = await shop.finished(job)
    t.match({ status, errors }, { status: 'failed', errors: [fault] })
    t.equal(errors.length, 1)
  }
  t.match(await rowsOf(shop, list), [{ code: 'A', prices: { price: 0 } }])
  t.equal((await rowsOf(shop, list)).length, 1)
})

t.test('a failed file holds up nobody: the next one of the list is loaded', async (t) => {
  const own = await startTestService(t)
  const shop = await aShop(t, own, { codes: ['A', 'B'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const bad = await sendTo(shop, `${rows}?price_list_name=L`, 'code,country\nX,UK\n')
  const good = await sendTo(shop, `${rows}?price_list_name=L`, 'code,country\nA,UK\n')
  t.match(await shop.finished(bad.body), { status: 'failed' })
  t.match(await shop.finished(good.body), { status: 'done', result: { created: 1 } })
})
