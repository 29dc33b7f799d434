import type { Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import type { Trx } from '../../src/database/pool.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { openReadingDatabase } from '../helpers/reading.ts'
import { startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

const service = await startTestService(t)

const read = async (trx: Trx) => {
  const { rows } = await sql<{ id: string; name: string; at: string }>`
    select id::text, name, now()::text as at from accounts where 1 = ${1}`.execute(trx)
  return rows
}

t.test('reads that follow each other are transactions of their own', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
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
  const db = openReadingDatabase(t, service, { name: 'the last one', connectionsMax: 1 })
  const { id } = await service.newAccount(t)
  await inAccount(db, id, read)
  const state = `select state from pg_stat_activity where application_name like '%the last one'`
  while ((await select(service.url, state))[0].state !== 'idle');
  t.pass()
})

t.test(
  'a statement that was prepared before a column changed its type is asked anew',
  async (t) => {
    const db = openReadingDatabase(t, service, { connectionsMax: 1 })
    const { id } = await service.newAccount(t)
    await select(service.url, 'create table changing as select 1 as value')
    await select(service.url, 'grant select on changing to pricewell_app')
    const readValue = () =>
      inAccount(db, id, (trx) => sql`select value from changing where 1 = ${1}`.execute(trx))
    for (let count = 0; count < 20; count++) t.strictSame((await readValue()).rows, [{ value: 1 }])
    await select(service.url, 'alter table changing alter column value type text')
    t.strictSame((await readValue()).rows, [{ value: '1' }])
  },
)

t.test('after one that failed the next one reads', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  const { id } = await service.newAccount(t)
  const fail = (trx: Trx) => sql`select 1 / ${0}::integer`.execute(trx)
  await t.rejects(inAccount(db, id, fail), { code: '22012' })
  t.equal((await inAccount(db, id, read))[0]?.id, String(id))
  const write = (trx: Trx) => sql`update accounts set name = ${'x'}`.execute(trx)
  await t.rejects(inAccount(db, id, write), { code: '25006' }, 'and nothing but reads')
  t.equal((await inAccount(db, id, read))[0]?.id, String(id))
})

t.test(
  'statements of a transaction that was not begun fail, though they are sent with it',
  async (t) => {
    const db = openReadingDatabase(t, service, { connectionsMax: 1 })
    const { id } = await service.newAccount(t)
    const outside = `set local app.account = '${id}'; commit; select 1 / 0`
    await db.connection().execute(async (connection) => {
      await sql.raw('begin').execute(connection)
      await sql.raw(outside).execute(connection)
      const statements = [sql`select ${1}::integer`, sql`select 1`].map((one) =>
        one.execute(connection),
      )
      for (const statement of statements) await t.rejects(statement, { code: '22012' })
      await sql.raw('rollback').execute(connection)
    })
    t.equal((await inAccount(db, id, read))[0]?.id, String(id))
  },
)

t.test('a read comes after one whose end somebody has cancelled', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  const { id } = await service.newAccount(t)
  // Its `rollback` or `commit` did nothing, as when it was cancelled.
  await db.connection().execute(async (connection) => {
    await sql.raw('begin').execute(connection)
    await sql.raw(`set local app.account = '${id}'`).execute(connection)
    await t.rejects(sql`select 1 / ${0}::integer`.execute(connection), { code: '22012' })
  })
  t.equal((await inAccount(db, id, read))[0]?.id, String(id))
})

t.test('a transaction that broke as it began says why', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  await db.connection().execute(async (connection) => {
    await sql.raw('begin').execute(connection)
    await sql.raw(`set local app.account = '1'; select 1 / 0`).execute(connection)
    const statements = [sql`select ${1}::integer`, sql`select 1`].map((one) =>
      one.execute(connection),
    )
    for (const statement of statements) await t.rejects(statement, { code: '22012' })
    await sql.raw('rollback').execute(connection)
  })
})

let writes = 0
/** Counts what goes to the database at once. */
class CountingClient extends ReadingClient {
  #isCounted = false

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  override query(...args: any[]): any {
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection
    const [write, writev] = [stream._write.bind(stream), stream._writev?.bind(stream)]
    if (!this.#isCounted) {
      stream._write = (...chunk) => {
        writes++
        write(...chunk)
      }
      stream._writev = (...chunks) => {
        writes++
        writev?.(...chunks)
      }
    }
    this.#isCounted = true
    return super.query(...args)
  }
}

t.test('a read is sent before the event loop turns', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1, client: CountingClient })
  const { id } = await service.newAccount(t)
  await inAccount(db, id, read)
  // Its commit goes by itself.
  await sleep(20)
  const before = writes
  const sent = turn().then(() => writes - before)
  const rows = await inAccount(db, id, read)
  t.equal(await sent, 1)
  t.equal(rows.length, 1)
})

t.test('the commit of a read goes with the begin of the next one', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1, client: CountingClient })
  const { id } = await service.newAccount(t)
  const readTenTimes = async () => {
    const before = writes
    for (let reads = 0; reads < 10; reads++) {
      await inAccount(db, id, read)
      // As a request does that comes soon after.
      await turn()
    }
    return writes - before
  }
  // On a busy machine a turn may take longer than a commit waits: then they are 20.
  const counts: number[] = []
  while (counts.length < 20 && !(Math.min(...counts) < 15)) counts.push(await readTenTimes())
  t.ok(Math.min(...counts) < 15, counts.join())
})

t.test('what a read had sent when it failed is answered before the next one begins', async (t) => {
  const { id } = await service.newAccount(t)
  const fresh = (trx: Trx) => sql`select ${1}::integer as fresh`.execute(trx)
  for (let times = 0; times < 50; times++) {
    const db = openReadingDatabase(t, service, { connectionsMax: 1 })
    const failing = inAccount(db, id, (trx) =>
      Promise.all([sql`select 1 / ${0}::integer`.execute(trx), fresh(trx)]),
    )
    const next = inAccount(db, id, fresh)
    await t.rejects(failing, { code: '22012' })
    t.strictSame((await next).rows, [{ fresh: 1 }])
    await db.destroy()
  }
})

t.test('a session keeps the statements prepared that are asked often, and no others', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  const { id } = await service.newAccount(t)
  const ask = (column: string, times: number) =>
    inAccount(db, id, async (trx) => {
      for (let time = 0; time < times; time++)
        await sql`select ${1}::integer as ${sql.ref(column)}`.execute(trx)
    })
  for (let rare = 0; rare < 150; rare++) await ask(`rare${rare}`, 2)
  for (let frequent = 0; frequent < 120; frequent++) await ask(`frequent${frequent}`, 12)
  const { rows } = await inAccount(db, id, (trx) =>
    sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(trx),
  )
  const prepared = rows.map(({ statement }) => statement)
  t.ok(prepared.length <= 100, String(prepared.length))
  t.notMatch(prepared.join(), /rare/)
  t.match(prepared.join(), /frequent50/)
})
