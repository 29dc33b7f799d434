import { sql } from 'kysely'
import t from 'tap'
import { inAccount } from '../../src/database/in-account.ts'
import { besideInAccount, onTwoConnections } from '../../src/database/on-two-connections.ts'
import { poolUse, type Trx } from '../../src/database/pool.ts'
import { openReadingDatabase } from '../helpers/reading.ts'
import { startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

const service = await startTestService(t)

async function nameOf(trx: Trx): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`select name from accounts where 1 = ${1}`.execute(
    trx,
  )
  return rows[0]?.name
}

t.test('both see one moment of one account, whatever is committed meanwhile', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 4 })
  const { id } = await service.newAccount(t)
  await service.newAccount(t)
  await inAccount(db, id, (trx) =>
    onTwoConnections(trx, besideInAccount(db, id), async (next) => {
      const [first, second] = [await next(), await next()]
      t.not(first, second)
      t.equal(await next(), first, 'in turns')
      const name = await nameOf(first)
      await select(service.url, `update accounts set name = name || '!' where id = ${id}`)
      t.equal(await nameOf(second), name)
    }),
  )
  t.match(await inAccount(db, id, nameOf), /!$/)
  t.equal(poolUse(db).inUse, 0, 'both are free again')
})

t.test('where few connections are free, or none can be opened, one does it all', async (t) => {
  const { id } = await service.newAccount(t)
  const one = openReadingDatabase(t, service, { connectionsMax: 1 })
  const failing = async () => {
    throw new Error('no connection')
  }
  for (const openBeside of [besideInAccount(one, id), failing])
    await inAccount(one, id, (trx) =>
      onTwoConnections(trx, openBeside, async (next) => {
        t.strictSame([await next(), await next()], [trx, trx])
        t.type(await nameOf(trx), 'string')
      }),
    )
})

t.test('both are free again when the work fails', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 4 })
  const { id } = await service.newAccount(t)
  const work = (trx: Trx) =>
    onTwoConnections(trx, besideInAccount(db, id), async (next) => {
      const [, second] = [await next(), await next()]
      await sql`select 1 / ${0}::integer`.execute(second)
    })
  await t.rejects(inAccount(db, id, work), { code: '22012' })
  t.type(await inAccount(db, id, nameOf), 'string')
  t.equal(poolUse(db).inUse, 0)
})
