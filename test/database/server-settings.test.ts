import { sql } from 'kysely'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { openDatabaseServer } from '../../src/database/server.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { openPools } from '../../src/pools.ts'
import { cloneDatabase, emptyDatabase, query, type TestDatabase } from '../helpers/database.ts'
import { aDay } from '../helpers/day.ts'
import { startServiceOn, startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

/** What those who look after a server may set, for reasons of their own. */
const common = {
  timezone: "'Pacific/Kiritimati'",
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  bytea_output: 'escape',
  row_security: 'off',
  default_transaction_deferrable: 'on',
  search_path: 'elsewhere',
  statement_timeout: "'1ms'",
  lock_timeout: "'1ms'",
  idle_session_timeout: "'100ms'",
  idle_in_transaction_session_timeout: "'1ms'",
  transaction_timeout: "'3s'",
}
const settings: Record<string, string>[] = [
  { ...common, datestyle: 'SQL, DMY', default_transaction_isolation: "'repeatable read'" },
  { ...common, datestyle: 'German', default_transaction_isolation: 'serializable' },
]

const expected = await aDay(t, await startTestService(t))

for (const ofServer of settings)
  t.test(`settings of the server change nothing: ${ofServer.datestyle}`, async (t) => {
    const database = await cloneDatabase()
    // Servers before PostgreSQL 17 have no transaction_timeout.
    const names = await select(database.serverUrl, 'select lower(name) as name from pg_settings')
    const known = new Set(names.map(({ name }) => name))
    for (const [setting, value] of Object.entries(ofServer))
      if (known.has(setting))
        await query(database.serverUrl, `alter database ${database.name} set ${setting} = ${value}`)
    t.strictSame(await aDay(t, await startServiceOn(t, database)), expected)
  })

t.test('nor do they keep a service from making its tables and its queue', async (t) => {
  const database = await emptyDatabase()
  const { standard_conforming_strings, transform_null_equals, search_path } = common
  const others = { standard_conforming_strings, transform_null_equals, search_path }
  for (const [setting, value] of Object.entries(others))
    await query(database.serverUrl, `alter database ${database.name} set ${setting} = ${value}`)
  t.strictSame(await aDay(t, await startServiceOn(t, database)), expected)
})

/** Those that a day does not show. */
const hidden = {
  default_transaction_deferrable: 'on',
  idle_session_timeout: "'100ms'",
  transaction_timeout: "'3s'",
}
const hiddenNames = Object.keys(hidden)

/** The settings of the connections of each pool. */
async function settingsOf(database: TestDatabase) {
  const config = readConfig({ DATABASE_URL: database.url, JWT_SECRET: 'x'.repeat(32) })
  const pools = openPools(await openDatabaseServer(config), 1, { onError: () => undefined })
  const settings = Object.entries(pools).map(async ([name, pool]) => {
    const found = await inAccount(pool, 1, async (trx) => {
      const { rows } = await sql`
        select name, setting from pg_settings where name = any(${hiddenNames}) order by name`.execute(
        trx,
      )
      return rows
    })
    await pool.destroy()
    return [name, found]
  })
  return Object.fromEntries(await Promise.all(settings))
}

t.test('no setting of a server reaches the connections of the service', async (t) => {
  const [plain, set] = [await cloneDatabase(), await cloneDatabase()]
  t.teardown(async () => {
    await plain.drop()
    await set.drop()
  })
  const known = await select(set.serverUrl, 'select name from pg_settings')
  for (const [name, value] of Object.entries(hidden))
    if (known.some((one) => one.name === name))
      await query(set.serverUrl, `alter database ${set.name} set ${name} = ${value}`)
  t.strictSame(await settingsOf(set), await settingsOf(plain))
})
