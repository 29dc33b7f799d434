import { sql } from 'kysely'
import t from 'tap'
import { accountSelect, selectInAccount } from '../../src/database/account-select.ts'
import { openReadingDatabase } from '../helpers/reading.ts'
import { startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

const service = await startTestService(t)
const db = openReadingDatabase(t, service, { connectionsMax: 1 })
const accounts = [await service.newAccount(t), await service.newAccount(t)].map(({ id }) => id)
const [first = 0, second = 0] = accounts

const visible = accountSelect(
  'visible',
  sql`select id, ${sql.raw('$1')}::text from accounts order by id`,
)
const setting = accountSelect('setting', sql`select current_setting('app.account', true)`)
const quotient = accountSelect('quotient', sql`select 1 / ${sql.raw('$1')}::integer`)

t.test('a select sees the rows of its account only, and values by their place', async (t) => {
  for (const account of [first, second, first])
    t.strictSame(await selectInAccount(db, account, visible, ['x']), [[String(account), 'x']])
})

t.test('selects of several accounts that share a connection do not mix', async (t) => {
  const order = Array.from({ length: 40 }, (_, index) => accounts[index % 2] as number)
  const rows = await Promise.all(order.map((id) => selectInAccount(db, id, visible, [id])))
  t.strictSame(
    rows,
    order.map((id) => [[String(id), String(id)]]),
  )
})

t.test('the statement after a select has no account and sees no rows', async (t) => {
  t.strictSame(await selectInAccount(db, first, setting, []), [[String(first)]])
  await db.connection().execute(async (connection) => {
    const after = await sql<{ account: string | null; rows: number }>`
      select current_setting('app.account', true) as account, (select count(*) from accounts) as rows
      where 1 = ${1}`.execute(connection)
    t.strictSame(after.rows, [{ account: '', rows: 0 }])
  })
})

t.test('a select that fails says why, and the next one is answered', async (t) => {
  await t.rejects(selectInAccount(db, first, quotient, [0]), { code: '22012' })
  t.strictSame(await selectInAccount(db, first, quotient, [1]), [['1']])
  t.strictSame(await selectInAccount(db, second, visible, ['x']), [[String(second), 'x']])
})

t.test('a select cannot write', async (t) => {
  const write = accountSelect('write', sql`delete from sales`)
  await t.rejects(selectInAccount(db, first, write, []), { code: '25006' })
})

t.test('a select that was prepared before a column changed its type is answered', async (t) => {
  await select(service.url, 'create table changing as select 1 as value')
  await select(service.url, 'grant select on changing to pricewell_app')
  const value = accountSelect('changing', sql`select value from changing`)
  t.strictSame(await selectInAccount(db, first, value, []), [['1']])
  await select(service.url, `alter table changing alter column value type text using value || '!'`)
  t.strictSame(await selectInAccount(db, first, value, []), [['1!']])
})

t.test('a value is never a part of the text', async (t) => {
  const text = `'; select 1; --`
  t.strictSame(await selectInAccount(db, first, visible, [text]), [[String(first), text]])
  await t.rejects(selectInAccount(db, Number.NaN, visible, ['x']), /not an integer/)
})
