import t from 'tap'
import { expireHistory } from '../../../src/jobs/retention.ts'
import { deleteOldHistory, query } from '../../helpers/database.ts'
import { uncommitted } from '../../helpers/market.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList, setPrices } from '../../helpers/shop.ts'
import { select } from '../../helpers/sql.ts'
import { openJobsDatabase } from '../../helpers/workers.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })

t.test('history older than its days goes, and what held then stays to be read', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  for (const price of [5, 6]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('B'), active: false }])
  await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 7 }])
  const age = (revisions: string, days: number) => {
    const at = new Date(Date.now() - days * 86_400_000).toISOString()
    return query(
      service.url,
      `update list_revisions set at = '${at}' where price_list_id = ${id} and revision ${revisions}`,
    )
  }
  await age('<= 3', 401)
  await deleteOldHistory(service.url)
  const read = (as_of: number) =>
    shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      payload: ['A', 'B'].map(uk),
      as_of,
    })
  const refused = await read(2)
  expectProblem(t, refused, 409, 'history-not-kept', 'older')
  t.ok(Date.parse(refused.body.oldest) < Date.now() - 400 * 86_400_000)
  t.match((await read(3)).body, [{ active_price: 6 }, { code: 'B' }])
  t.match((await read(5)).body, [{ active_price: 7 }])
  const revisions = (await shop.get(`/api/v1/price_list/${id}/revisions/`)).body
  t.equal(revisions.count, 3)
  const history = await shop.post('/api/v1/prices/get_price_history/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  t.match(history.body[0].history, [
    { price: 6, from: refused.body.oldest, actor: undefined },
    { price: 7 },
  ])
  const undone = await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 3 })
  expectProblem(t, undone, 409, 'history-not-kept', 'revert')
  await age('= 4', 401)
  await deleteOldHistory(service.url)
  const rows = await select(service.url, `select from removed_rows where price_list_id = ${id}`)
  t.equal(rows.length, 0, 'the row that left before')
})

t.test('the past begins where the promotions of then are still known', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 10 }])
  const sale = { kind: 'fixed_price', value: 4, valid_from: '2020-01-01', valid_to: '2030-12-31' }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ name: 'Sale', ...sale }])
  await shop.post('/api/v1/promotions/bulk_delete/', ['Sale'])
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  await query(
    service.url,
    `update list_revisions set at = '${daysAgo(450)}' where price_list_id = ${id};
     update promotion_versions set from_at = '${daysAgo(440)}', until_at = '${daysAgo(420)}'
     where account_id = ${shop.id}`,
  )
  const read = (more: object) =>
    shop.post('/api/v1/prices/get_prices/', { price_list_id: id, payload: [uk('A')], ...more })
  t.match((await read({ as_of: daysAgo(430) })).body, [{ active_price: 4 }])
  await deleteOldHistory(service.url)
  expectProblem(t, await read({ as_of: daysAgo(430) }), 409, 'history-not-kept', 'older')
  t.match((await read({ as_of: daysAgo(399) })).body, [{ active_price: 10 }])
  t.match((await read({ as_of: 2 })).body, [{ active_price: 10 }], 'the revision in force then')
  const lowest_price = { days: 60, before: daysAgo(360).slice(0, 10) }
  const { body } = await read({ include: ['lowest_price'], lowest_price })
  t.match(body[0].lowest_price, { price: 10, complete: false })
  t.ok(body[0].lowest_price.days_known <= 41, 'days before do not count')
})

t.test('the history since an open plan was made is kept', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  const updates = '/api/v1/prices/bulk_update_prices/'
  const plan = await shop.post(`${updates}?plan=true`, {
    ...{ price_list_name: 'L', payload: [{ ...uk('A'), price: 20 }] },
  })
  for (const price of [15, 16]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  const before = new Date(Date.now() - 401 * 86_400_000).toISOString()
  await query(service.url, `update list_revisions set at = '${before}' where price_list_id = ${id}`)
  await deleteOldHistory(service.url)
  const read = { price_list_name: 'L', payload: [uk('A')] }
  for (const as_of of [1, 2]) {
    const then = await shop.post('/api/v1/prices/get_prices/', { ...read, as_of })
    expectProblem(t, then, 409, 'history-not-kept', 'only the plan needs it')
  }
  const history = await shop.post('/api/v1/prices/get_price_history/', read)
  t.match(history.body, [{ history: [{ price: 16, to: null, revision: 3 }] }])
  t.equal((await shop.get(`/api/v1/price_list/${id}/revisions/`)).body.count, 1)
  const apply = () => shop.post(`/api/v1/plans/${plan.body.id}/apply/`, {})
  expectProblem(t, await apply(), 409, 'plan-stale', 'the price was set since')
  await shop.send('DELETE', `/api/v1/plans/${plan.body.id}/`)
  await deleteOldHistory(service.url)
  const kept = `select from list_changes where price_list_id = ${id}`
  t.equal((await select(service.url, kept)).length, 0, 'it goes with the plan')
})

t.test('a plan to undo acts as it shows, however old what it undoes is by then', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  for (const price of [10, 20, 30]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  const removed = { price_list_name: 'L', payload: [uk('B')] }
  await shop.post('/api/v1/prices/bulk_remove_products/', removed)
  const revert = `/api/v1/price_list/${id}/revert/`
  const plan = (await shop.post(`${revert}?plan=true`, { to_revision: 2 })).body
  await query(
    service.url,
    `update list_revisions set at = now() - interval '401 days' where price_list_id = ${id} and revision <= 4`,
  )
  await deleteOldHistory(service.url)
  t.match((await shop.post(`/api/v1/plans/${plan.id}/apply/`, {})).body, { skipped: 0 })
  const read = { price_list_name: 'L', payload: ['A', 'B'].map(uk) }
  t.match((await shop.post('/api/v1/prices/get_prices/', read)).body, [
    { code: 'A', active_price: 10 },
    { code: 'B' },
  ])
})

t.test(
  'history does not expire while a list is written, so that no other waits for it',
  async (t) => {
    const { shop, id } = await aFilledList(t, service)
    await query(
      service.url,
      `update list_revisions set at = now() - interval '401 days' where price_list_id = ${id}`,
    )
    const lock = `select from price_lists where account_id = $1 for no key update`
    const commit = await uncommitted(service.url, shop.id, lock)
    const db = openJobsDatabase(t, service, { lockTimeoutMs: 0 })
    await t.rejects(expireHistory(db, 400), { code: '55P03' })
    await commit()
    await t.resolves(expireHistory(db, 400))
  },
)

t.test('a deleted list takes its history along', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'], is_calendar: true })
  const payload = ['A', 'B'].map((code) => ({ ...uk(code), date: '2026-01-01', price: 5 }))
  for (const observed_at of ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']) {
    const seen = { price_list_name: 'L', observed_at, payload }
    await shop.post('/api/v1/prices/bulk_update_prices/', seen)
  }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('B'), active: false }])
  await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  const tables = [
    'list_revisions',
    'list_changes',
    'calendar_changes',
    'removed_rows',
    'confirmed_prices',
    'calendar_months',
  ]
  const kept = async () => {
    const counts = []
    for (const table of tables)
      counts.push(
        (await select(service.url, `select from ${table} where price_list_id = ${id}`)).length,
      )
    return counts
  }
  t.notOk((await kept()).includes(0))
  await shop.send('DELETE', `/api/v1/price_list/${id}/`)
  t.strictSame(
    await kept(),
    tables.map(() => 0),
  )
})

t.test('a mistake whose undo is kept stays known to the lowest price', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  for (const price of [10, 1]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  await setPrices(shop, 'L', [{ ...uk('B'), price: 5 }])
  await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 3, void: true })
  for (const [revision, days] of [500, 480, 470, 405, 345].entries())
    await query(
      service.url,
      `update list_revisions set at = now() - make_interval(days => ${days})
       where price_list_id = ${id} and revision = ${revision + 1}`,
    )
  const thirtyDaysAgo = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)
  const lowest = async (name: string) => {
    const { body } = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      payload: [uk(name)],
      include: ['lowest_price'],
      lowest_price: { days: 365, before: thirtyDaysAgo },
    })
    return body[0].lowest_price
  }
  for (let run = 0; run < 2; run++) {
    t.match(await lowest('A'), { price: 10 })
    t.match(await lowest('B'), { price: 5 })
    await deleteOldHistory(service.url)
  }
  const ended = `update list_revisions set at = now() - interval '401 days' where price_list_id = ${id}`
  await query(service.url, ended)
  await deleteOldHistory(service.url)
  const kept = `select from list_changes where price_list_id = ${id}`
  t.equal((await select(service.url, kept)).length, 0, 'it goes with its undo')
  t.match(await lowest('A'), { price: 10 })
})

t.test('what is asked of before the kept history is told where it begins', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  for (const price of [5, 6]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  await query(
    service.url,
    `update list_revisions set at = now() - interval '401 days' where price_list_id = ${id}`,
  )
  await deleteOldHistory(service.url)
  const cut = await shop.get(`/api/v1/price_list/${id}/revisions/2/`)
  expectProblem(t, cut, 404, 'not-found', 'a revision that is gone')
  t.match(cut.body.detail, /history begins with revision 3/)
  const read = { price_list_name: 'L', payload: [uk('A')] }
  const all = await shop.post('/api/v1/prices/get_price_history/', read)
  const fromStart = await shop.post('/api/v1/prices/get_price_history/', { ...read, from: 0 })
  t.strictSame([fromStart.status, fromStart.body], [all.status, all.body])
})
