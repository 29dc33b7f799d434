import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { migrate } from '../../src/database/migrate.ts'
import { installQueue } from '../../src/jobs/queue.ts'
import { cloneDatabase, emptyDatabase } from '../helpers/database.ts'
import { caller, startProcess } from '../helpers/process.ts'
import { jwtSecret } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

t.test('a start whose connection breaks in the middle of a migration goes on', async (t) => {
  const database = await cloneDatabase()
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  await other.query('begin; lock table kysely_migration')
  const starting = startProcess(t, { DATABASE_URL: database.url, JWT_SECRET: jwtSecret })
  const end = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  while ((await select(database.url, end)).length === 0) await sleep(20)
  await other.end()
  const service = await starting
  t.match(await caller(() => service.url)('GET', '/health/ready'), { status: 200 })
  t.equal(await service.stop(), 0)
  await database.drop()
})

t.test('a database that another version has migrated is refused and left alone', async (t) => {
  const { url, drop } = await emptyDatabase()
  t.teardown(drop)
  await select(
    url,
    `create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null);
     insert into kysely_migration values ('0001_others', '2026-01-01T00:00:00.000Z');
     create table accounts (id bigint primary key)`,
  )
  await t.rejects(migrate(url), /migration 0001_others, which this version does not know/)
  const tables = `select relname from pg_class where relnamespace = 'public'::regnamespace
    and relkind = 'r' and relname not like 'kysely%'`
  t.strictSame(await select(url, tables), [{ relname: 'accounts' }])
})

t.test('ten processes that start at once on a new database install the queue', async (t) => {
  const database = await emptyDatabase()
  t.teardown(database.drop)
  await migrate(database.url)
  await t.resolves(Promise.all(Array.from({ length: 10 }, () => installQueue(database.url))))
})
