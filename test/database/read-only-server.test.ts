import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { CopyingClient } from '../../src/database/copy.ts'
import { openDatabase, type PoolOptions } from '../../src/database/pool.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import { cloneDatabase, query, type TestDatabase } from '../helpers/database.ts'
import { startServiceOn } from '../helpers/service.ts'

/** For the connections that are opened from now on; those that are there are ended. */
async function takeWrites({ name, serverUrl }: TestDatabase, isTaking: boolean): Promise<void> {
  const value = isTaking ? 'off' : 'on'
  await query(serverUrl, `alter database ${name} set default_transaction_read_only = ${value}`)
  if (isTaking) return
  await query(
    serverUrl,
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
  )
}

t.test('a write succeeds as soon as the database takes writes again', async (t) => {
  const database = await cloneDatabase()
  const service = await startServiceOn(t, database)
  const account = await service.newAccount(t)
  const write = () => account.post('/api/v1/sales_history/bulk_create_or_update', [])
  t.equal((await write()).status, 201)
  await takeWrites(database, false)
  const refused = await account.post('/api/v1/price_list/bulk_create/', [
    { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  t.equal(refused.status, 503)
  t.equal((await account.get('/api/v1/price_list/')).status, 200, 'reads go on')
  await takeWrites(database, true)
  const { status } = await account.post('/api/v1/price_list/bulk_create/', [
    { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  t.equal(status, 201)
})

for (const client of [CopyingClient, ReadingClient])
  t.test(`a connection that only reads is not kept: ${client.name}`, async (t) => {
    const database = await cloneDatabase()
    const pid = pidOf(t, database, client)
    t.equal(await pid(), await pid())
    await takeWrites(database, false)
    t.not(await pid(), await pid())
    await takeWrites(database, true)
    t.equal(await pid(), await pid(), 'and the next one is')
  })

function pidOf(t: Test, database: TestDatabase, client: PoolOptions['client']) {
  const db = openDatabase(database.url, {
    name: 'standby',
    connectionsMax: 1,
    client,
    onError: () => undefined,
    acquireTimeoutMs: 5000,
    lockTimeoutMs: 1000,
    statementTimeoutMs: 1000,
  })
  t.teardown(async () => {
    await db.destroy()
    await database.drop()
  })
  const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`
  return async () => {
    // A connection that was ended a moment ago may be tried once more.
    const { rows } = await pid.execute(db).catch(() => pid.execute(db))
    return rows[0]?.pid
  }
}
