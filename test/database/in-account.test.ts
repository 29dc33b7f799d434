import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { inAccount } from '../../src/database/in-account.ts'
import { openDatabase } from '../../src/database/pool.ts'
import { setClock } from '../helpers/clocks.ts'
import { cloneDatabase } from '../helpers/database.ts'

t.test('work that waits for a connection while the clock is set is done', async (t) => {
  const database = await cloneDatabase()
  const db = openDatabase(database.url, {
    ...{ name: 'clock', connectionsMax: 1, client: pg.Client, onError: () => undefined },
    ...{ acquireTimeoutMs: 5000, lockTimeoutMs: 1000, statementTimeoutMs: 5000 },
  })
  t.teardown(async () => {
    await db.destroy()
    await database.drop()
  })
  const first = inAccount(db, 1, (trx) => sql`select pg_sleep(0.3)`.execute(trx))
  await sleep(100)
  const second = inAccount(db, 1, (trx) => sql<{ one: number }>`select 1 as one`.execute(trx))
  // A machine whose clock had stopped: these are more milliseconds than an integer of PostgreSQL holds.
  setClock(t, 30 * 24 * 3_600_000)
  await first
  t.strictSame((await second).rows, [{ one: 1 }])
})
