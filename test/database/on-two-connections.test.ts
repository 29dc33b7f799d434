import { sql } from 'kysely'
import t from 'tap'
import {
  besideInAccount,
  type OpenBeside,
  onTwoConnections,
} from '../../src/database/on-two-connections.ts'
import { poolUse, type Trx } from '../../src/database/pool.ts'
import { inAccount, setAccount } from '../../src/database/tenant-transaction.ts'
import { isPassing } from '../../src/database/transient-errors.ts'
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

const namesByTwo = (openBeside: OpenBeside) => (trx: Trx) =>
  onTwoConnections(trx, openBeside, async (next) => {
    const names = [0, 1, 2].map(async () => nameOf(await next()))
    for (const name of names) name.catch(() => undefined)
    return Promise.all(names)
  })

t.test('where the snapshot cannot be taken over, the work is done again by one', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 4 })
  const { id } = await service.newAccount(t)
  let times = 0
  const openBeside: OpenBeside = async () => {
    if (times++ > 0) return undefined
    const beside = await db.startTransaction().execute()
    await setAccount(beside, id)
    await sql`set transaction snapshot '00000000-00000000-1'`.execute(beside)
    return beside
  }
  const [name, ...others] = await inAccount(db, id, namesByTwo(openBeside))
  t.type(name, 'string')
  t.strictSame(others, [name, name])
  t.equal(times, 2)
  times = 0
  const once = db.transaction().execute(namesByTwo(openBeside))
  t.ok(
    isPassing(await once.catch((error) => error)),
    'what cannot be done again says that it may be',
  )
})

t.test('where no snapshot can be exported, as on a full disk, reads go on', async (t) => {
  const right = (verb: string) => `${verb} execute on function pg_export_snapshot() `
  await select(service.url, `${right('revoke')} from public`)
  t.teardown(() => select(service.url, `${right('grant')} to public`))
  const db = openReadingDatabase(t, service, { connectionsMax: 4 })
  const { id } = await service.newAccount(t)
  let opened = 0
  const openBeside: OpenBeside = (trx) => {
    opened++
    return besideInAccount(db, id)(trx)
  }
  for (let times = 0; times < 3; times++) await inAccount(db, id, namesByTwo(openBeside))
  t.equal(opened, 4, 'only the first was done again')
})
