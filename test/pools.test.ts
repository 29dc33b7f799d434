import { sql } from 'kysely'
import t from 'tap'
import { poolUse } from '../src/database/pool.ts'
import { createBoss } from '../src/jobs/queue.ts'
import { openPools } from '../src/pools.ts'
import { cloneDatabase } from './helpers/database.ts'
import { select } from './helpers/sql.ts'

t.test('a request with a file waits for others no longer than one without', async (t) => {
  const { url, drop } = await cloneDatabase()
  const pools = openPools({ url }, 1, { onError: () => undefined })
  t.teardown(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    await drop()
  })
  const timeouts = []
  for (const db of [pools.writes, pools.streams]) {
    const { rows } = await sql<{ lock_timeout: string }>`show lock_timeout`.execute(db)
    timeouts.push(rows[0]?.lock_timeout)
  }
  t.strictSame(timeouts, ['1250ms', '1250ms'])
})

t.test('the queue waits for a lock no longer than it waits for an answer', async (t) => {
  const { url, drop } = await cloneDatabase()
  const boss = createBoss(url, { supervise: false, onError: () => undefined })
  await boss.start()
  t.teardown(async () => {
    await boss.stop({ graceful: false })
    await drop()
  })
  const { rows } = await boss.getDb().executeSql('show lock_timeout')
  t.strictSame(rows, [{ lock_timeout: '10s' }], 'of 15')
})

t.test('a process opens 25 connections at most, three of them for its queue', async (t) => {
  const { url, drop } = await cloneDatabase()
  const pools = openPools({ url }, 4, { onError: () => undefined })
  const boss = createBoss(url, { supervise: true, onError: () => undefined })
  await boss.start()
  t.teardown(async () => {
    await boss.stop({ graceful: false })
    await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    await drop()
  })
  const ofPools = Object.values(pools).reduce((sum, pool) => sum + poolUse(pool).max, 0)
  t.equal(ofPools, 22)
  const busy = Array.from({ length: 8 }, () => boss.getDb().executeSql('select pg_sleep(0.1)'))
  await Promise.all(busy)
  const queue = `select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and application_name = 'pricewell queue'`
  const [connected] = await select(url, queue)
  t.strictSame(connected, { count: 3 })
})
