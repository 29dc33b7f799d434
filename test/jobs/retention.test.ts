import { setTimeout as sleep } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import t from 'tap'
import { retentionQueue } from '../../src/jobs/queue.ts'
import { setClock } from '../helpers/clocks.ts'
import { aBigJob, addAll } from '../helpers/jobs.ts'
import { captureLog } from '../helpers/log.ts'
import { aPricedList } from '../helpers/plans.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { select } from '../helpers/sql.ts'
import { openJobsDatabase } from '../helpers/workers.ts'

const service = await sharedService()

const endedDaysAgo = (job: { id: number }, days: number) =>
  select(
    service.url,
    `update jobs set finished_at = now() - make_interval(secs => $2::float * 86400) where id = $1`,
    [job.id, days],
  )

/** Has a worker remove what has expired now. */
async function removeExpired(connectionString: string): Promise<void> {
  const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
  await boss.start()
  await boss.send(retentionQueue, {})
  await boss.stop({ graceful: false })
}

/** Waits until a worker has removed what has expired now. */
async function expiredRemoved(url: string): Promise<void> {
  await removeExpired(url)
  const unfinished = `select from pgboss.job where name = $1 and state <> 'completed'`
  while ((await select(url, unfinished, [retentionQueue])).length > 0) await sleep(50)
}

t.test('jobs are removed 7 days after they ended, in all accounts', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const { shop: neighbour, job: neighbours } = await aBigJob(t, service)
  const recent = await addAll(shop, 'L')
  for (const each of [job, recent]) await shop.finished(each)
  await neighbour.finished(neighbours)
  await endedDaysAgo(job, 7.01)
  await endedDaysAgo(neighbours, 30)
  await endedDaysAgo(recent, 6.99)
  await removeExpired(service.url)
  while ((await shop.get(`/api/v1/jobs/${job.id}/`)).status === 200) await sleep(50)
  t.equal((await neighbour.get(`/api/v1/jobs/${neighbours.id}/`)).status, 404)
  const { body } = await shop.get('/api/v1/jobs/')
  t.strictSame(
    body.results.map(({ id }: { id: number }) => id),
    [recent.id],
  )
})

t.test(
  'a job is kept for 7 days by the clock of the database, whatever that of its worker says',
  async (t) => {
    const { shop, job } = await aBigJob(t, service)
    setClock(t, -8 * 24 * 3_600_000)
    await shop.finished(job)
    await select(service.url, 'select delete_expired_jobs()')
    const { status, body } = await shop.get(`/api/v1/jobs/${job.id}/`)
    t.equal(status, 200)
    t.ok(body.finished_at > body.created_at, 'it ended after it was accepted')
  },
)

t.test('a job that has not ended stays, however old it is', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  const { shop, job } = await aBigJob(t, idle)
  await select(idle.url, `update jobs set created_at = now() - interval '1 year'`)
  t.strictSame(await select(idle.url, 'select delete_expired_jobs()::int as removed'), [
    { removed: 0 },
  ])
  t.equal((await shop.get(`/api/v1/jobs/${job.id}/`)).status, 200)
})

t.test('idempotency keys are removed after 24 hours, in all accounts', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  for (const key of ['old', 'recent']) {
    const account = await idle.newAccount(t)
    await account.send('POST', '/api/v1/sales_history/bulk_create_or_update', [], {
      'idempotency-key': key,
    })
  }
  await select(
    idle.url,
    `update idempotency_keys
     set created_at = now() - case when key = 'old' then interval '1441 minutes' else interval '1439 minutes' end`,
  )
  const removed = await select(idle.url, 'select delete_expired_keys()::int as removed')
  t.strictSame(removed, [{ removed: 1 }])
  t.strictSame(await select(idle.url, 'select key from idempotency_keys'), [{ key: 'recent' }])
})

t.test('plans are removed 30 days after they ended', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const paths = []
  for (const days of [31, 29]) {
    const { body } = await plan({ A: 12 })
    paths.push(`/api/v1/plans/${body.id}/`)
    await shop.send('DELETE', `/api/v1/plans/${body.id}/`)
    const ended = 'update plans set ended_at = now() - make_interval(days => $2) where id = $1'
    await select(service.url, ended, [body.id, days])
  }
  await expiredRemoved(service.url)
  const statuses = paths.map(async (path) => (await shop.get(path)).status)
  t.strictSame(await Promise.all(statuses), [404, 200])
})

for (const [days, age, verb, kept] of [
  ['60', 70, 'removes', 1],
  ['36500', 500, 'keeps', 2],
] as const)
  t.test(`HISTORY_DAYS ${days} ${verb} history of ${age} days ago`, async (t) => {
    const worker = await startTestService(t, { HISTORY_DAYS: days })
    await aPricedList(t, worker)
    const old = 'update list_revisions set at = now() - make_interval(days => $1)'
    await select(worker.url, old, [age])
    await expiredRemoved(worker.url)
    t.equal((await select(worker.url, 'select from list_revisions')).length, kept)
  })

t.test('what fails is logged, and keeps nothing else', async (t) => {
  const log = captureLog(t)
  const worker = await startTestService(t, { LOG_LEVEL: 'error' })
  const account = await worker.newAccount(t)
  const path = '/api/v1/sales_history/bulk_create_or_update'
  await account.send('POST', path, [], { 'idempotency-key': 'old' })
  await select(worker.url, `update idempotency_keys set created_at = now() - interval '2 days'`)
  await select(worker.url, 'revoke execute on function delete_expired_jobs() from pricewell_app')
  await removeExpired(worker.url)
  while ((await select(worker.url, 'select key from idempotency_keys')).length > 0) await sleep(20)
  const isLogged = ({ msg }: { msg?: string }) => msg === 'what has expired was not removed'
  while (!log.lines().some(isLogged)) await sleep(20)
  t.match(log.lines().find(isLogged), { level: 50, err: { code: '42501' } })
})

t.test('it is scheduled every hour', async (t) => {
  const schedules = await select(service.url, 'select name, cron from pgboss.schedule')
  t.strictSame(schedules, [{ name: retentionQueue, cron: '17 * * * *' }])
})

t.test('beyond that the application sees and removes jobs of one account only', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.finished(job)
  const db = openJobsDatabase(t, service)
  t.strictSame(await db.selectFrom('jobs').select('id').execute(), [])
  await db.deleteFrom('jobs').execute()
  t.equal((await shop.get(`/api/v1/jobs/${job.id}/`)).status, 200)
})
