import t from 'tap'
import { expectProblem } from '../../helpers/faults.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aList, aShop, rowsOf, setPrices } from '../../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const updates = '/api/v1/prices/bulk_update_prices/'

async function aPricedList(t: Parameters<typeof aShop>[0], overrides: object = {}) {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', ...overrides })
  await addProducts(shop, 'L', ['A', 'B'].map(uk))
  await setPrices(shop, 'L', [
    { ...uk('A'), price: 10 },
    { ...uk('B'), price: 20 },
  ])
  const plan = async (path: string, body: object) => {
    const answer = await shop.post(`${path}?plan=true`, { price_list_name: 'L', ...body })
    t.equal(answer.status, 201, JSON.stringify(answer.body))
    t.equal(answer.headers.location, `/api/v1/plans/${answer.body.id}/`)
    return answer.body
  }
  const planPrices = (prices: Record<string, number>) =>
    plan(updates, {
      payload: Object.entries(prices).map(([code, price]) => ({ ...uk(code), price })),
    })
  const apply = (id: number, body: object = {}) => shop.post(`/api/v1/plans/${id}/apply/`, body)
  const pricesNow = async () =>
    Object.fromEntries(
      (await rowsOf(shop, list)).map(({ code, prices }) => [
        code,
        prices.base ?? Object.values(prices)[0],
      ]),
    )
  return { shop, list, plan, planPrices, apply, pricesNow }
}

t.test('a plan of prices writes nothing until it is applied', async (t) => {
  const { shop, list, planPrices, apply, pricesNow } = await aPricedList(t)
  const { id, ...plan } = await planPrices({ A: 11, B: 20 })
  t.match(plan, {
    status: 'open',
    operation: 'update_prices',
    price_list_id: list.id,
    price_list_name: 'L',
    base_revision: 2,
    summary: {
      rows: 2,
      changed: 1,
      unchanged: 1,
      increases: 1,
      decreases: 0,
      average_change_percent: 10,
    },
    violations: [],
  })
  t.strictSame(await pricesNow(), { A: 10, B: 20 })
  const rows = await shop.get(`/api/v1/plans/${id}/rows/`)
  t.match(rows.body, {
    count: 2,
    results: [
      { ...uk('A'), action: 'price', old: 10, new: 11, change_percent: 10 },
      { ...uk('B'), action: 'none', reason: 'unchanged', old: 20, new: 20 },
    ],
  })
  const answer = await apply(id)
  t.match(answer, { status: 201, headers: { 'price-list-revision': '3', 'skipped-rows': '0' } })
  t.equal(answer.body.length, 2)
  t.strictSame(await pricesNow(), { A: 11, B: 20 })
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'applied', revision: 3 })
  const revision = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(revision.body, { kind: 'update_prices', plan_id: id, priced: 1 })
  expectProblem(t, await apply(id), { status: 409, type: 'plan-not-open' })
})

t.test('a price that was changed since is stale, nothing else of the list matters', async (t) => {
  const { planPrices, apply, pricesNow, shop } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  await setPrices(shop, 'L', [{ ...uk('B'), price: 21 }])
  t.equal((await apply(id)).status, 201)
  const second = await planPrices({ A: 12, B: 22 })
  for (const price of [5, 21]) await setPrices(shop, 'L', [{ ...uk('B'), price }])
  const refused = await apply(second.id)
  expectProblem(t, refused, { status: 409, type: 'plan-stale' })
  t.match(refused.body.errors, [{ pointer: '', code: 'stale', cell: uk('B') }])
  t.strictSame(await pricesNow(), { A: 11, B: 21 })
  const applied = await apply(second.id, { skip: ['stale'] })
  t.match(applied, { status: 201, headers: { 'skipped-rows': '1' } })
  t.strictSame(await pricesNow(), { A: 12, B: 21 })
})

t.test('products, a sync and a revert are planned and applied', async (t) => {
  const { shop, list, plan, apply, pricesNow } = await aPricedList(t)
  const added = await plan('/api/v1/prices/bulk_add_products/', { payload: [uk('C'), uk('A')] })
  t.match(added, { operation: 'add_products', summary: { rows: 2, added: 1, unchanged: 1 } })
  const ids = await apply(added.id)
  t.match(ids, { status: 201 })
  t.equal(ids.body.length, 2)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('B'), active: false }])
  const sync = await plan('/api/v1/prices/sync_with_catalog/', {})
  t.match(sync, { operation: 'sync', summary: { rows: 3, removed: 1, unchanged: 2 } })
  const synced = await apply(sync.id)
  t.match(synced, { status: 201 })
  t.match(synced.body, { added: [], removed: [ids.body[1] + 1] })
  t.strictSame(await pricesNow(), { A: 10, C: 0 })
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('B'), active: true }])
  const revert = await shop.post(`/api/v1/price_list/${list.id}/revert/?plan=true`, {
    to_revision: 2,
  })
  t.match(revert.body, { operation: 'revert', summary: { added: 1, removed: 1 } })
  t.match(await apply(revert.body.id), {
    status: 201,
    body: { added: 1, removed: 1, priced: 0, skipped: 0 },
  })
  t.strictSame(await pricesNow(), { A: 10, B: 20 })
})

t.test('guardrails are checked by plans, applications and writes', async (t) => {
  const { shop, planPrices, apply, pricesNow } = await aPricedList(t, {
    guardrails: { max_increase_percent: 10, min_price: 5 },
  })
  const direct = await shop.post(updates, {
    price_list_name: 'L',
    payload: [
      { ...uk('B'), price: 20 },
      { ...uk('A'), price: 4 },
    ],
  })
  expectProblem(t, direct, { status: 422, type: 'guardrail-violated' })
  t.match(direct.body.errors, [{ pointer: '/payload/1', row: 1, code: 'min_price' }])
  const file = await shop.send(
    'POST',
    `${updates}?price_list_name=L`,
    'code,country,price\nB,UK,20\nA,UK,12\n',
    { 'content-type': 'text/csv' },
  )
  t.match(file.body, {
    type: 'guardrail-violated',
    errors: [{ pointer: '/1', line: 3, code: 'max_increase_percent' }],
  })
  const { id, violations } = await planPrices({ A: 12, B: 21 })
  t.strictSame(violations, [{ guardrail: 'max_increase_percent', rows: 1 }])
  expectProblem(t, await apply(id), { status: 422, type: 'guardrail-violated' })
  t.match(await apply(id, { skip: ['violations'] }), {
    status: 201,
    headers: { 'skipped-rows': '1' },
  })
  t.strictSame(await pricesNow(), { A: 10, B: 21 })
  const body = { price_list_name: 'L', payload: [{ ...uk('A'), price: 4 }] }
  const forced = await shop.send('POST', updates, body, { 'override-guardrails': 'sale' })
  t.equal(forced.status, 201)
})

t.test('a scheduled plan is applied at its moment', async (t) => {
  const { shop, planPrices, apply, pricesNow } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  const at = new Date(Date.now() + 2000).toISOString()
  t.match(await apply(id, { at }), { status: 201, body: { status: 'scheduled', apply_at: at } })
  const deadline = Date.now() + 20_000
  while (
    (await shop.get(`/api/v1/plans/${id}/`)).body.status === 'scheduled' &&
    Date.now() < deadline
  )
    await new Promise((next) => setTimeout(next, 100))
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'applied', revision: 3 })
  t.strictSame(await pricesNow(), { A: 11, B: 20 })
})
