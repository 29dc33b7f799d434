import { promises as fs } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'
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

t.test('columns in the order of another language are put in that of their letters', async (t) => {
  const { url, drop } = await emptyDatabase()
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
  })
  const provider = new FileMigrationProvider({
    fs,
    path,
    migrationFolder: path.resolve('migrations'),
  })
  const { error } = await new Migrator({ db, provider }).migrateTo('0026_places_of_jobs')
  t.equal(error, undefined)
  await db.destroy()
  await select(
    url,
    `with account as (insert into accounts (name) values ('a') returning id)
     insert into catalog_columns (account_id, name, kind, type, ordinal, letter, position)
     select id, 'cost of ' || letter, 'cost', 'number', ordinal, letter, (array[1, 2, 4, 5, 3])[ordinal]
     from account, unnest(array['X', 'Y', 'Z', 'AA', 'AB']) with ordinality as letters (letter, ordinal)`,
  )
  await migrate(url)
  const ordered = await select(url, 'select letter from catalog_columns order by position')
  t.strictSame(ordered.map(({ letter }) => letter).join(), 'X,Y,Z,AA,AB')
  const force = `select relforcerowsecurity as forced from pg_class where relname = 'catalog_columns'`
  t.strictSame(await select(url, force), [{ forced: true }])
  await drop()
})

t.test('ten processes that start at once on a new database install the queue', async (t) => {
  const database = await emptyDatabase()
  t.teardown(database.drop)
  await migrate(database.url)
  await t.resolves(Promise.all(Array.from({ length: 10 }, () => installQueue(database.url))))
})
