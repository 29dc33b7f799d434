import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/database/pool.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { setClock } from '../helpers/clocks.ts'
import { cloneDatabase, query } from '../helpers/database.ts'
import { salesOf } from '../helpers/sales.ts'
import { startTestService } from '../helpers/service.ts'

/** A database of its own with one connection. */
async function aDatabase(
  t: Test,
  timeouts: { acquireTimeoutMs?: number; statementTimeoutMs?: number; lockTimeoutMs: number },
) {
  const database = await cloneDatabase()
  const db = openDatabase(database.url, {
    name: 'locks',
    connectionsMax: 1,
    client: pg.Client,
    onError: () => undefined,
    acquireTimeoutMs: 30_000,
    statementTimeoutMs: 30_000,
    ...timeouts,
  })
  t.teardown(async () => {
    await db.destroy()
    await database.drop()
  })
  return db
}

t.test('work that waits for a connection while the clock is set is done', async (t) => {
  const db = await aDatabase(t, {
    acquireTimeoutMs: 5000,
    lockTimeoutMs: 1000,
    statementTimeoutMs: 5000,
  })
  const first = inAccount(db, 1, (trx) => sql`select pg_sleep(0.3)`.execute(trx))
  await sleep(100)
  const second = inAccount(db, 1, (trx) => sql<{ one: number }>`select 1 as one`.execute(trx))
  // A machine whose clock had stopped: these are more milliseconds than an integer of PostgreSQL holds.
  setClock(t, 30 * 24 * 3_600_000)
  await first
  t.strictSame((await second).rows, [{ one: 1 }])
})

t.test('who has waited for a connection waits less for a lock, but some time', async (t) => {
  for (const [lockTimeoutMs, expected] of [
    [60_000, /^5\d{4}ms$/],
    [300, /^250ms$/],
  ] as const) {
    const db = await aDatabase(t, { lockTimeoutMs })
    const find = sql<{ wait: string }>`select current_setting('lock_timeout') as wait`
    const first = inAccount(db, 1, (trx) => sql`select pg_sleep(0.3)`.execute(trx))
    const second = inAccount(db, 1, (trx) => find.execute(trx))
    await first
    t.match((await second).rows[0]?.wait, expected)
  }
})

t.test('who has lost a deadlock waits for locks as long as at first', async (t) => {
  const db = await aDatabase(t, { lockTimeoutMs: 60_000 })
  const deadlock = sql`do $$ begin perform pg_sleep(0.3); raise exception using errcode = '40P01'; end $$`
  let attempts = 0
  const { rows } = await inAccount(db, 1, async (trx) => {
    if (attempts++ === 0) await deadlock.execute(trx)
    return sql<{ wait: string }>`select current_setting('lock_timeout') as wait`.execute(trx)
  })
  t.strictSame({ attempts, rows }, { attempts: 2, rows: [{ wait: '1min' }] })
})

t.test(
  'a deadlock or a conflict is met by doing the work again, at most three times',
  async (t) => {
    const service = await startTestService(t)
    const failTimes = (times: number, state: string) =>
      query(
        service.url,
        `create sequence if not exists tries; alter sequence tries restart; grant usage on sequence tries to public;
       create or replace function fail() returns trigger language plpgsql as $$ begin
         if nextval('tries') <= ${times} then raise exception using errcode = '${state}'; end if;
         return null;
       end $$;
       create or replace trigger fail after insert on sales for each statement execute function fail()`,
      )
    const sale = { transaction_id: 'T', code: 'A', extension: '', quantity: '1', revenue: '2' }
    const path = '/api/v1/sales_history/bulk_create_or_update'
    const bodies: [type: string, body: string][] = [
      ['application/json', JSON.stringify([sale])],
      ['application/x-ndjson', JSON.stringify(sale)],
    ]
    for (const [type, body] of bodies)
      for (const state of ['40P01', '40001']) {
        const account = await service.newAccount(t)
        const send = () => account.send('POST', path, body, { 'content-type': type })
        await failTimes(4, state)
        const refused = await send()
        t.equal(refused.status, 503, `${type}: ${state} four times`)
        t.strictSame(await salesOf(account), [])
        await failTimes(3, state)
        t.equal((await send()).status, 201, `${type}: ${state} three times`)
        t.strictSame(await salesOf(account), [sale])
      }
  },
)
