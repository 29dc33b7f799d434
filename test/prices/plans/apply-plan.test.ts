import t from 'tap'
import { anApiKey, withKey } from '../../helpers/api-keys.ts'
import { query } from '../../helpers/database.ts'
import { expectProblem } from '../../helpers/faults.ts'
import { inAMonth, makeDue } from '../../helpers/plans.ts'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf, setPrices } from '../../helpers/shop.ts'
import { select } from '../../helpers/sql.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const updates = '/api/v1/prices/bulk_update_prices/'

async function aPricedList(t: Parameters<typeof aShop>[0], overrides: object = {}, cost = 0) {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C'], countries: ['UK'] })
  const costs = ['A', 'B'].map((code) => ({ ...uk(code), purchase: cost, freight: 0 }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', costs)
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
    violations: { length: 0 },
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

t.test(
  'a price that the plan found as it was to be is stale, too, once it was changed',
  async (t) => {
    const { shop, planPrices, apply, pricesNow } = await aPricedList(t)
    const call = { price_list_name: 'L', formula: '=MAX(Price, 10)' }
    const { body: reprice } = await shop.post('/api/v1/prices/reprice/', call)
    const planned = await planPrices({ A: 10, B: 21 })
    await setPrices(shop, 'L', [{ ...uk('A'), price: 9 }])
    for (const { id, operation } of [reprice, planned]) {
      const refused = await apply(id)
      expectProblem(t, refused, { status: 409, type: 'plan-stale' })
      t.match(refused.body.errors, [{ cell: uk('A') }], operation)
    }
    const applied = await apply(planned.id, { skip: ['stale'] })
    t.match(applied, { status: 201, headers: { 'skipped-rows': '1' } })
    t.equal(applied.body.length, 1)
    t.strictSame(await pricesNow(), { A: 9, B: 21 })
  },
)

for (const is_calendar of [false, true])
  t.test(
    `a price of a row of a ${is_calendar ? 'calendar ' : ''}list that left and came back is stale`,
    async (t) => {
      const { shop, list, apply } = await aPricedList(t)
      const { id, name } = is_calendar ? await aList(shop, { name: 'days', is_calendar }) : list
      const day = is_calendar ? { date: '2026-03-01' } : {}
      const named = { price_list_name: name }
      await addProducts(shop, name, [uk('C')])
      const payload = [{ ...uk('C'), ...day, price: 60 }]
      const plan = await shop.post(`${updates}?plan=true`, { ...named, payload })
      const removal = { ...named, payload: [uk('C')] }
      const removed = await shop.post('/api/v1/prices/bulk_remove_products/', removal)
      const revision = Number(removed.headers['price-list-revision'])
      t.equal((await shop.post(`/api/v1/price_list/${id}/revert/`, { revision })).status, 201)
      expectProblem(t, await apply(plan.body.id), { status: 409, type: 'plan-stale' })
      const skipped = await apply(plan.body.id, { skip: ['stale'] })
      t.match(skipped, { status: 201, headers: { 'skipped-rows': '1' } })
    },
  )

t.test('the average change is rounded once', async (t) => {
  const { shop, planPrices } = await aPricedList(t)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 1.5 }])
  await setPrices(shop, 'L', [{ ...uk('B'), price: 10 }])
  const { summary } = await planPrices({ A: 10, B: 2.25 })
  t.equal(summary.average_change_percent, 244.583333)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 0.000201 }])
  const large = await planPrices({ A: 1005.000394 })
  t.match(large.summary, {
    average_change_percent: 500_000_096.0199,
    largest_increase_percent: 500_000_096.0199,
  })
  await addProducts(shop, 'L', [uk('C')])
  await setPrices(
    shop,
    'L',
    Object.entries({ A: 3, B: 9, C: 1e6 }).map(([code, price]) => ({ ...uk(code), price })),
  )
  const tie = await planPrices({ A: 4, B: 15, C: 1_200_000.015 })
  t.equal(tie.summary.average_change_percent, 40.000001, 'of 100/3, 200/3 and 20.0000015')
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
  t.match(synced.body, { added: { length: 0 }, removed: [ids.body[1] + 1] })
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

t.test('a plan without products publishes nothing, as the call itself', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const add = '/api/v1/prices/bulk_add_products/'
  const body = { price_list_name: 'L', payload: [] }
  const unpublished = { status: 201, body: { length: 0 }, headers: { 'price-list-revision': '0' } }
  t.match(await shop.post(add, body), unpublished)
  const { body: plan } = await shop.post(`${add}?plan=true`, body)
  t.match(await shop.post(`/api/v1/plans/${plan.id}/apply/`, {}), unpublished)
  t.match((await shop.get(`/api/v1/price_list/${id}/`)).body, { is_published: false })
  t.match((await shop.get(`/api/v1/plans/${plan.id}/`)).body, { status: 'applied' })
})

t.test('a price that a revert takes away falls, to none', async (t) => {
  const { shop, list } = await aPricedList(t)
  const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
  const { body } = await shop.post(path, { revision: 2 })
  t.match(body.summary, { changed: 2, increases: 0, decreases: 2, largest_decrease_percent: null })
})

t.test('a plan of a revert that leaves conflicts out counts them as the call does', async (t) => {
  const { shop, list, apply, pricesNow } = await aPricedList(t)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 11 }])
  const path = `/api/v1/price_list/${list.id}/revert/`
  const body = { revision: 2, on_conflict: 'skip' }
  const plan = await shop.post(`${path}?plan=true`, body)
  t.match(plan.body, { skipped: 1, summary: { rows: 1 } })
  const applied = { priced: 1, added: 0, removed: 0, skipped: 1 }
  t.match(await apply(plan.body.id), { status: 201, body: applied })
  t.match(await pricesNow(), { A: 11, B: 0 })
})

t.test('a plan of a revert is stale where a price was changed since', async (t) => {
  const { shop, list, apply, pricesNow } = await aPricedList(t)
  const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
  const { body } = await shop.post(path, { revision: 2 })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 11 }])
  const refused = await apply(body.id)
  expectProblem(t, refused, { status: 409, type: 'plan-stale' })
  t.match(refused.body.errors, [{ code: 'stale', cell: uk('A') }])
  t.match(await apply(body.id, { skip: ['stale'] }), { body: { priced: 1, skipped: 1 } })
  t.strictSame(await pricesNow(), { A: 11, B: 0 })
})

t.test('a plan of a revert brings back no row that it did not show', async (t) => {
  const { shop, list, apply, pricesNow } = await aPricedList(t)
  const removal = { price_list_name: 'L', payload: ['A', 'B'].map(uk) }
  await shop.post('/api/v1/prices/bulk_remove_products/', removal)
  const setActive = (active: boolean) =>
    shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('A'), active }])
  await setActive(false)
  const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
  const { body } = await shop.post(path, { revision: 3, on_conflict: 'skip' })
  await setActive(true)
  t.match(await apply(body.id), { status: 201, body: { added: 1, skipped: 1 } })
  t.strictSame(await pricesNow(), { B: 20 })
})

t.test(
  'a plan of a revert that sets prices of over 100 products is applied by a job',
  async (t) => {
    const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
    const { shop, list } = await aFilledList(t, service, { codes })
    const payload = codes.map((code) => ({ ...uk(code), price: 3 }))
    await setPrices(shop, 'L', payload)
    const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
    const { body: plan } = await shop.post(path, { revision: 2 })
    const { body: job } = await shop.post(`/api/v1/plans/${plan.id}/apply/`, {})
    t.match(await shop.finished(job), {
      kind: 'apply-plan',
      status: 'done',
      result: { priced: 101 },
    })
  },
)

t.test(
  'a plan of a revert is applied by a job above 100 products, not above 100 days',
  async (t) => {
    const { shop, apply } = await aPricedList(t)
    const list = await aList(shop, { name: 'days', is_calendar: true })
    await addProducts(shop, 'days', [uk('A')])
    const days = Array.from({ length: 101 }, (_, day) => ({
      ...{ ...uk('A'), price: 5 },
      date: new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
    }))
    await setPrices(shop, 'days', days)
    const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
    const { body } = await shop.post(path, { revision: 2 })
    t.match(body, { summary: { changed: 101 } })
    t.match(await apply(body.id), { status: 201, body: { priced: 101 } })
  },
)

t.test('a revert is not stale for a row that came and went before it was planned', async (t) => {
  const { shop, list, apply, pricesNow } = await aPricedList(t)
  const remove = () =>
    shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload: [uk('A')] })
  await remove()
  await addProducts(shop, 'L', [uk('A'), uk('C')])
  await remove()
  const plan = await shop.post(`/api/v1/price_list/${list.id}/revert/?plan=true`, {
    to_revision: 2,
  })
  t.match(plan.body.summary, { rows: 2, added: 1, removed: 1 })
  await setPrices(shop, 'L', [{ ...uk('B'), price: 21 }])
  t.match(await apply(plan.body.id), { status: 201, body: { added: 1, removed: 1, skipped: 0 } })
  t.strictSame(await pricesNow(), { A: 10, B: 21 })
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

t.test('a plan of a list that another system has taken over is refused', async (t) => {
  const { list, planPrices, apply, pricesNow } = await aPricedList(t)
  const before = await pricesNow()
  const { id } = await planPrices({ A: 77 })
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  expectProblem(t, await apply(id), { status: 409, type: 'price-list-not-managed' })
  t.strictSame(await pricesNow(), before)
})

t.test('a scheduled plan is applied at its moment', async (t) => {
  const { shop, planPrices, pricesNow } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  const at = new Date(Date.now() + 2000).toISOString()
  const noted = { 'change-note': 'agreed' }
  t.match(await shop.send('POST', `/api/v1/plans/${id}/apply/`, { at }, noted), {
    status: 201,
    body: { status: 'scheduled', apply_at: at, note: 'agreed' },
  })
  const deadline = Date.now() + 20_000
  while (
    (await shop.get(`/api/v1/plans/${id}/`)).body.status === 'scheduled' &&
    Date.now() < deadline
  )
    await new Promise((next) => setTimeout(next, 100))
  const plan = (await shop.get(`/api/v1/plans/${id}/`)).body
  t.match(plan, { status: 'applied', revision: 3, note: 'agreed' })
  t.strictSame(await pricesNow(), { A: 11, B: 20 })
})

/** Waits until a scheduled plan has ended. */
async function ended(shop: TestAccount, id: number) {
  const deadline = Date.now() + 20_000
  for (;;) {
    const { body } = await shop.get(`/api/v1/plans/${id}/`)
    if (body.status !== 'scheduled' || Date.now() > deadline) return body
    await new Promise((next) => setTimeout(next, 100))
  }
}

t.test('a plan that is refused at its moment has failed, and says why', async (t) => {
  const { shop, planPrices, apply, pricesNow } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  await apply(id, { at: inAMonth() })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 12 }])
  await makeDue(service.url, id)
  t.match(await ended(shop, id), {
    status: 'failed',
    error: { type: 'plan-stale', status: 409, error_count: 1, errors: [{ cell: uk('A') }] },
  })
  t.match(await pricesNow(), { A: 12 })
})

t.test('a scheduled plan keeps the override and note of who scheduled it', async (t) => {
  const { shop, list, planPrices, pricesNow } = await aPricedList(t, {
    guardrails: { max_decrease_percent: 30 },
  })
  const { id } = await planPrices({ A: 5 })
  const headers = { 'override-guardrails': 'sale', 'change-note': 'agreed' }
  await shop.send('POST', `/api/v1/plans/${id}/apply/`, { at: inAMonth() }, headers)
  await makeDue(service.url, id)
  t.match(await ended(shop, id), { status: 'applied', revision: 3 })
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(body, { override: 'sale', note: 'agreed' })
  t.match(await pricesNow(), { A: 5 })
})

t.test('a scheduled plan skips what it was told to', async (t) => {
  const { shop, planPrices, apply, pricesNow } = await aPricedList(t)
  const { id } = await planPrices({ A: 11, B: 21 })
  await apply(id, { at: inAMonth(), skip: ['stale'] })
  expectProblem(t, await apply(id), { status: 409, type: 'plan-not-open' })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 12 }])
  await makeDue(service.url, id)
  t.match(await ended(shop, id), { status: 'applied', skipped: 1 })
  t.match(await pricesNow(), { A: 12, B: 21 })
  const { results } = (await shop.get('/api/v1/jobs/')).body
  const job = results.find(({ kind }: { kind: string }) => kind === 'apply-plan')
  t.match((await shop.get(`/api/v1/jobs/${job.id}/`)).body, {
    status: 'done',
    result: { skipped: 1 },
    revision: 4,
  })
})

t.test('plans are applied in the order of their moments', async (t) => {
  const { shop, planPrices, apply, pricesNow } = await aPricedList(t)
  const ids: number[] = []
  // Each makes the others stale, so that only the first is applied.
  for (const price of [12, 13, 14, 15, 16, 17]) {
    const { id } = await planPrices({ A: price })
    await apply(id, { at: inAMonth(), skip: ['stale'] })
    ids.unshift(id)
  }
  await makeDue(service.url, ...ids)
  for (const id of ids) t.match(await ended(shop, id), { status: 'applied' })
  t.match(await pricesNow(), { A: 17 })
})

t.test('a plan that was put off or deleted holds up no other', async (t) => {
  const { shop, planPrices, apply } = await aPricedList(t)
  const [late, gone, due] = [
    await planPrices({ A: 11 }),
    await planPrices({ A: 12 }),
    await planPrices({ B: 21 }),
  ]
  const at = new Date(Date.now() + 2000).toISOString()
  for (const { id } of [late, gone, due])
    t.match(await apply(id, { at }), { body: { status: 'scheduled' } })
  await query(
    service.url,
    `update plans set apply_at = now() + interval '1 day' where id = ${late.id};
     delete from plan_rows where plan_id = ${gone.id}; delete from plans where id = ${gone.id}`,
  )
  t.match(await ended(shop, due.id), { status: 'applied' })
  const slots = `select from pgboss.job where name = 'plan' and state <> 'completed'
    and (data ->> 'plan')::bigint in (${late.id}, ${gone.id}, ${due.id})`
  while ((await select(service.url, slots)).length > 0);
  t.match((await shop.get(`/api/v1/plans/${late.id}/`)).body, { status: 'scheduled' })
})

t.test('a plan that expired before its moment was seen is not applied', async (t) => {
  const { shop, planPrices, apply } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  await apply(id, { at: inAMonth() })
  await query(service.url, `update plans set expires_at = now() where id = ${id}`)
  await makeDue(service.url, id)
  const slot = `select from pgboss.job where name = 'plan' and state <> 'completed'
    and (data ->> 'plan')::bigint = ${id}`
  while ((await select(service.url, slot)).length > 0);
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'expired' })
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 0)
})

t.test('a plan whose job was given up is open again', async (t) => {
  const { shop, list, planPrices, apply, pricesNow } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  await query(
    service.url,
    `update plans set status = 'scheduled', apply_at = now(), call = call || '{"hasJob": true}' where id = ${id};
     insert into jobs (account_id, price_list_id, kind, status, total, query, origin, finished_at)
       values (${shop.id}, ${list.id}, 'apply-plan', 'failed', 1, '{"plan_id": ${id}}', '{}', now())`,
  )
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'open', apply_at: undefined })
  t.match((await shop.get('/api/v1/plans/?status=open')).body, { count: 1 })
  t.match(await apply(id), { status: 201 })
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'applied', apply_at: undefined })
  t.match(await pricesNow(), { A: 11 })
})

t.test('a moment in the past or far ahead is refused', async (t) => {
  const { planPrices, apply } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  for (const days of [-1, 401]) {
    const at = new Date(Date.now() + days * 86_400_000).toISOString()
    const { status, body } = await apply(id, { at })
    t.match(
      { status, body },
      { status: 400, body: { errors: [{ pointer: '/at', code: 'range' }] } },
    )
  }
  for (const skip of [['all'], ['stale', 'stale'], 'stale'])
    t.equal((await apply(id, { skip })).status, 400)
})

t.test('a scheduled plan expires 7 days after its moment', async (t) => {
  const { planPrices, apply } = await aPricedList(t)
  const { id } = await planPrices({ A: 11 })
  const at = new Date(Date.now() + 30 * 86_400_000).toISOString()
  const { body } = await apply(id, { at })
  t.equal(Date.parse(body.expires_at) - Date.parse(body.apply_at), 7 * 86_400_000)
})

t.test('what is stale comes before what violates', async (t) => {
  const { shop, list, planPrices, apply } = await aPricedList(t)
  const { id } = await planPrices({ A: 30, B: 60 })
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, { guardrails: { max_price: 25 } })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 11 }])
  expectProblem(t, await apply(id), { status: 409, type: 'plan-stale' })
  const refused = await apply(id, { skip: ['stale'] })
  expectProblem(t, refused, { status: 422, type: 'guardrail-violated' })
  t.match(refused.body.errors, [{ pointer: '', code: 'max_price', cell: uk('B') }])
  const none = await apply(id, { skip: ['stale', 'violations'] })
  t.match(none, { status: 201, headers: { 'skipped-rows': '2', 'price-list-revision': '3' } })
  const applied = (await shop.get(`/api/v1/plans/${id}/`)).body
  t.match(applied, { status: 'applied', revision: undefined }, 'it made none')
})

t.test('the margin guardrail takes the cost of now', async (t) => {
  const { shop, planPrices, apply } = await aPricedList(
    t,
    { guardrails: { min_margin_percent: 10 } },
    5,
  )
  const { id, violations } = await planPrices({ A: 11 })
  t.strictSame(violations, [])
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
    { ...uk('A'), purchase: 10.5, freight: 0 },
  ])
  const refused = await apply(id)
  expectProblem(t, refused, { status: 422, type: 'guardrail-violated' })
  t.match(refused.body.errors, [{ code: 'min_margin_percent' }])
})

t.test('rows that came, left or are otherwise in the catalog are stale', async (t) => {
  const { shop, plan, apply } = await aPricedList(t)
  const catalog = '/api/v1/product_catalog/bulk_create_or_update/'
  const add = { payload: [uk('C')] }
  const path = '/api/v1/prices/bulk_add_products/'
  const first = await plan(path, add)
  const second = await plan(path, add)
  await shop.post(catalog, [{ ...uk('C'), active: false }])
  expectProblem(t, await apply(first.id), { status: 409, type: 'plan-stale' })
  await shop.post(catalog, [{ ...uk('C'), active: true }])
  t.match(await apply(first.id), { status: 201, headers: { 'price-list-revision': '3' } })
  expectProblem(t, await apply(second.id), { status: 409, type: 'plan-stale' })
  await shop.post(catalog, [{ ...uk('B'), active: false }])
  const sync = await plan('/api/v1/prices/sync_with_catalog/', {})
  t.match(sync.summary, { removed: 1 })
  await shop.post(catalog, [{ ...uk('B'), active: true }])
  expectProblem(t, await apply(sync.id), { status: 409, type: 'plan-stale' })
  const skipped = await apply(sync.id, { skip: ['stale'] })
  t.match(skipped, {
    status: 201,
    headers: { 'skipped-rows': '1' },
    body: { removed: { length: 0 } },
  })
})

t.test('prices of several dimensions and of days are planned and applied', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const lists: [object, object[]][] = [
    [
      { name: 'two', price_dimensions: ['x', 'y'] },
      [{ price_dimension: 'x' }, { price_dimension: 'y' }],
    ],
    [{ name: 'days', is_calendar: true }, [{ date: '2026-01-31' }, { date: '2026-02-01' }]],
  ]
  for (const [overrides, places] of lists) {
    const { name } = await aList(shop, overrides as Record<string, unknown>)
    await addProducts(shop, name, [uk('A')])
    const payload = places.map((place, index) => ({ ...uk('A'), ...place, price: index + 1 }))
    const { body } = await shop.post(`${updates}?plan=true`, { price_list_name: name, payload })
    const rows = (await shop.get(`/api/v1/plans/${body.id}/rows/`)).body.results
    t.match(
      rows,
      places.map((place, index) => ({ ...place, action: 'price', new: index + 1 })),
    )
    await setPrices(shop, name, [payload[0] as object])
    const apply = (skip: string[]) => shop.post(`/api/v1/plans/${body.id}/apply/`, { skip })
    t.match(await apply([]), { status: 409, body: { errors: [{ cell: places[0] }] } })
    t.match(await apply(['stale']), { status: 201, headers: { 'skipped-rows': '1' } })
    const read = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: name,
      payload: places.map((place) => ({ ...uk('A'), ...place })),
    })
    t.match(read.body, [{ active_price: 1 }, { active_price: 2 }])
  }
})

t.test('a file is planned, at once and by a job', async (t) => {
  const { shop, apply, pricesNow } = await aPricedList(t)
  const send = (headers: object, price: number) =>
    shop.send(
      'POST',
      `${updates}?price_list_name=L&plan=true`,
      `code,country,price\nA,UK,${price}\n`,
      {
        'content-type': 'text/csv',
        ...headers,
      },
    )
  const made = await send({}, 11)
  t.match(made, { status: 201, body: { summary: { rows: 1, changed: 1 } } })
  t.equal((await apply(made.body.id)).status, 201)
  const job = await send({ prefer: 'respond-async' }, 12)
  t.equal(job.status, 202)
  const { result } = await shop.finished(job.body)
  t.equal((await apply(result.plan_id)).status, 201)
  t.match(await pricesNow(), { A: 12 })
})

t.test('above 100 products a job applies a plan, and answers what the call would', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const sync = '/api/v1/prices/sync_with_catalog/?plan=true'
  const { body } = await shop.post(sync, { price_list_name: 'L' })
  const started = await shop.post(`/api/v1/plans/${body.id}/apply/`, {})
  t.match(started, { status: 201, body: { resource_type: 'published-price-list' } })
  const { result, revision } = await shop.finished(started.body)
  t.match(result, { removed: { length: 0 }, untouched: { length: 0 }, skipped: 0 })
  t.equal(result.added.length, 101)
  t.equal(revision, 1)
  t.match((await shop.get(`/api/v1/plans/${body.id}/`)).body, { status: 'applied', revision: 1 })
  const made = await shop.send('POST', sync, { price_list_name: 'L' }, { prefer: 'respond-async' })
  t.match(made, { status: 202, headers: { 'preference-applied': 'respond-async' } })
  const planned = await shop.finished(made.body)
  t.match((await shop.get(`/api/v1/plans/${planned.result.plan_id}/`)).body, {
    operation: 'sync',
    price_list_id: list.id,
    summary: { unchanged: 101 },
  })
})

t.test('a plan is open again when the job that applies it is refused', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const body = { price_list_name: 'L', payload: codes.map(uk) }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_add_products/?plan=true', body)
  await addProducts(shop, 'L', [uk('P7')])
  const path = `/api/v1/plans/${plan.id}/`
  const refused = await shop.finished((await shop.post(`${path}apply/`, {})).body)
  t.match(refused, { status: 'failed', errors: [{ code: 'stale' }] })
  t.equal((await shop.get(path)).body.status, 'open')
  const again = await shop.post(`${path}apply/`, { skip: ['stale'] })
  t.match(await shop.finished(again.body), { status: 'done', result: { rows: 100, skipped: 1 } })
  t.equal((await shop.get(path)).body.status, 'applied')
})

t.test('plans need the scope plan, their application write', async (t) => {
  const { shop, planPrices } = await aPricedList(t)
  const { key: planner } = await anApiKey(shop, { scopes: ['plan'] })
  const { key: reader } = await anApiKey(shop, { scopes: ['read'] })
  const body = { price_list_name: 'L', payload: [{ ...uk('A'), price: 11 }] }
  const own = withKey(shop, planner)
  const made = await own.post(`${updates}?plan=true`, body)
  t.match(made, { status: 201, body: { actor: { type: 'api_key' } } })
  t.equal((await own.post(updates, body)).status, 403)
  t.equal((await own.post(`/api/v1/plans/${made.body.id}/apply/`, {})).status, 403)
  t.equal((await own.send('DELETE', `/api/v1/plans/${made.body.id}/`)).status, 204)
  const { id } = await planPrices({ A: 11 })
  const other = withKey(shop, reader)
  t.equal((await other.get(`/api/v1/plans/${id}/`)).status, 200)
  t.equal((await other.post(`${updates}?plan=true`, body)).status, 403)
  t.equal((await other.send('DELETE', `/api/v1/plans/${id}/`)).status, 403)
})

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

t.test('a plan overwrites no price that was confirmed by a later observation', async (t) => {
  const { shop, plan, apply, pricesNow } = await aPricedList(t)
  const update = (body: object) => shop.post(updates, { price_list_name: 'L', ...body })
  await update({ observed_at: ago(0), payload: [{ ...uk('B'), price: 20 }] })
  await shop.post('/api/v1/prices/bulk_remove_products/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  await addProducts(shop, 'L', [uk('A')])
  const body = {
    observed_at: ago(-0.02),
    payload: [
      { ...uk('A'), price: 11 },
      { ...uk('B'), price: 20 },
    ],
  }
  const { id } = await plan(updates, body)
  const later = [{ ...uk('B'), price: 20 }]
  t.equal((await update({ observed_at: ago(-0.04), payload: later })).status, 201)
  t.equal((await apply(id)).status, 201, 'unless the plan leaves it as it is')
  t.match(await pricesNow(), { A: 11, B: 20 })
  const other = await plan(updates, {
    observed_at: ago(-0.05),
    payload: [{ ...uk('B'), price: 21 }],
  })
  t.equal((await update({ observed_at: ago(-0.07), payload: later })).status, 201)
  expectProblem(t, await apply(other.id), { status: 409, type: 'plan-stale' })
  t.match(await pricesNow(), { B: 20 })
})

t.test('a confirmation that ended before the plan was made leaves it fresh', async (t) => {
  const { shop, plan, apply, pricesNow } = await aPricedList(t)
  const payload = [{ ...uk('A'), price: 10 }]
  await shop.post(updates, { price_list_name: 'L', observed_at: ago(-0.07), payload })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 11 }])
  const body = { observed_at: ago(-0.02), payload: [{ ...uk('A'), price: 12 }] }
  const { id } = await plan(updates, body)
  t.equal((await apply(id)).status, 201)
  t.match(await pricesNow(), { A: 12 })
})

t.test('applying a plan confirms the prices that it leaves as they are', async (t) => {
  const { shop, plan, apply } = await aPricedList(t)
  const body = {
    observed_at: ago(-0.04),
    payload: [
      { ...uk('A'), price: 10 },
      { ...uk('B'), price: 20 },
    ],
  }
  const { id } = await plan(updates, body)
  const update = (code: string, observed_at: string) =>
    shop.post(updates, { price_list_name: 'L', observed_at, payload: [{ ...uk(code), price: 30 }] })
  t.equal((await update('A', ago(-0.02))).status, 201, 'making it confirms nothing')
  t.match(await apply(id, { skip: ['stale'] }), { status: 201, headers: { 'skipped-rows': '1' } })
  t.equal((await update('A', ago(-0.03))).status, 201, 'nor applying it what has changed')
  t.equal((await update('B', ago(-0.03))).status, 409)
})

t.test('a plan tells how many stale rows were left out when it was made, and after', async (t) => {
  const { shop, plan, apply, planPrices } = await aPricedList(t)
  const payload = [
    { ...uk('A'), price: 11, expected_price: 99 },
    { ...uk('B'), price: 22 },
  ]
  const made = await plan(updates, { on_stale: 'skip', payload })
  t.match([made.summary.rows, made.skipped], [1, 1])
  await apply((await planPrices({ B: 21 })).id)
  await apply(made.id, { skip: ['stale'] })
  t.equal((await shop.get(`/api/v1/plans/${made.id}/`)).body.skipped, 2)
})

t.test('a plan keeps what the sender saw', async (t) => {
  const { shop, list, plan, apply } = await aPricedList(t)
  const observed_at = new Date(Date.now() + 60_000).toISOString()
  const { id } = await plan(updates, { observed_at, payload: [{ ...uk('A'), price: 11 }] })
  await apply(id)
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(body, { observed_at, plan_id: id })
})
