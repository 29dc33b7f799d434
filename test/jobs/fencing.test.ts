import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import type { Trx } from '../../src/database/pool.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { inAttempt, startAttempt } from '../../src/jobs/attempt.ts'
import { enqueueJob } from '../../src/jobs/enqueue.ts'
import {
  endDone,
  endUndone,
  findProductIds,
  setFinished,
  setRowIds,
} from '../../src/jobs/job-row.ts'
import { createBoss } from '../../src/jobs/queue.ts'
import type { RunJob } from '../../src/jobs/run-job.ts'
import { holdsLease } from '../../src/jobs/work.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { addDraftRows } from '../../src/price-lists/draft-rows.ts'
import { undoDraft } from '../../src/price-lists/publication.ts'
import { lockListOf } from '../../src/price-lists/queries.ts'
import { runSync } from '../../src/price-lists/sync-job.ts'
import { aBigJob, addAll, anOrigin, someCodes } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, startTestWorkers, stopAfter } from '../helpers/workers.ts'

/** Accepts jobs and runs none: what is under way is under the tests' control. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
/** Where tests start workers: each of them waits until all its jobs have ended. */
const worked = await startTestService(t, { ROLE: 'api' })
type HeldSlot = { id: string; name: string }
const isLost = { message: 'the job has ended or another worker has taken it up' }

t.test('an old attempt that comes back commits nothing', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const old = anAttempt(db, shop, job, 0)
  await startAttempt(old)
  await inAttempt(old, (trx, current) => setFinished(trx, current, 1))
  await startAttempt(anAttempt(db, shop, job, 1))
  await t.rejects(
    inAttempt(old, (trx, current) => setFinished(trx, current, 50)),
    isLost,
  )
  await t.rejects(startAttempt(old), isLost, 'nor does it begin again')
  const { body } = await shop.get(`/api/v1/jobs/${job.id}/`)
  t.equal(body.progress.finished, 1)
})

t.test('progress never falls and is never over its total', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const attempt = anAttempt(db, shop, job, 0)
  await startAttempt(attempt)
  const progress = async () => (await shop.get(`/api/v1/jobs/${job.id}/`)).body.progress
  await inAttempt(attempt, async (trx, current) => {
    await setFinished(trx, current, 50)
    await setFinished(trx, current, 20)
  })
  t.match(await progress(), { finished: 50, total: 101 })
  await inAttempt(attempt, (trx, current) =>
    setRowIds(trx, current, { from: 0, rowIds: '{}', finished: 30 }),
  )
  t.match(await progress(), { finished: 50, total: 101 })
  await inAttempt(attempt, (trx, current) => setFinished(trx, current, 150))
  t.match(await progress(), { finished: 150, total: 150 })
})

t.test('a newer attempt begins after the chunk that is under way', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const old = anAttempt(db, shop, job, 0)
  await startAttempt(old)
  let newer: Promise<unknown> | undefined
  await inAttempt(old, async (trx, current) => {
    newer = startAttempt(anAttempt(db, shop, job, 1))
    await setFinished(trx, current, 7)
  })
  t.match(await newer, { finished: 7 }, 'and finds what it did')
})

t.test(
  'a job is cancelled after the chunk that is under way, and nothing of it stays',
  async (t) => {
    const { shop, list, job } = await aBigJob(t, service)
    const attempt = anAttempt(db, shop, job, 0)
    await startAttempt(attempt)
    let cancelled: Promise<{ status: number }> | undefined
    await inAttempt(attempt, async (trx, current) => {
      cancelled = shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
      const ids = await findProductIds(trx, current, { from: 0, until: 101 })
      await addDraftRows(trx, await lockListOf(trx, current), ids)
    })
    t.equal((await cancelled)?.status, 200)
    t.equal((await shop.get(`/api/v1/price_list/${list.id}/rows?version=draft`)).body.count, 0)
    await t.rejects(
      inAttempt(attempt, async () => t.fail('it went on')),
      isLost,
    )
  },
)

t.test('a job that was not committed leaves no slot', async (t) => {
  const { shop, list } = await aBigJob(t, service)
  const boss = createBoss(service.url, { supervise: false, onError: () => undefined })
  await boss.start()
  t.teardown(() => boss.stop({ graceful: false }))
  const slots = () =>
    select(service.url, `select from pgboss.job where data->>'account' = '${shop.id}'`)
  const before = (await slots()).length
  const failing = inAccount(db, shop.id, async (trx) => {
    const job = {
      account: shop.id,
      priceListId: list.id,
      kind: 'sync-with-catalog',
      total: 1,
      origin: anOrigin,
    } as const
    await enqueueJob(trx, boss, job)
    t.equal((await slots()).length, before, 'nor is it there before the commit')
    throw new Error('failed')
  })
  await t.rejects(failing, { message: 'failed' })
  t.equal((await slots()).length, before)
})

t.test('a job has ended when its last chunk was done, not when that began', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const current = { account_id: shop.id, id: job.id, price_list_id: list.id }
  const ends = [
    (trx: Trx) => endDone(trx, current, {}),
    (trx: Trx) => endUndone(trx, current, 'cancelled', []),
  ]
  for (const end of ends)
    await inAccount(db, shop.id, async (trx) => {
      await end(trx)
      const isAfter = sql<boolean>`finished_at > now()`.as('is_after')
      const ended = trx.selectFrom('jobs').select(isAfter).where('id', '=', job.id)
      t.strictSame(await ended.execute(), [{ is_after: true }])
    })
})

t.test('an attempt that takes over goes on where the last one stopped, once', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const first = anAttempt(db, shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(first, await startAttempt(first), 60), { message: 'stopped' })
  t.match((await shop.get(`/api/v1/jobs/${job.id}/`)).body.progress, { total: 101, finished: 60 })
  const second = anAttempt(db, shop, job, 1)
  await runAddProducts(second, await startAttempt(second))
  const done = (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  t.match(done, { status: 'done', progress: { total: 101, finished: 101 } })
  t.equal((await shop.get(`/api/v1/price_list/${list.id}/rows`)).body.count, 101)
  await t.rejects(startAttempt(anAttempt(db, shop, job, 2)), isLost, 'then it has ended')
})

t.test(
  'a job that cannot be done ends as failed after 10 attempts, its draft undone',
  async (t) => {
    const attempts: number[] = []
    const breakDown: RunJob = async (attempt, job) => {
      attempts.push(attempt.number)
      const partly = { ...attempt, signal: stopAfter(1) }
      await runAddProducts(partly, { ...job, finished: 0 }, 60)
    }
    const { shop, list, job } = await aBigJob(t, worked)
    const next = await addSync(shop)
    await startTestWorkers(t, worked, { 'add-products': breakDown })
    const failed = await shop.finished(job)
    t.equal(failed.status, 'failed')
    t.strictSame(failed.errors, [
      {
        code: 'internal-error',
        message: 'The job could not be done; nothing was published.',
      },
    ])
    t.equal(failed.result, undefined)
    t.ok(failed.finished_at)
    t.strictSame(attempts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const done = await shop.finished(next)
    t.equal(done.status, 'done', 'the queue of the list goes on')
    t.equal(done.result.added.length, 101, 'and finds nothing of the failed job')
    t.equal((await shop.get(`/api/v1/price_list/${list.id}/rows`)).body.count, 101)
  },
)

t.test('a database that is away does not count against a job', async (t) => {
  let attempts = 0
  const away = Object.assign(new Error('the database system is shutting down'), { code: '57P03' })
  const failElevenTimes: RunJob = async (attempt, job) => {
    if (++attempts <= 11) throw away
    await runAddProducts(attempt, job)
  }
  const { shop, job } = await aBigJob(t, worked)
  await startTestWorkers(t, worked, { 'add-products': failElevenTimes })
  t.match(await shop.finished(job), { status: 'done', progress: { total: 101, finished: 101 } })
  t.equal(attempts, 12)
})

t.test('a job that was handed back ten times and then fails once is tried again', async (t) => {
  const { shop, job } = await aBigJob(t, worked)
  await select(worked.url, `update pgboss.job set retry_count = 10 where name = 'price-list'`)
  let attempts = 0
  const failOnce: RunJob = async (attempt, row) => {
    if (++attempts === 1) throw new Error('a fault of its own')
    await runAddProducts(attempt, row)
  }
  await startTestWorkers(t, worked, { 'add-products': failOnce })
  t.match(await shop.finished(job), { status: 'done' })
  t.equal(attempts, 2)
})

t.test('the rows that a killed worker had no time to delete are deleted', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, list, job } = await aBigJob(t, own)
  await startTestWorkers(t, own)
  await shop.finished(job)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
    { code: 'P000', country: 'UK', active: false },
  ])
  const removed = `update price_list_rows set removed_version = 1 where code = 'P000'`
  await select(own.url, removed)
  const counted = `/api/v1/price_list/${list.id}/rows?contains=UK`
  t.equal((await shop.get(counted)).body.count, 100)
  await select(
    own.url,
    `update pgboss.job set state = 'retry', retry_count = 1, start_after = now(), completed_on = null
     where name = 'price-list'`,
  )
  const left = `select count(*)::int from price_list_rows where removed_version is not null`
  while ((await select(own.url, left))[0].count > 0)
    await new Promise((done) => setTimeout(done, 20))
  t.equal((await shop.get(`/api/v1/jobs/${job.id}/`)).body.status, 'done')
})

t.test('a job that fails once is tried again and done', async (t) => {
  let attempts = 0
  const failOnce: RunJob = (attempt, job) => {
    const signal = ++attempts === 1 ? stopAfter(1) : attempt.signal
    return runAddProducts({ ...attempt, signal }, job, 60)
  }
  const { shop, job } = await aBigJob(t, worked)
  await startTestWorkers(t, worked, { 'add-products': failOnce })
  t.match(await shop.finished(job), { status: 'done', progress: { total: 101, finished: 101 } })
  t.equal(attempts, 2)
})

t.test('jobs of one list run one after the other, in the order they were accepted', async (t) => {
  const { shop, job: first } = await aBigJob(t, worked)
  const jobs = [first, await addAll(shop, 'L'), await addSync(shop)]
  const log: string[] = []
  const logging =
    (run: RunJob): RunJob =>
    async (attempt, job) => {
      log.push(`begin ${attempt.job}`)
      await run(attempt, job)
      log.push(`end ${attempt.job}`)
    }
  await startTestWorkers(t, worked, {
    'add-products': logging(runAddProducts),
    'sync-with-catalog': logging(runSync),
  })
  for (const job of jobs) t.equal((await shop.finished(job)).status, 'done')
  const expected = jobs.flatMap(({ id }) => [`begin ${id}`, `end ${id}`])
  t.strictSame(log.slice(0, 5), expected.slice(0, 5))
})

t.test('the order holds when the call that came first began last', async (t) => {
  const { shop, job: first } = await aBigJob(t, worked)
  const later = await addAll(shop, 'L')
  const order: number[] = []
  await select(
    worked.url,
    `update pgboss.job set created_on = created_on - interval '1 minute'
     where created_on = (select max(created_on) from pgboss.job where name = 'price-list')`,
  )
  await startTestWorkers(t, worked, {
    'add-products': async (attempt, job) => {
      order.push(attempt.job)
      await runAddProducts(attempt, job)
    },
  })
  for (const job of [first, later]) await shop.finished(job)
  t.strictSame(order, [first.id, later.id])
})

t.test('jobs of two lists run at the same time', async (t) => {
  const { shop, job } = await aBigJob(t, worked)
  await aList(shop, { name: 'other' })
  const other = await addAll(shop, 'other')
  let begun = 0
  const both = Promise.withResolvers<void>()
  await startTestWorkers(t, worked, {
    'add-products': async (attempt, row) => {
      if (++begun === 2) both.resolve()
      await both.promise
      await runAddProducts(attempt, row)
    },
  })
  t.equal((await shop.finished(job)).status, 'done')
  t.equal((await shop.finished(other)).status, 'done')
})

t.test('undoing a draft leaves the published rows and their prices', async (t) => {
  const own = await startTestService(t)
  const { shop, list, job } = await aBigJob(t, own)
  await shop.finished(job)
  const price = { code: 'P000', country: 'UK', price: 4 }
  await shop.post('/api/v1/prices/bulk_update_prices/', { price_list_name: 'L', payload: [price] })
  await addProducts(shop, 'L', [{ code: someCodes(1)[0], country: 'UK' }])
  const before = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body
  await inAccount(openJobsDatabase(t, own), shop.id, (trx) =>
    undoDraft(trx, { account_id: shop.id, id: job.id, price_list_id: list.id }),
  )
  t.strictSame((await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body, before)
})

async function addSync(shop: Awaited<ReturnType<typeof aBigJob>>['shop']) {
  const { body } = await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  return body as { id: number }
}

t.test('the worker that took a slot last holds its lease until it ends', async (t) => {
  const { shop, list } = await aBigJob(t, service)
  const key = `singleton_key = '${shop.id}:${list.id}'`
  const take = `update pgboss.job set state = 'active', retry_count = 1 where ${key}`
  const [slot] = await select(service.url, `${take} returning id, name`)
  const isHeldBy = (retryCount: number) =>
    inAccount(db, shop.id, (trx) => holdsLease(trx, { ...(slot as HeldSlot), retryCount }))
  t.strictSame([await isHeldBy(0), await isHeldBy(1)], [false, true])
  await select(service.url, `update pgboss.job set state = 'completed' where ${key}`)
  t.notOk(await isHeldBy(1))
})

t.test('a worker that was paused with its slot takes no job of another slot', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, job: first } = await aBigJob(t, own)
  const next = await addAll(shop, 'L')
  await select(
    own.url,
    `update pgboss.job set retry_count = 5, started_on = now(), start_after = now() + interval '1 hour'
     where created_on = (select max(created_on) from pgboss.job where name = 'price-list')`,
  )
  const pause = new pg.Client({ connectionString: own.url })
  await pause.connect()
  t.teardown(() => pause.end())
  await pause.query('begin; lock table jobs in access exclusive mode')
  const begun: [job: number, attempt: number][] = []
  await startTestWorkers(t, own, {
    'add-products': async (attempt, job) => {
      begun.push([attempt.job, attempt.number])
      await runAddProducts(attempt, job)
    },
  })
  const waiting = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell test jobs' and wait_event_type = 'Lock'`
  while ((await select(own.url, waiting)).length === 0);
  await pause.query(`update jobs set status = 'done', finished_at = now() where id = ${first.id}`)
  await select(own.url, `update pgboss.job set state = 'completed' where state = 'active'`)
  await pause.query('commit')
  await select(
    own.url,
    `update pgboss.job set start_after = now() where name = 'price-list' and state = 'created'`,
  )
  t.match(await shop.finished(next), { status: 'done', progress: { finished: 101 } })
  t.strictSame(begun, [[next.id, 6]])
})
