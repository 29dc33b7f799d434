import pg from 'pg'
import t, { type Test } from 'tap'
import { inAttempt, startAttempt } from '../../src/jobs/attempt.ts'
import type { RunJob } from '../../src/jobs/run-job.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { syncInChunks } from '../../src/price-lists/sync-job.ts'
import { runApplyPlan } from '../../src/prices/plans/apply-job.ts'
import { runMakePlan } from '../../src/prices/plans/make-plan-job.ts'
import { aBigJob, addAll, someCodes } from '../helpers/jobs.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { select, untilLockAwaited } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, startTestWorkers, stopAfter } from '../helpers/workers.ts'

/** Accepts jobs and runs none: what is under way is under the tests' control. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const isStopped = { message: 'stopped' }
const isLost = { message: 'the job has ended or another worker has taken it up' }

const cancel = (shop: TestAccount, id: number | string) =>
  shop.post(`/api/v1/jobs/${id}/cancel/`, undefined)
/** A search counts the rows themselves; without one the list says how many are published. */
const countOf = async (shop: TestAccount, list: { id: number }, version: string) =>
  (await shop.get(`/api/v1/price_list/${list.id}/rows?version=${version}&contains=UK`)).body.count

t.test('a job that waits is cancelled and never runs', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const { status, body } = await cancel(shop, job.id)
  t.equal(status, 200)
  t.match(body, { id: job.id, status: 'cancelled', progress: { total: 101, finished: 0 } })
  t.equal(body.result, undefined)
  t.ok(body.finished_at)
  t.strictSame((await shop.get(`/api/v1/jobs/${job.id}/`)).body, body)
  await t.rejects(startAttempt(anAttempt(db, shop, job, 0)), isLost)
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test(
  'what a running job has not published is undone, and its worker commits no more',
  async (t) => {
    const { shop, list, job } = await aBigJob(t, service)
    const attempt = anAttempt(db, shop, job, 0, stopAfter(1))
    await t.rejects(runAddProducts(attempt, await startAttempt(attempt), 100), isStopped)
    t.equal(await countOf(shop, list, 'draft'), 100)
    const { body } = await cancel(shop, job.id)
    t.equal(body.status, 'cancelled')
    t.equal(await countOf(shop, list, 'draft'), 0)
    t.equal(await countOf(shop, list, 'published'), 0)
    await t.rejects(
      inAttempt(anAttempt(db, shop, job, 0), async () => t.fail('it went on')),
      isLost,
    )
  },
)

t.test(
  'a sync is undone: removed rows are back with their prices, added ones are gone',
  async (t) => {
    const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
    const list = await aList(shop, { name: 'L', product_filters: { description: ['in'] } })
    const describe = (from: number, to: number, description: string) =>
      someCodes(101)
        .slice(from, to)
        .map((code) => ({ code, country: 'UK', description }))
    const upsert = '/api/v1/product_catalog/bulk_create_or_update/'
    await shop.post(upsert, describe(0, 60, 'in'))
    await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
    const rows = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body
    await shop.post(upsert, [...describe(0, 30, 'out'), ...describe(60, 101, 'in')])
    const { body } = await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
    const attempt = anAttempt(db, shop, body, 0, stopAfter(1))
    await t.rejects(syncInChunks(attempt, await startAttempt(attempt), 70), isStopped)
    t.equal(await countOf(shop, list, 'draft'), 70)
    t.equal((await cancel(shop, body.id)).body.result, undefined)
    t.equal(await countOf(shop, list, 'draft'), 60)
    t.strictSame((await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body, rows)
  },
)

t.test('a large draft is undone in chunks, each within the time of a statement', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const other = await aList(shop, { name: 'other' })
  const attempt = anAttempt(db, shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(attempt, await startAttempt(attempt), 100), isStopped)
  // Of three in five lines the list's draft: new, removed, as published; of two another list's, which stay.
  await select(
    service.url,
    `insert into price_list_rows
       (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version, removed_version)
     select account_id, case when i % 5 < 3 then price_list_id else ${other.id} end, product_id, 'Q' || i, extensions,
       extension_key, prices, case i % 5 when 0 then 1 when 3 then 1 else 0 end, case i % 5 when 1 then 1 when 4 then 1 end
     from (select * from price_list_rows where price_list_id = ${list.id} limit 1) as one, generate_series(1, 150000) as i`,
  )
  await refuseMany('delete')
  await refuseMany('update')
  t.equal((await cancel(shop, job.id)).body.status, 'cancelled')
  for (const version of ['draft', 'published']) t.equal(await countOf(shop, list, version), 60_000)
  t.equal(await countOf(shop, other, 'draft'), 30_000, 'of the other list: added')
  t.equal(await countOf(shop, other, 'published'), 30_000, 'of the other list: not removed yet')
})

/** Statements that change more rows of lists than a chunk has fail. */
async function refuseMany(change: string): Promise<void> {
  await select(
    service.url,
    `create function refuse_${change}() returns trigger language plpgsql as $$ begin
       if (select count(*) from changed) > 25000 then raise 'too many rows'; end if;
       return null;
     end $$;
     create trigger few_${change} after ${change} on price_list_rows referencing old table as changed
     for each statement execute function refuse_${change}()`,
  )
}

t.test('cancelling a job that waits leaves the draft of the running one alone', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const second = await addAll(shop, 'L')
  const attempt = anAttempt(db, shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(attempt, await startAttempt(attempt), 100), isStopped)
  t.equal((await cancel(shop, second.id)).body.status, 'cancelled')
  t.equal(await countOf(shop, list, 'draft'), 100)
})

const addedPlan = async (shop: TestAccount) => {
  const payload = someCodes(101).map((code) => ({ code, country: 'UK' }))
  const body = { price_list_name: 'L', payload }
  return (await shop.post('/api/v1/prices/bulk_add_products/?plan=true', body)).body
}
const applyPlan = (shop: TestAccount, { id }: { id: number }) =>
  shop.post(`/api/v1/plans/${id}/apply/`, {})
const planNow = async (shop: TestAccount, { id }: { id: number }) =>
  (await shop.get(`/api/v1/plans/${id}/`)).body

/** Runs a job until it waits for a lock, cancels it, and lets it go on. */
async function cancelWaiting(
  t: Test,
  shop: TestAccount,
  { lock, job, run }: { lock: string; job: { id: number }; run: RunJob },
): Promise<void> {
  const holder = new pg.Client({ connectionString: service.url })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`begin; ${lock}`)
  const attempt = anAttempt(db, shop, job, 0)
  const running = t.rejects(run(attempt, await startAttempt(attempt)), isLost)
  await untilLockAwaited(service.url, 'pricewell test jobs', running)
  t.match(await cancel(shop, job.id), { status: 200, body: { status: 'cancelled' } })
  await holder.query('commit')
  await running
}

const lockOf = ({ id }: { id: number }) => `select from price_lists where id = ${id} for update`

t.test('the making of a large plan is cancelled while it runs', async (t) => {
  const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const headers = { prefer: 'respond-async' }
  const path = '/api/v1/prices/sync_with_catalog/?plan=true'
  const { body: job } = await shop.send('POST', path, { price_list_name: 'L' }, headers)
  await cancelWaiting(t, shop, { lock: lockOf(list), job, run: runMakePlan })
  t.equal((await shop.get('/api/v1/plans/')).body.count, 0)
})

for (const at of ['its beginning', 'its end'])
  t.test(`an application is cancelled at ${at}, and its plan is open again`, async (t) => {
    const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const plan = await addedPlan(shop)
    const { body: job } = await applyPlan(shop, plan)
    const lock = at === 'its end' ? 'lock table list_revisions in share mode' : lockOf(list)
    await cancelWaiting(t, shop, { lock, job, run: runApplyPlan })
    t.match(await planNow(shop, plan), { status: 'open', apply_at: undefined })
    t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
  })

t.test('the plan of a cancelled application that waits is open again', async (t) => {
  const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const plan = await addedPlan(shop)
  const { body: job } = await applyPlan(shop, plan)
  t.equal((await planNow(shop, plan)).status, 'scheduled')
  await cancel(shop, job.id)
  t.match(await planNow(shop, plan), { status: 'open', apply_at: undefined })
  const { body: second } = await applyPlan(shop, plan)
  const attempt = anAttempt(db, shop, second, 0)
  await runApplyPlan(attempt, await startAttempt(attempt))
  t.equal((await planNow(shop, plan)).status, 'applied')
  t.equal(await countOf(shop, list, 'published'), 101)
})

t.test('the jobs after a cancelled one go on', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, list, job } = await aBigJob(t, own)
  const second = await addAll(shop, 'L')
  const third = await addAll(shop, 'L')
  await cancel(shop, job.id)
  await startTestWorkers(t, own)
  t.equal((await shop.finished(second)).status, 'done')
  t.equal((await shop.finished(third)).status, 'done')
  t.equal(await countOf(shop, list, 'published'), 101)
  t.equal((await addProducts(shop, 'L', [{ code: 'P000', country: 'UK' }])).length, 1)
})

t.test('a job that has ended is 409 and stays as it is', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const attempt = anAttempt(db, shop, job, 0)
  await runAddProducts(attempt, await startAttempt(attempt))
  const second = await addAll(shop, 'L')
  await cancel(shop, second.id)
  for (const { id } of [job, second]) {
    const before = (await shop.get(`/api/v1/jobs/${id}/`)).body
    const { status, body } = await cancel(shop, id)
    t.equal(status, 409)
    t.equal(body.type, 'job-ended')
    t.strictSame((await shop.get(`/api/v1/jobs/${id}/`)).body, before)
  }
})

t.test('a cancellation is replayed under its Idempotency-Key, though it has no body', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const key = { 'idempotency-key': 'k' }
  const send = () => shop.send('POST', `/api/v1/jobs/${job.id}/cancel/`, undefined, key)
  const first = await send()
  const again = await send()
  t.strictSame([first.status, again.status], [200, 200])
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.strictSame(again.body, first.body)
})

t.test("an unknown job and another account's job are the same 404", async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const stranger = await service.newAccount(t)
  const foreign = await cancel(stranger, job.id)
  const absent = await cancel(stranger, 999_999)
  t.equal(foreign.status, 404)
  t.equal(foreign.body.type, 'not-found')
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
  t.equal((await shop.get(`/api/v1/jobs/${job.id}/`)).body.status, 'progress')
})

t.test('an id that is no id is 400; other methods are 405', async (t) => {
  const shop = await service.newAccount(t)
  for (const id of ['0', '-1', '1.5', 'x', '9007199254740992']) {
    const { status, body } = await cancel(shop, id)
    t.equal(status, 400, id)
    t.equal(body.errors[0].pointer, '/path/id', id)
  }
  const { status, headers } = await shop.get('/api/v1/jobs/1/cancel/')
  t.equal(status, 405)
  t.equal(headers.allow, 'POST')
})
