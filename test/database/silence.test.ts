import { sql } from 'kysely'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { CopyingClient } from '../../src/database/copy.ts'
import { type Database, openDatabase } from '../../src/database/pool.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import { cloneDatabase } from '../helpers/database.ts'
import { openProxy } from '../helpers/silent-proxy.ts'
import { select } from '../helpers/sql.ts'

/** A pool whose statements may take a second, and the network between it and its server. */
async function openSilenced(t: Test, client: typeof pg.Client, ownOptions = {}) {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const proxy = await openProxy(database.url)
  const db = openDatabase(proxy.url, {
    name: 'silence',
    connectionsMax: 1,
    client,
    onError: () => undefined,
    acquireTimeoutMs: 2000,
    lockTimeoutMs: 1000,
    statementTimeoutMs: 1000,
    queryTimeoutMs: 2000,
    ...ownOptions,
  })
  t.teardown(async () => {
    proxy.speak()
    await db.destroy()
    await proxy.close()
  })
  return { url: database.url, proxy, db }
}

const noAnswer = /silent|timeout|terminated|closed/
const one = (db: Database) => sql<{ one: number }>`select 1 as one`.execute(db)

for (const client of [CopyingClient, ReadingClient])
  t.test(
    `${client.name}: a transaction fails when the network falls silent, and the next one gets another connection`,
    async (t) => {
      const { url, proxy, db } = await openSilenced(t, client)
      await one(db)
      const failing = db.transaction().execute((trx) => sql`select pg_sleep(100)`.execute(trx))
      proxy.silence()
      await t.rejects(failing, noAnswer)
      proxy.speak()
      t.strictSame((await one(db)).rows, [{ one: 1 }])
      await untilNoneRuns(url)
    },
  )

t.test('a connection that falls silent before it is ready is given up', async (t) => {
  const anHour = { statementTimeoutMs: 3_600_000, queryTimeoutMs: undefined }
  const { proxy, db } = await openSilenced(t, CopyingClient, anHour)
  proxy.silenceAt('client_connection_check_interval')
  await t.rejects(one(db), noAnswer)
  proxy.speak()
  t.strictSame((await one(db)).rows, [{ one: 1 }])
})

t.test('a transaction that is busy elsewhere, and an idle connection, are kept', async (t) => {
  const { db } = await openSilenced(t, CopyingClient)
  const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`
  const { rows: before } = await pid.execute(db)
  const longerThanQueries = () => new Promise((resolve) => setTimeout(resolve, 2500))
  await db.transaction().execute(async (trx) => {
    await one(trx)
    await longerThanQueries()
    await one(trx)
  })
  await longerThanQueries()
  t.strictSame((await pid.execute(db)).rows, before)
})

/** Waits until the server has ended what the client gave up. */
async function untilNoneRuns(url: string): Promise<void> {
  const running =
    "select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(100)' and state = 'active'"
  while ((await select(url, running)).length > 0);
}
