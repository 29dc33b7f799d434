import t from 'tap'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { removeInChunks } from '../../src/price-lists/remove-job.ts'
import { someCodes } from '../helpers/jobs.ts'
import { uk } from '../helpers/plans.ts'
import { startTestService } from '../helpers/service.ts'
import { aList, aShop, rowsOf } from '../helpers/shop.ts'
import { anAttempt, openJobsDatabase, stopAfter } from '../helpers/workers.ts'

/** Accepts jobs and runs none. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const codes = someCodes(130)

/** A list of 130 rows, and a job that removes all but the first ten in chunks of 25. */
async function aRemoval(t: Parameters<typeof aShop>[0]) {
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const body = (some: string[]) => ({ price_list_name: 'L', payload: some.map(uk) })
  const added = await shop.post('/api/v1/prices/bulk_add_products/', body(codes))
  const first = anAttempt(db, shop, added.body, 0)
  await runAddProducts(first, await startAttempt(first))
  const { result: pks } = (await shop.get(`/api/v1/jobs/${added.body.id}/`)).body
  const removed = body(['nowhere', ...codes.slice(10)])
  const { body: job } = await shop.post('/api/v1/prices/bulk_remove_products/', removed)
  const run = async (number: number, chunks = 1000) => {
    const attempt = anAttempt(db, shop, job, number, stopAfter(chunks))
    await removeInChunks(attempt, await startAttempt(attempt), 25)
  }
  const jobNow = async () => (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  return { shop, list, pks, job, run, jobNow }
}

t.test('a job that is taken up again goes on, and tells what it did in all', async (t) => {
  const { shop, list, pks, run, jobNow } = await aRemoval(t)
  await t.rejects(run(0, 2), { message: 'stopped' })
  t.strictSame((await jobNow()).progress, { total: 121, finished: 50, error: 0 })
  t.equal((await rowsOf(shop, list)).length, 130, 'readers see nothing of it')
  await run(1)
  t.match(await jobNow(), { status: 'done', revision: 2, result: pks.slice(10) })
  t.equal((await rowsOf(shop, list)).length, 10)
})

t.test('a job that is cancelled on its way leaves the draft as it was', async (t) => {
  const { shop, list, job, run } = await aRemoval(t)
  await t.rejects(run(0, 2), { message: 'stopped' })
  t.equal((await rowsOf(shop, list, 'version=draft')).length, 81)
  const { body } = await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.equal(body.status, 'cancelled')
  t.equal((await rowsOf(shop, list, 'version=draft')).length, 130)
  t.equal((await rowsOf(shop, list)).length, 130)
})
