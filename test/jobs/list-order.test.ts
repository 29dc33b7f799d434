import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { enqueueJob } from '../../src/jobs/enqueue.ts'
import { createBoss } from '../../src/jobs/queue.ts'
import { holdableWrites } from '../helpers/held-writes.ts'
import { aBigJob, anOrigin } from '../helpers/jobs.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { select, untilLockAwaited } from '../helpers/sql.ts'
import {
  anAttempt,
  openJobsDatabase,
  startTestWorkers,
  testFileLoader,
} from '../helpers/workers.ts'

/** Accepts jobs and runs none. */
const service = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, service)
const boss = createBoss(service.url, { supervise: false, onError: () => undefined })
await boss.start()
t.teardown(() => boss.stop({ graceful: false }))

const prices = '/api/v1/prices/bulk_update_prices/?price_list_name=L'
const asFile = { 'content-type': 'text/csv', prefer: 'respond-async' }
const sendPrices = (shop: TestAccount) =>
  shop.send('POST', prices, 'code,country,price\nA,UK,2', asFile)

t.test('a file for a list is accepted while another writer has the list', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const writer = new pg.Client({ connectionString: service.url })
  await writer.connect()
  t.teardown(() => writer.end())
  await writer.query(`begin; select from price_lists where id = ${list.id} for no key update`)
  t.equal((await sendPrices(shop)).status, 202)
  await writer.query('commit')
})

/** Begins to send a file of prices, and waits until it is being stored. */
async function beginPrices(shop: TestAccount) {
  if (!service.app.server.listening) await service.app.listen({ port: 0 })
  const { port } = service.app.server.address() as AddressInfo
  const headers = { authorization: `jwt ${shop.token}`, ...asFile }
  const sent = request({ port, path: prices, method: 'POST', headers })
  sent.write('code,country,price\n')
  const arriving = `select from pg_stat_activity where datname = current_database()
    and application_name = 'pricewell streams' and state like 'idle in%'`
  while ((await select(service.url, arriving)).length === 0);
  const answer = async () => {
    sent.end('A,UK,2')
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  return { answer }
}

t.test('a file whose list is deleted while it arrives is not accepted', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const file = await beginPrices(shop)
  await select(service.url, `delete from price_lists where id = ${list.id}`)
  t.equal(await file.answer(), 404)
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 0)
})

t.test('a job is as old as its acceptance, not as the beginning of its file', async (t) => {
  const { shop } = await aFilledList(t, service)
  const file = await beginPrices(shop)
  const [{ now }] = await select(service.url, 'select clock_timestamp() as now')
  t.equal(await file.answer(), 202)
  const [job] = (await shop.get('/api/v1/jobs/')).body.results
  t.ok(Date.parse(job.created_at) >= now.getTime(), job.created_at)
})

t.test('a list that is being deleted takes no more files', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const rows = await holdableWrites(t, service.url, 'price_list_rows')
  const file = await beginPrices(shop)
  await rows.hold()
  const deleted = shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  await rows.untilHeld()
  const answer = file.answer()
  await untilLockAwaited(service.url, 'pricewell streams', answer)
  await rows.release()
  t.strictSame([(await deleted).status, await answer], [204, 404])
})

t.test('a job that was under way 15 days ago, as in an old dump, goes on', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, job } = await aBigJob(t, own)
  const ago = `now() - interval '15 days'`
  await select(
    own.url,
    `update pgboss.job set state = 'active', started_on = ${ago}, heartbeat_on = ${ago}, created_on = ${ago},
      start_after = ${ago}, keep_until = keep_until - interval '15 days' where name = 'price-list'`,
  )
  const looks = 'maintain_on = null, monitor_on = null, monitor_claim_on = null'
  await select(own.url, `update pgboss.queue set ${looks}`)
  await startTestWorkers(t, own)
  t.equal((await shop.finished(job)).status, 'done')
})

t.test('the job of a file whose list is deleted meanwhile fails for that', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const { body: job } = await sendPrices(shop)
  await select(service.url, `delete from price_lists where id = ${list.id}`)
  const attempt = anAttempt(db, shop, job, 0)
  await t.rejects(testFileLoader(boss)(attempt, await startAttempt(attempt)))
  const { status, errors } = (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  t.match({ status, errors }, { status: 'failed', errors: [{ code: 'price-list-not-found' }] })
})

t.test('who has waited for the jobs of a list waits less for a lock', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, list } = await aBigJob(t, own)
  await select(
    own.url,
    `create table waits (lock_timeout text); grant insert on waits to public;
     create function note_wait() returns trigger language plpgsql as $$ begin
       insert into waits values (current_setting('lock_timeout'));
       return old;
     end $$;
     create trigger note_wait before delete on price_lists for each row execute function note_wait()`,
  )
  const deleted = shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  // It has waited for a second by then, all but 250 ms of its time.
  await sleep(1100)
  await select(own.url, 'delete from jobs')
  t.equal((await deleted).status, 204)
  const [wait] = await select(own.url, 'select lock_timeout from waits')
  t.same(wait, { lock_timeout: '250ms' }, 'the least that is left of 1250')
})

t.test('a job is committed before a later job of its list has an id', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  for (const priceListId of [list.id, null]) {
    const begun = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const first = enqueue(shop, priceListId, async () => {
      begun.resolve()
      await mayCommit.promise
    })
    await begun.promise
    let isLaterThere = false
    const second = enqueue(shop, priceListId, async () => {
      isLaterThere = true
    })
    while (!isLaterThere && (await select(service.url, waitingForOrder)).length === 0);
    t.notOk(isLaterThere)
    mayCommit.resolve()
    t.ok((await first) < (await second))
  }
})

const waitingForOrder = `select from pg_locks where locktype = 'advisory' and not granted
  and database = (select oid from pg_database where datname = current_database())`

/** Answers the id of a new job. */
function enqueue(
  { id: account }: TestAccount,
  priceListId: number | null,
  beforeCommit: () => Promise<void>,
): Promise<number> {
  return inAccount(db, account, async (trx) => {
    const { body } = await enqueueJob(trx, boss, {
      account,
      priceListId,
      origin: anOrigin,
      kind: 'load-file',
      total: 1,
    })
    await beforeCommit()
    return body.id
  })
}
