import t from 'tap'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { syncInChunks } from '../../src/price-lists/sync-job.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, aList, aShop } from '../helpers/shop.ts'
import { codes, inUk, names, pks, pricesPath, rowsOf, sync, upsertPath } from '../helpers/sync.ts'
import { anAttempt, openJobsDatabase, startTestWorkers, stopAfter } from '../helpers/workers.ts'

const service = await sharedService()
/** Accepts jobs and runs none. */
const idle = await startTestService(t, { ROLE: 'api' })

t.test('above 100 products answers a job, whose result is the same object', async (t) => {
  const some = { codes: codes(0, 101), rows: inUk(codes(0, 70)) }
  const { shop, list, pks: before } = await aFilledList(t, service, some)
  const price = { code: 'P0000', country: 'UK', price: 3 }
  await shop.post(pricesPath, { price_list_name: 'L', payload: [price] })
  const off = inUk(codes(40, 70)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const { status, headers, body } = await sync(shop)
  t.equal(status, 201)
  t.equal(headers.location, `/api/v1/jobs/${body.id}/`)
  t.strictSame(body, {
    id: body.id,
    status: 'progress',
    resource_type: 'published-price-list',
    progress: { total: 101, finished: 0, error: 0 },
  })
  const job = await shop.finished(body)
  t.match(job, {
    status: 'done',
    progress: { total: 101, finished: 101, error: 0 },
    errors: { length: 0 },
  })
  const rows = await rowsOf(shop, list)
  t.strictSame(job.result, {
    added: pks(rows).slice(40),
    removed: before.slice(40),
    untouched: before.slice(0, 40),
  })
  t.strictSame(names(rows), [...codes(0, 40), ...codes(70, 101)])
  t.strictSame(rows[0]?.prices, { price: 3 }, 'a row that stays keeps its price')
})

t.test('a job of which nothing matches any more empties the list', async (t) => {
  const { shop, list } = await aFilledList(t, service, { codes: codes(0, 120) })
  const off = inUk(codes(0, 120)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const job = await shop.finished((await sync(shop)).body)
  t.equal(job.result.removed.length, 120)
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a job works on the catalog as it is when it runs', async (t) => {
  const late = await startTestService(t, { ROLE: 'api' })
  const shop = await aShop(t, late, { codes: codes(0, 150), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const { body } = await sync(shop)
  t.equal(body.progress.total, 150)
  const off = inUk(codes(0, 10)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, [...off, ...inUk(codes(150, 155))])
  await startTestWorkers(t, late)
  const job = await shop.finished(body)
  t.match(job, { status: 'done', progress: { total: 145, finished: 145, error: 0 } })
  t.strictSame(names(await rowsOf(shop, list)), codes(10, 155))
})

t.test(
  'a job that is taken up again takes effect once, and tells what it did in all',
  async (t) => {
    const db = openJobsDatabase(t, idle)
    for (const chunks of [0, 1, 2]) {
      const shop = await aShop(t, idle, { codes: codes(0, 110), countries: ['UK'] })
      const list = await aList(shop, { name: 'L', product_filters: { country: ['UK'] } })
      const before = (await sync(shop)).body
      await run(shop, before, 0)
      const [first] = pks(await rowsOf(shop, list))
      const price = { code: 'P0000', country: 'UK', price: 5 }
      await shop.post(pricesPath, { price_list_name: 'L', payload: [price] })
      const off = inUk(codes(0, 30)).map((row) => ({ ...row, active: false }))
      await shop.post(upsertPath, [...off, ...inUk(codes(110, 130))])
      const { body } = await sync(shop)
      await t.rejects(run(shop, body, 0, chunks), { message: 'stopped' })
      t.strictSame(names(await rowsOf(shop, list)), codes(0, 110), 'readers see nothing of it')
      const { finished } = (await shop.get(`/api/v1/jobs/${body.id}/`)).body.progress
      const back = { code: 'P0000', country: 'UK', active: true }
      const gone = { code: 'P0129', country: 'UK', active: false }
      await shop.post(upsertPath, [back, gone])
      await run(shop, body, 1)
      const job = (await shop.get(`/api/v1/jobs/${body.id}/`)).body
      t.equal(job.status, 'done')
      t.ok(job.progress.finished >= finished, 'progress never falls')
      t.equal(job.progress.finished, job.progress.total)
      const rows = await rowsOf(shop, list)
      t.strictSame(names(rows), ['P0000', ...codes(30, 129)])
      t.match(
        rows[0],
        { pk: first, prices: { price: 5 } },
        'a row that stays after all is as it was',
      )
      t.strictSame(job.result.added, pks(rows.slice(-19)))
      t.equal(job.result.removed.length, 29)
      t.strictSame(job.result.untouched, pks(rows.slice(0, -19)))
    }
    async function run(shop: TestAccount, job: { id: number }, number: number, chunks = 1000) {
      const attempt = anAttempt(db, shop, job, number, stopAfter(chunks))
      await syncInChunks(attempt, await startAttempt(attempt), 20)
    }
  },
)

t.test(
  'a row that one attempt removed and the next keeps has its days and attributes',
  async (t) => {
    const db = openJobsDatabase(t, idle)
    const shop = await aShop(t, idle, { codes: codes(0, 110), countries: ['UK'] })
    const list = await aList(shop, { name: 'L', is_calendar: true })
    const go = async (job: { id: number }, number: number, chunks = 1000) => {
      const attempt = anAttempt(db, shop, job, number, stopAfter(chunks))
      await syncInChunks(attempt, await startAttempt(attempt), 10)
    }
    await go((await sync(shop)).body, 0)
    const key = { code: 'P0000', country: 'UK' }
    const day = { ...key, date: '2026-03-01', price: 5 }
    await shop.post(pricesPath, { price_list_name: 'L', payload: [day] })
    const attribute = { ...key, dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
    await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
      price_list_name: 'L',
      payload: [attribute],
    })
    await shop.post(
      upsertPath,
      inUk(codes(0, 11)).map((row) => ({ ...row, active: false })),
    )
    const { body } = await sync(shop)
    await t.rejects(go(body, 0, 1), { message: 'stopped' })
    t.strictSame(names(await rowsOf(shop, list, 'draft')), codes(10, 110))
    await shop.post(upsertPath, [{ ...key, active: true }])
    await go(body, 1)
    const page = await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000&date=2026-03-01`)
    const row = page.body.results.find(({ code }: { code: string }) => code === 'P0000')
    t.match(row, { prices: { price: 5 }, dynamic_attributes: { a: 1 } })
  },
)
