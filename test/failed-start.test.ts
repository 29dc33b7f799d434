import t from 'tap'
import { readConfig } from '../src/config.ts'
import { startService } from '../src/service.ts'
import { cloneDatabase, query } from './helpers/database.ts'
import { jwtSecret } from './helpers/service.ts'

t.test('a start that fails at its last step leaves no connection open', async (t) => {
  const { url, drop } = await cloneDatabase()
  // A database with connections cannot be dropped.
  t.teardown(drop)
  await query(
    url,
    `create function fail() returns trigger language plpgsql as $$ begin raise 'no schedule'; end $$;
     create trigger fail before insert or update on pgboss.schedule
     for each statement execute function fail()`,
  )
  const config = readConfig({ DATABASE_URL: url, JWT_SECRET: jwtSecret, LOG_LEVEL: 'fatal' })
  await t.rejects(startService(config), { message: 'no schedule' })
})
