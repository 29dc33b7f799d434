import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { cloneDatabase } from '../helpers/database.ts'
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
