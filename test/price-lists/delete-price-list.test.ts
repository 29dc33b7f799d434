import pg from 'pg'
import t from 'tap'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { expectAbsentLists } from '../helpers/absent-list.ts'
import { holdableWrites, noTriggers } from '../helpers/held-writes.ts'
import { addAll, someCodes } from '../helpers/jobs.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { select, untilLockAwaited } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, stopAfter } from '../helpers/workers.ts'

const service = await sharedService()
/** Accepts jobs and runs none. */
const idle = await startTestService(t, { ROLE: 'api' })
const db = openJobsDatabase(t, idle)
const key = { code: 'A', country: 'UK' }

/** A list of one row that has a price and, as a calendar list, a price of a day. */
async function aPricedList(shop: TestAccount, name: string, is_calendar: boolean) {
  const list = await aList(shop, { name, is_calendar })
  await addProducts(shop, name, [key])
  const cell = { ...key, price: 5, ...(is_calendar && { date: '2026-01-02' }) }
  const body = { price_list_name: name, payload: [cell] }
  await shop.post('/api/v1/prices/bulk_update_prices/', body)
  return list
}

async function query(text: string, values: unknown[]) {
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  const { rows } = await client.query(text, values)
  await client.end()
  return rows
}

async function countRows({ id }: { id: number }): Promise<number[]> {
  const counts = ['price_list_rows', 'calendar_months'].map(async (table) => {
    const [row] = await query(`select count(*) from ${table} where price_list_id = $1`, [id])
    return Number(row.count)
  })
  return Promise.all(counts)
}

/** Refuses statements that delete more than 25,000 rows of a table. */
async function refuseMany(table: string): Promise<void> {
  await query(
    `create or replace function refuse_many() returns trigger language plpgsql as $$ begin
       if (select count(*) from gone) > 25000 then raise 'too many rows'; end if;
       return null;
     end $$`,
    [],
  )
  await query(
    `create trigger few after delete on ${table} referencing old table as gone
     for each statement execute function refuse_many()`,
    [],
  )
}

t.test('the list is gone with its rows and prices, and nothing else is', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const [gone, kept] = [
    await aPricedList(shop, 'gone', true),
    await aPricedList(shop, 'kept', true),
  ]
  const before = (await shop.get(`/api/v1/price_list/${kept.id}/rows?date=2026-01-02`)).body
  t.strictSame(await countRows(gone), [1, 1])
  const { status, body } = await shop.send('DELETE', `/api/v1/price_list/${gone.id}`)
  t.strictSame([status, body], [204, ''])
  t.equal((await shop.get(`/api/v1/price_list/${gone.id}`)).status, 404)
  t.equal((await shop.get(`/api/v1/price_list/${gone.id}/rows`)).status, 404)
  t.strictSame(await countRows(gone), [0, 0])
  t.strictSame((await shop.get(`/api/v1/price_list/${kept.id}/rows?date=2026-01-02`)).body, before)
  t.equal((await shop.get('/api/v1/product_catalog/')).body.count, 1)
})

t.test(
  'the rows of a large list are deleted in chunks, each within the time of a statement',
  { skip: noTriggers },
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const list = await aPricedList(shop, 'large', true)
    await query(
      `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select account_id, price_list_id, product_id, 'A' || i, extensions, extension_key, prices, 1
     from price_list_rows, generate_series(1, 60000) i where price_list_id = $1`,
      [list.id],
    )
    await refuseMany('price_list_rows')
    t.equal((await shop.send('DELETE', `/api/v1/price_list/${list.id}`)).status, 204)
    t.strictSame(await countRows(list), [0, 0])
  },
)

t.test(
  'the months of rows that have left the list are deleted in chunks, too',
  { skip: noTriggers },
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const list = await aPricedList(shop, 'left', true)
    await query(
      `insert into calendar_months (account_id, price_list_id, row_id, dimension, month, prices)
     select account_id, price_list_id, row_id + i, dimension, month, prices
     from calendar_months, generate_series(1, 60000) i where price_list_id = $1`,
      [list.id],
    )
    await refuseMany('calendar_months')
    t.equal((await shop.send('DELETE', `/api/v1/price_list/${list.id}`)).status, 204)
    t.strictSame(await countRows(list), [0, 0])
  },
)

t.test(
  'nothing is left of a list that is deleted while rows are added',
  { skip: noTriggers },
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
    const rows = await holdableWrites(t, service.url, 'price_list_rows')
    for (const first of ['add', 'delete']) {
      const list = await aPricedList(shop, first, true)
      const payload = [{ code: 'B', country: 'UK' }]
      const add = () =>
        shop.post('/api/v1/prices/bulk_add_products/', { price_list_name: first, payload })
      const remove = () => shop.send('DELETE', `/api/v1/price_list/${list.id}`)
      await rows.hold()
      const earlier = first === 'add' ? add() : remove()
      await rows.untilHeld()
      const later = first === 'add' ? remove() : add()
      await untilLockAwaited(service.url, 'pricewell writes', later)
      await rows.release()
      const statuses = [(await earlier).status, (await later).status]
      t.strictSame(statuses, first === 'add' ? [201, 204] : [204, 404])
      t.strictSame(await countRows(list), [0, 0])
    }
  },
)

t.test('rows whose job was cancelled while the list is deleted are gone', async (t) => {
  const shop = await aShop(t, idle, { codes: someCodes(101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const job = await addAll(shop, 'L')
  const attempt = anAttempt(db, shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(attempt, await startAttempt(attempt), 60))
  const deletion = shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.equal((await deletion).status, 204)
  const left = `select from price_list_rows where price_list_id = ${list.id}`
  t.strictSame(await select(idle.url, left), [])
})

t.test('a second deletion finds nothing', async (t) => {
  const shop = await service.newAccount(t)
  const { id } = await aList(shop, {})
  t.equal((await shop.send('DELETE', `/api/v1/price_list/${id}/`)).status, 204)
  const { status, body } = await shop.send('DELETE', `/api/v1/price_list/${id}/`)
  t.strictSame([status, body.type], [404, 'price-list-not-found'])
})

t.test('of deletions at one moment one succeeds', async (t) => {
  const shop = await service.newAccount(t)
  const { id } = await aList(shop, {})
  const answers = await Promise.all(
    [1, 2, 3].map(() => shop.send('DELETE', `/api/v1/price_list/${id}`)),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 404, 404])
})

t.test('a list of the same name starts anew', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const first = await aPricedList(shop, 'L', false)
  await shop.send('DELETE', `/api/v1/price_list/${first.id}`)
  const second = await aList(shop, { name: 'L' })
  t.not(second.id, first.id)
  await addProducts(shop, 'L', [key])
  const { results } = (await shop.get(`/api/v1/price_list/${second.id}/rows`)).body
  t.strictSame(results[0].prices, { price: 0 })
})

t.test('a foreign list is an absent one, and stays', async (t) => {
  await expectAbsentLists(t, service, (account, id) =>
    account.send('DELETE', `/api/v1/price_list/${id}`),
  )
  const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
  const { id } = await aList(other, {})
  await account.send('DELETE', `/api/v1/price_list/${id}`)
  t.equal((await other.get(`/api/v1/price_list/${id}`)).status, 200)
})

t.test('while a job works on the list a deletion waits, and answers 503 in the end', async (t) => {
  const shop = await service.newAccount(t)
  const { id } = await aList(shop, {})
  await query(
    "insert into jobs (account_id, price_list_id, kind, total) values ($1, $2, 'add-products', 101)",
    [shop.id, id],
  )
  const { status, headers, body } = await shop.send('DELETE', `/api/v1/price_list/${id}`)
  t.strictSame([status, body.type], [503, 'unavailable'])
  t.ok(Number(headers['retry-after']) > 0)
  t.equal((await shop.get(`/api/v1/price_list/${id}`)).status, 200)
  const deletion = shop.send('DELETE', `/api/v1/price_list/${id}`)
  await query("update jobs set status = 'done' where account_id = $1", [shop.id])
  t.equal((await deletion).status, 204)
})
