import t from 'tap'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { enqueueJob } from '../../src/jobs/enqueue.ts'
import { endDone } from '../../src/jobs/job-row.ts'
import { findOldestJob } from '../../src/jobs/list-order.ts'
import { createBoss, fileQueue, listQueue, type Slot } from '../../src/jobs/queue.ts'
import { anOrigin } from '../helpers/jobs.ts'
import { expectProblem } from '../helpers/operations.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { openJobsDatabase } from '../helpers/workers.ts'

/** Accepts jobs and runs none: the tests take the slots as workers do. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const boss = createBoss(service.url, { supervise: false, onError: () => undefined })
await boss.start()
t.teardown(() => boss.stop({ graceful: false }))

/** Accepts a job; answers its id. */
function accept({ id: account }: TestAccount, priceListId: number | null): Promise<number> {
  return inAccount(db, account, async (trx) => {
    const job = { account, priceListId, kind: 'load-file', total: 1, origin: anOrigin } as const
    return (await enqueueJob(trx, boss, job)).body.id
  })
}

/** What has the next slot, if anything may begin now. */
async function begin(queue: string) {
  const [slot] = await boss.fetch<Slot>(queue)
  if (!slot) return undefined
  const { account, priceListId } = slot.data
  const job = (await inAccount(db, account, (trx) =>
    findOldestJob(trx, account, priceListId),
  )) as number
  const end = async () => {
    await inAccount(db, account, (trx) =>
      endDone(trx, { account_id: account, id: job, price_list_id: priceListId }, {}),
    )
    await boss.complete(queue, slot.id)
  }
  return { account, job, end, fail: () => boss.fail(queue, slot.id) }
}

/** Runs one job after the other while there are any; answers whose they were. */
async function runAll(queue: string, ended: (account: number) => Promise<unknown>) {
  const accounts: number[] = []
  for (let run = await begin(queue); run; run = await begin(queue)) {
    accounts.push(run.account)
    await run.end()
    await ended(run.account)
  }
  return accounts
}

t.test('the jobs of an account wait for one of another, not for all of them', async (t) => {
  const [bulk, one] = [await service.newAccount(t), await service.newAccount(t)]
  for (const [queue, lists] of [
    [listQueue, [1, 2]],
    [fileQueue, [null, null]],
  ] as const) {
    const bulkJobs: number[] = []
    for (let each = 0; each < 4; each++)
      for (const list of lists) bulkJobs.push(await accept(bulk, list))
    const running = await begin(queue)
    t.equal(running?.job, bulkJobs[0])
    const job = await accept(one, lists[0])
    await running?.end()
    const next = [await begin(queue), await begin(queue)]
    t.ok(
      next.some((run) => run?.job === job),
      `${queue}: is one of the next two`,
    )
    for (const run of next) await run?.end()
    const rest = await runAll(queue, async () => undefined)
    t.ok(rest.every((account) => account === bulk.id))
  }
})

t.test(
  'an account that sends one job after the other keeps no other account waiting',
  async (t) => {
    const [bulk, steady] = [await service.newAccount(t), await service.newAccount(t)]
    for (let each = 0; each < 4; each++) await accept(bulk, 1)
    await accept(steady, 1)
    let more = 3
    const accounts = await runAll(listQueue, async (account) => {
      if (account === steady.id && more-- > 0) await accept(steady, 1)
    })
    const [b, s] = [bulk.id, steady.id]
    t.strictSame(accounts, [b, s, b, s, b, s, b, s])
  },
)

t.test('accounts that send one job after the other keep no other account waiting', async (t) => {
  const bulk = await service.newAccount(t)
  const steady = [await service.newAccount(t), await service.newAccount(t)]
  for (let each = 0; each < 3; each++) await accept(bulk, 1)
  for (const one of steady) await accept(one, 1)
  let more = 6
  const accounts = await runAll(listQueue, async (account) => {
    const one = steady.find(({ id }) => id === account)
    if (one && more-- > 0) await accept(one, 1)
  })
  const [b, u, s] = [bulk.id, ...steady.map(({ id }) => id)]
  t.strictSame(accounts, [b, u, s, b, u, s, b, u, s, u, s])
})

t.test('a long job of another list keeps nobody behind all jobs of its account', async (t) => {
  const [bulk, one] = [await service.newAccount(t), await service.newAccount(t)]
  for (let each = 0; each < 5; each++) await accept(bulk, 1)
  await accept(bulk, 2)
  const [short, long] = [await begin(listQueue), await begin(listQueue)]
  const job = await accept(one, 1)
  await short?.end()
  const next = [await begin(listQueue), await begin(listQueue)]
  t.ok(next.some((run) => run?.job === job))
  for (const run of next) await run?.end()
  await long?.end()
  await runAll(listQueue, async () => undefined)
})

t.test('what an account sent while nobody waited puts its next job behind nobody', async (t) => {
  const [busy, one] = [await service.newAccount(t), await service.newAccount(t)]
  for (let each = 0; each < 5; each++) await accept(busy, 1)
  await runAll(listQueue, async () => undefined)
  for (let each = 0; each < 3; each++) await accept(one, 1)
  await accept(busy, 1)
  const [b, o] = [busy.id, one.id]
  t.strictSame(await runAll(listQueue, async () => undefined), [o, b, o, o])
})

t.test('an account may have all workers while nobody else waits', async (t) => {
  const bulk = await service.newAccount(t)
  for (const list of [1, 2]) await accept(bulk, list)
  const running = [await begin(listQueue), await begin(listQueue)]
  t.ok(running.every((run) => run?.account === bulk.id))
  for (const run of running) await run?.end()
})

t.test('jobs of one list run in the order they were accepted, whatever their places', async (t) => {
  const own = await service.newAccount(t)
  const jobs = [await accept(own, 1), await accept(own, 1), await accept(own, 1)]
  await select(
    service.url,
    `update pgboss.job set priority = -1 - priority where data->>'account' = '${own.id}'`,
  )
  const begun: number[] = []
  for (let run = await begin(listQueue); run; run = await begin(listQueue)) {
    begun.push(run.job)
    t.equal(await begin(listQueue), undefined, 'one at a time')
    await run.end()
  }
  t.strictSame(begun, jobs)
})

t.test('a job that is taken up again goes before those that came while it ran', async (t) => {
  const [own, other] = [await service.newAccount(t), await service.newAccount(t)]
  for (const list of [1, 2, 3]) await accept(own, list)
  const [first, second] = [await begin(listQueue), await begin(listQueue)]
  await first?.end()
  await second?.end()
  const third = await begin(listQueue)
  for (const list of [1, 2]) await accept(other, list)
  await select(service.url, 'update pgboss.job set retry_delay = 0')
  await third?.fail()
  const again = await begin(listQueue)
  t.equal(again?.job, third?.job)
  await again?.end()
  t.strictSame(await runAll(listQueue, async () => undefined), [other.id, other.id])
})

t.test('an account has 1,000 jobs that have not ended, and no more', async (t) => {
  const shop = await aShop(t, service, {
    codes: Array.from({ length: 101 }, (_, index) => `P${index}`),
    countries: ['UK'],
  })
  const list = await aList(shop, { name: 'L' })
  const sync = () => shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  const { body: job } = await sync()
  await select(
    service.url,
    `insert into jobs (account_id, price_list_id, kind, total)
     select ${shop.id}, ${list.id}, 'add-products', 1 from generate_series(1, 999)`,
  )
  const refused = await sync()
  expectProblem(t, refused, 429, 'too-many-requests', 'the next')
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 1000, 'and nothing is written')
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.equal((await sync()).status, 201, 'when one has ended')
})
