import t from 'tap'
import { cloneDatabase, emptyDatabase, query } from '../helpers/database.ts'
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
