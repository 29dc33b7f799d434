import t from 'tap'
import { createBoss, listQueue } from '../../src/jobs/queue.ts'
import { startWorkers, stopWorkers } from '../../src/jobs/work.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { tidyList, undoDraft } from '../../src/price-lists/publication.ts'
import { runRemoveProducts } from '../../src/price-lists/remove-job.ts'
import { runSync } from '../../src/price-lists/sync-job.ts'
import { runApplyPlan } from '../../src/prices/plans/apply-job.ts'
import { runMakePlan } from '../../src/prices/plans/make-plan-job.ts'
import { runRevert } from '../../src/prices/revert/revert-price-list.ts'
import { startTestService } from '../helpers/service.ts'
import { aFilledList, aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { openJobsDatabase, testFileLoader } from '../helpers/workers.ts'

const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)

t.test('all rows go that no reader sees any more, however many, and no others', async (t) => {
  const { shop, id: priceListId } = await aFilledList(t, service)
  const [{ version }] = await select(service.url, 'select version from price_lists')
  const addRemoved = (name: string, count: number, removedVersion: number) =>
    select(
      service.url,
      `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices,
         added_version, removed_version)
       select account_id, price_list_id, product_id, $1 || i, extensions, extension_key, prices, 1, $2
       from price_list_rows, generate_series(1, $3) i where code = 'A'`,
      [name, removedVersion, count],
    )
  await addRemoved('removed ', 50_001, version)
  await addRemoved('removed in the draft ', 2, version + 1)
  const signal = new AbortController().signal
  await tidyList({ db, account: shop.id, priceListId, signal })
  const left = await select(service.url, 'select code from price_list_rows order by code')
  t.strictSame(
    left.map(({ code }) => code),
    ['A', 'removed in the draft 1', 'removed in the draft 2'],
  )
})

t.test('a process that stops meanwhile leaves it to another', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const products = Array.from({ length: 101 }, (_, index) => ({ code: `P${index}`, country: 'UK' }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', products)
  const sync = { price_list_name: 'L' }
  const { body: job } = await shop.post('/api/v1/prices/sync_with_catalog/', sync)
  const boss = createBoss(service.url, { supervise: true, onError: () => undefined })
  await boss.start()
  const stopping = new AbortController()
  await startWorkers({
    db,
    boss,
    undo: undoDraft,
    backoffMaxSeconds: 0,
    log: () => undefined,
    signal: stopping.signal,
    tidy: async () => stopping.abort(),
    runners: {
      'add-products': runAddProducts,
      'remove-products': runRemoveProducts,
      'sync-with-catalog': runSync,
      revert: runRevert,
      'make-plan': runMakePlan,
      'apply-plan': runApplyPlan,
      'load-file': testFileLoader(boss),
    },
  })
  await shop.finished(job)
  await stopWorkers(boss)
  await boss.stop({ graceful: true, timeout: 5000 })
  const turns = `select state::text from pgboss.job where name = '${listQueue}'`
  t.strictSame(await select(service.url, turns), [{ state: 'retry' }])
})

t.test('a list is tidied no more once the process is to stop', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  const ofList = `where price_list_id = ${id}`
  await select(service.url, `update price_list_rows set removed_version = 1 ${ofList}`)
  const turn = { db, account: shop.id, priceListId: id }
  const left = async () =>
    (await select(service.url, `select from price_list_rows ${ofList}`)).length
  await tidyList({ ...turn, signal: AbortSignal.abort() })
  t.equal(await left(), 1)
  await tidyList({ ...turn, signal: new AbortController().signal })
  t.equal(await left(), 0)
})
