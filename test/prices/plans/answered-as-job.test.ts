import t from 'tap'
import { query } from '../../helpers/database.ts'
import { expectAllFaults } from '../../helpers/faults.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList, aList, aShop, rowsOf, setPrices } from '../../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const updates = '/api/v1/prices/bulk_update_prices/'
const adding = '/api/v1/prices/bulk_add_products/'
const removing = '/api/v1/prices/bulk_remove_products/'
const promoting = '/api/v1/promotions/bulk_create_or_update/'
const aPromotion = {
  ...{ name: 'Sale', kind: 'percentage', value: 10 },
  ...{ valid_from: '2026-11-01', valid_to: '2026-11-30' },
}
const later = { prefer: 'respond-async' }

async function aPricedList(t: Parameters<typeof aShop>[0]) {
  const rows = ['A', 'B'].map(uk)
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B', 'C'], rows })
  await setPrices(shop, 'L', [
    { ...uk('A'), price: 10 },
    { ...uk('B'), price: 20 },
  ])
  const pricesNow = async () => {
    const rows = await rowsOf(shop, list)
    return Object.fromEntries(rows.map(({ code, prices }) => [code, Object.values(prices)[0]]))
  }
  return { shop, list, pricesNow }
}

t.test(
  'a plan of rows in a JSON body is answered as a job where the client prefers one',
  async (t) => {
    const { shop, list, pricesNow } = await aPricedList(t)
    const planLater = async (path: string, body: object) => {
      const accepted = await shop.send('POST', `${path}?plan=true`, body, later)
      t.match(accepted, { status: 202, headers: { 'preference-applied': 'respond-async' } })
      t.equal(accepted.headers.location, `/api/v1/jobs/${accepted.body.id}/`)
      t.match(accepted.body, { status: 'done', resource_type: 'published-price-list' })
      const job = await shop.finished(accepted.body)
      t.match(job, { kind: 'make-plan', price_list_name: 'L' })
      t.equal(job.status, 'done', JSON.stringify(job.errors))
      return (await shop.get(`/api/v1/plans/${job.result.plan_id}/`)).body
    }
    const prices = await planLater(updates, {
      price_list_name: 'L',
      observed_at: '2026-01-01T00:00:00Z',
      on_stale: 'skip',
      payload: [
        { ...uk('A'), price: 11.25 },
        { ...uk('B'), price: 21 },
      ],
    })
    t.match(prices, { operation: 'update_prices', price_list_id: list.id, summary: { rows: 0 } })
    const fresh = await planLater(updates, {
      price_list_name: 'L',
      payload: [{ code: 'A', extensions: { country: 'UK' }, price: 11.25, expected_price: 10 }],
    })
    t.match(fresh, { operation: 'update_prices', summary: { rows: 1, changed: 1 } })
    t.equal((await shop.post(`/api/v1/plans/${fresh.id}/apply/`, {})).status, 201)
    t.match(await pricesNow(), { A: 11.25, B: 20 })
    const added = await planLater(adding, { name: 'L', payload: ['B', 'C'].map(uk) })
    t.match(added, { operation: 'add_products', summary: { added: 1, unchanged: 1 } })
    const removed = await planLater(removing, { price_list_name: 'L', payload: [uk('A')] })
    t.match(removed, { operation: 'remove_products', summary: { removed: 1 } })
    const promotions = await shop.send('POST', `${promoting}?plan=true`, [aPromotion], later)
    t.match(promotions, { status: 201, body: { operation: 'promotions' } }, 'they are of no list')
    t.notOk(promotions.headers['preference-applied'])
  },
)

t.test('bad rows of such a body are refused by the call', async (t) => {
  const { shop } = await aPricedList(t)
  const send = (path: string, body: unknown) => shop.send('POST', `${path}?plan=true`, body, later)
  const payload = [{ ...uk('A'), price: -1 }, { ...uk('A') }, { ...uk('Z'), price: 1 }]
  expectAllFaults(t, await send(updates, { price_list_name: 'L', payload }), [
    ['/payload/0/price', 'range'],
    ['/payload/1/price', 'required'],
    ['/payload/2/code', 'row_not_in_list'],
  ])
  t.equal((await send(adding, { payload: [uk('C')] })).status, 400, 'no list is named')
  t.equal((await send(adding, { name: 'None', payload: [uk('C')] })).status, 404)
  const unknown = { price_list_name: 'L', payload: [uk('A'), uk('Z')] }
  expectAllFaults(t, await send(adding, unknown), [['/payload/1/code', 'unknown_product']])
  t.match((await shop.get('/api/v1/plans/')).body, { count: 0 })
  t.match((await shop.get('/api/v1/jobs/')).body, { count: 0 })
})

t.test('without a plan a JSON body is done at once, whatever the client prefers', async (t) => {
  const { shop, pricesNow } = await aPricedList(t)
  const body = { price_list_name: 'L', payload: [{ ...uk('A'), price: 13 }] }
  const done = await shop.send('POST', updates, body, later)
  t.equal(done.status, 201)
  t.notOk(done.headers['preference-applied'])
  t.match(await pricesNow(), { A: 13 })
})

t.test('a plan of more than 100,000 rows of a file is answered as a job', async (t) => {
  const codes = Array.from({ length: 274 }, (_, index) => `P${index}`)
  const { shop } = await aFilledList(t, service, { codes, name: 'Days', is_calendar: true })
  const days = Array.from({ length: 365 }, (_, day) =>
    new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
  )
  const lines = codes.flatMap((code) => days.map((day) => `${code},UK,${day},12.5\n`))
  const plan = (rows: string[]) =>
    shop.send(
      'POST',
      `${updates}?price_list_name=Days&plan=true`,
      `code,country,date,price\n${rows.join('')}`,
      { 'content-type': 'text/csv' },
    )
  t.match(await plan(lines.slice(0, 100_000)), { status: 201, body: { status: 'open' } })
  const accepted = await plan(lines)
  t.match(accepted, { status: 202, body: { status: 'done', progress: { total: 100_010 } } })
  t.equal(accepted.headers.location, `/api/v1/jobs/${accepted.body.id}/`)
  t.notOk(accepted.headers['preference-applied'])
  const { result, kind } = (await shop.get(`/api/v1/jobs/${accepted.body.id}/`)).body
  t.equal(kind, 'make-plan')
  t.match((await shop.get(`/api/v1/plans/${result.plan_id}/`)).body.summary, {
    ...{ rows: 100_010, changed: 100_010 },
  })
  const bad = await plan([...lines.slice(1), 'P0,UK,2026-01-01,-1\n'])
  t.match(bad, { status: 400, body: { errors: [{ line: 100_011, code: 'range' }] } })
})

t.test('a sync of more than 100,000 products is planned by a job', async (t) => {
  const shop = await aShop(t, service, { codes: [], countries: [] })
  await aList(shop, { name: 'L' })
  await query(
    service.url,
    `insert into products (account_id, code, extensions, extension_key, costs, active)
     select ${shop.id}, 'P' || n, '{UK}', '["UK"]', '{1,1}', true from generate_series(1, 100001) as n`,
  )
  const path = '/api/v1/prices/sync_with_catalog/?plan=true'
  const accepted = await shop.post(path, { price_list_name: 'L' })
  t.match(accepted, { status: 202, body: { progress: { total: 100_001 } } })
  const { result, status } = await shop.finished(accepted.body)
  t.equal(status, 'done')
  t.match((await shop.get(`/api/v1/plans/${result.plan_id}/`)).body.summary, { added: 100_001 })
})
