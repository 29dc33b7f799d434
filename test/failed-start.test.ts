import t from 'tap'
import { readConfig } from '../src/config.ts'
import { startService } from '../src/service.ts'
import { cloneDatabase, query } from './helpers/database.ts'
import { jwtSecret } from './helpers/service.ts'
import { select } from './helpers/sql.ts'

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

t.test('a database that goes away once more after the migrations is waited for', async (t) => {
  const { url, drop } = await cloneDatabase()
  t.teardown(drop)
  await query(
    url,
    `create sequence tries;
     create function fail() returns trigger language plpgsql as $$ begin
       if nextval('tries') < 3 then perform pg_terminate_backend(pg_backend_pid()); end if;
       return null;
     end $$;
     create trigger fail before insert on pgboss.schedule
     for each statement execute function fail()`,
  )
  const config = readConfig({ DATABASE_URL: url, JWT_SECRET: jwtSecret, LOG_LEVEL: 'silent' })
  const service = await startService(config)
  t.equal((await service.app.inject('/health/ready')).statusCode, 200)
  await service.close()
  const [tries] = await select(url, 'select last_value from tries')
  t.strictSame(tries, { last_value: '3' })
})
