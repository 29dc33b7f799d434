import t from 'tap'
import { inPartOfAttempt, startAttempt } from '../../src/jobs/attempt.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { addDraftRows } from '../../src/price-lists/draft-rows.ts'
import { lockListOf, shareListOf } from '../../src/price-lists/queries.ts'
import { aBigJob, addAll, someCodes } from '../helpers/jobs.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, stopAfter } from '../helpers/workers.ts'

/** Accepts jobs and runs none: what is under way is under the tests' control. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const isLost = { message: 'the job has ended or another worker has taken it up' }

const draftOf = async (shop: TestAccount, list: { id: number }) =>
  (await shop.get(`/api/v1/price_list/${list.id}/rows?version=draft&limit=1000`)).body

async function productIds(shop: TestAccount): Promise<string> {
  const text = `select array_agg(id)::text as ids from products where account_id = ${shop.id}`
  return (await select(service.url, text))[0].ids
}

t.test('rows that were added and not noted are found by the attempt that takes over', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const first = anAttempt(db, shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(first, await startAttempt(first)), { message: 'stopped' })
  const drafted = await draftOf(shop, list)
  t.equal(drafted.count, 101)
  t.equal((await shop.get(`/api/v1/jobs/${job.id}/`)).body.progress.finished, 0)
  const second = anAttempt(db, shop, job, 1)
  await runAddProducts(second, await startAttempt(second))
  const { status, progress, result } = (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  t.match({ status, progress }, { status: 'done', progress: { total: 101, finished: 101 } })
  t.strictSame(
    result,
    drafted.results.map(({ pk }: { pk: number }) => pk),
  )
  t.equal((await shop.get(`/api/v1/price_list/${list.id}/rows`)).body.count, 101)
})

t.test('two parts go on at once; a newer attempt begins after both', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const old = anAttempt(db, shop, job, 0)
  await startAttempt(old)
  const order: string[] = []
  const both = Promise.withResolvers<void>()
  let begun = 0
  const part = () =>
    inPartOfAttempt(old, async (trx, current) => {
      await shareListOf(trx, current)
      if (++begun === 2) both.resolve()
      await both.promise
      await select(service.url, 'select pg_sleep(0.1)')
      order.push('part')
    })
  const parts = Promise.all([part(), part()])
  await both.promise
  await startAttempt(anAttempt(db, shop, job, 1)).then(() => order.push('newer'))
  await parts
  t.strictSame(order, ['part', 'part', 'newer'])
  await t.rejects(part(), isLost, 'and the old one adds nothing more')
})

t.test(
  'a job is cancelled after the part that is under way, and nothing of it stays',
  async (t) => {
    const { shop, list, job } = await aBigJob(t, service)
    const attempt = anAttempt(db, shop, job, 0)
    await startAttempt(attempt)
    const ids = await productIds(shop)
    let cancelled: Promise<{ status: number }> | undefined
    await inPartOfAttempt(attempt, async (trx, current) => {
      cancelled = shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
      await addDraftRows(trx, await shareListOf(trx, current), ids)
    })
    t.equal((await cancelled)?.status, 200)
    t.equal((await draftOf(shop, list)).count, 0)
    const late = inPartOfAttempt(attempt, async () => t.fail('it went on'))
    await t.rejects(late, isLost)
  },
)

t.test('no other writer has the list while a part is under way', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const next = await addAll(shop, 'L')
  const [attempt, other] = [anAttempt(db, shop, job, 0), anAttempt(db, shop, next, 0)]
  await startAttempt(attempt)
  await startAttempt(other)
  const order: string[] = []
  let waiting: Promise<void> | undefined
  await inPartOfAttempt(attempt, async (trx, current) => {
    await shareListOf(trx, current)
    waiting = inPartOfAttempt(other, async (otherTrx, otherJob) => {
      await lockListOf(otherTrx, otherJob)
      order.push('other')
    })
    await select(service.url, 'select pg_sleep(0.1)')
    order.push('part')
  })
  await waiting
  t.strictSame(order, ['part', 'other'])
})

t.test('where few connections are free, the parts go one after the other', async (t) => {
  const codes = someCodes(12_501)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const payload = codes.map((code) => ({ code, country: 'UK' }))
  const job = (await shop.post('/api/v1/prices/bulk_add_products/', { name: 'L', payload })).body
  const attempt = anAttempt(db, shop, job, 0)
  const row = await startAttempt(attempt)
  const held = await Promise.all([db.startTransaction().execute(), db.startTransaction().execute()])
  await runAddProducts(attempt, row)
  await Promise.all(held.map((trx) => trx.rollback().execute()))
  const { result } = (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  const read = { price_list_name: 'L', payload }
  const prices = (await shop.post('/api/v1/prices/get_prices/', read)).body
  t.strictSame(
    result,
    prices.map(({ pk }: { pk: number }) => pk),
    'the rows of both, in payload order',
  )
})
