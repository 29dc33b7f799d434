import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { inAccount } from '../../src/database/in-account.ts'
import { type Database, openDatabase, type Trx } from '../../src/database/pool.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import { startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

const service = await startTestService(t)

/** One connection, named after the test that has it. */
function oneConnection(t: Test, name: string): Database {
  const timeouts = { acquireTimeoutMs: 2000, statementTimeoutMs: 5000, lockTimeoutMs: 1000 }
  const db = openDatabase(service.url, {
    ...{ name, client: ReadingClient, connectionsMax: 1, onError: () => undefined },
    ...timeouts,
  })
  t.teardown(() => db.destroy())
  return db
}

const read = async (trx: Trx) => {
  const { rows } = await sql<{ id: string; name: string; at: string }>`
    select id::text, name, now()::text as at from accounts where 1 = ${1}`.execute(trx)
  return rows
}

t.test('reads that follow each other are transactions of their own', async (t) => {
  const db = oneConnection(t, 'one after the other')
  const [first, second] = [await service.newAccount(t), await service.newAccount(t)]
  const [before] = await inAccount(db, first.id, read)
  await select(service.url, `update accounts set name = name || '!' where id = ${first.id}`)
  const [other] = await inAccount(db, second.id, read)
  const after = await inAccount(db, first.id, read)
  t.equal(other?.id, String(second.id), 'each sees its account only')
  t.equal(after.length, 1)
  t.equal(after[0]?.name, `${before?.name}!`, 'and what was committed before it')
  t.not(after[0]?.at, before?.at)
})

t.test('the last one ends although none follows', async (t) => {
  const db = oneConnection(t, 'the last one')
  const { id } = await service.newAccount(t)
  await inAccount(db, id, read)
  const state = `select state from pg_stat_activity where application_name like '%the last one'`
  while ((await select(service.url, state))[0].state !== 'idle');
  t.pass()
})

t.test('after one that failed the next one reads', async (t) => {
  const db = oneConnection(t, 'after a failure')
  const { id } = await service.newAccount(t)
  const fail = (trx: Trx) => sql`select 1 / ${0}::integer`.execute(trx)
  await t.rejects(inAccount(db, id, fail), { code: '22012' })
  t.equal((await inAccount(db, id, read))[0]?.id, String(id))
  const write = (trx: Trx) => sql`update accounts set name = ${'x'}`.execute(trx)
  await t.rejects(inAccount(db, id, write), { code: '25006' }, 'and nothing but reads')
  t.equal((await inAccount(db, id, read))[0]?.id, String(id))
})
