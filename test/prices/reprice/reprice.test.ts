import t, { type Test } from 'tap'
import { anApiKey, withKey } from '../../helpers/api-keys.ts'
import { query } from '../../helpers/database.ts'
import { expectAllFaults, expectProblem, type Faults } from '../../helpers/faults.ts'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aList, aShop, rowsOf, setPrices } from '../../helpers/shop.ts'

const service = await sharedService()
const path = '/api/v1/prices/reprice/'
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "L" of A at 10 and B at 20, C without a price, D in France at 7; A, B and C cost 6 and 2, D costs 6. */
async function aPricedShop(t: Test, overrides: object = {}) {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C', 'D'], countries: ['UK', 'FR'] })
  const all = [...['A', 'B', 'C'].map(uk), { code: 'D', country: 'FR' }]
  await shop.post(
    '/api/v1/product_catalog/bulk_create_or_update/',
    all.map((product) => ({
      ...product,
      purchase: 6,
      ...(product.code !== 'D' && { freight: 2 }),
    })),
  )
  const list = await aList(shop, { name: 'L', ...overrides })
  await addProducts(shop, 'L', all)
  return { shop, list }
}

const prices = [
  { ...uk('A'), price: 10 },
  { ...uk('B'), price: 20 },
  { code: 'D', country: 'FR', price: 7 },
]

async function aRepricedShop(t: Test, overrides: object = {}) {
  const { shop, list } = await aPricedShop(t, overrides)
  await setPrices(shop, 'L', prices)
  return { shop, list, ...repricing(t, shop) }
}

function repricing(t: Test, shop: TestAccount) {
  const plan = async (formula: string, call: object = {}) => {
    const answer = await shop.post(path, { price_list_name: 'L', formula, ...call })
    t.equal(answer.status, 201, JSON.stringify(answer.body))
    t.equal(answer.headers.location, `/api/v1/plans/${answer.body.id}/`)
    return answer.body
  }
  const rows = async ({ id }: { id: number }) =>
    (await shop.get(`/api/v1/plans/${id}/rows/?limit=1000`)).body.results
  const priced = async (formula: string, call: object = {}) =>
    (await rows(await plan(formula, call))).map(
      ({ code, action, new: price, reason }: Record<string, unknown>) =>
        [code, action === 'price' ? price : reason] as const,
    )
  return { plan, rows, priced }
}

t.test('a reprice writes a plan, which an application turns into prices', async (t) => {
  const { shop, list, plan, rows } = await aRepricedShop(t)
  const { id, ...made } = await plan('= Price * 1.1')
  t.match(made, {
    status: 'open',
    operation: 'reprice',
    price_list_id: list.id,
    price_list_name: 'L',
    base_revision: 2,
    summary: { rows: 4, changed: 3, unchanged: 1, increases: 3, decreases: 0 },
    violations: { length: 0 },
  })
  t.match(await rows({ id }), [
    { ...uk('A'), action: 'price', old: 10, new: 11, change_percent: 10, inputs: { Price: 10 } },
    { ...uk('B'), action: 'price', old: 20, new: 22, change_percent: 10, inputs: { Price: 20 } },
    { ...uk('C'), action: 'none', reason: 'unchanged', old: null, new: null, inputs: { Price: 0 } },
    { code: 'D', country: 'FR', action: 'price', old: 7, new: 7.7, inputs: { Price: 7 } },
  ])
  t.match(
    (await rowsOf(shop, list)).map(({ prices }) => Object.values(prices)[0]),
    [10, 20, 0, 7],
    'nothing is written before',
  )
  const applied = await shop.post(`/api/v1/plans/${id}/apply/`, {})
  t.match(applied, { status: 201, headers: { 'price-list-revision': '3', 'skipped-rows': '0' } })
  t.equal(applied.body.length, 3)
  const revision = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(revision.body, { kind: 'reprice', plan_id: id, priced: 3 })
  t.match(
    (await rowsOf(shop, list)).map(({ prices }) => Object.values(prices)[0]),
    [11, 22, 0, 7.7],
  )
})

t.test('a result of 0 leaves what has no price without one', async (t) => {
  const { shop, plan } = await aRepricedShop(t, { hide_unpriced: true })
  const { id } = await plan('= Price * 2')
  t.equal((await shop.post(`/api/v1/plans/${id}/apply/`, {})).status, 201)
  const read = { price_list_name: 'L', payload: [uk('A'), uk('C')] }
  const { body } = await shop.post('/api/v1/prices/get_prices/', read)
  t.match(body, [{ code: 'A', active_price: 20 }])
  t.equal(body.length, 1)
})

t.test('what gets no new price says why', async (t) => {
  const { plan, rows, priced } = await aRepricedShop(t)
  t.strictSame(await priced('= COSTS + 2'), [
    ['A', 'unchanged'],
    ['B', 10],
    ['C', 10],
    ['D', 'no_value'],
  ])
  const negative = await plan('= Price - 8')
  t.match(negative.summary, { rows: 4, changed: 2, unchanged: 2, without_value: 2 })
  t.match(await rows(negative), [
    { new: 2 },
    { new: 12 },
    { action: 'none', reason: 'negative', old: null, new: null, inputs: { Price: 0 } },
    { action: 'none', reason: 'negative', old: 7, new: null, change_percent: null },
  ])
  t.strictSame((await priced('= 1000000000000000 * 10 + 1'))[0], ['A', 'too_large'])
  t.strictSame((await priced('= MAX(Price, COSTS)'))[3], ['D', 'no_value'], 'a floor stays')
})

t.test('inputs are the names in the formula with their values', async (t) => {
  const { plan, rows } = await aRepricedShop(t)
  const formula = '= MAX(price, d + "freight", costs, comp_min, IFNULL(sales_avg, 1)) + COMP_COUNT'
  const [first, , , last] = await rows(await plan(formula))
  const none = { COMP_MIN: null, COMP_COUNT: 0, SALES_AVG: null }
  t.strictSame(first.inputs, { Price: 10, D: 6, freight: 2, COSTS: 8, ...none })
  t.strictSame(last.inputs, { Price: 7, D: 6, freight: null, COSTS: null, ...none })
  t.strictSame((await rows(await plan('= 120')))[0].inputs, {})
})

t.test('the result rounds half up to decimals, 2 unless the call says otherwise', async (t) => {
  const { priced } = await aRepricedShop(t)
  const first = async (call: object) => (await priced('= 1.0050005 + 0 * Price', call))[0]
  t.strictSame(await first({}), ['A', 1.01])
  t.strictSame(await first({ decimals: 0 }), ['A', 1])
  t.strictSame(await first({ decimals: 3 }), ['A', 1.005])
  t.strictSame(await first({ decimals: 6 }), ['A', 1.005001])
  t.strictSame((await priced('= 1 / 3 * 0.015'))[0], ['A', 0.01], 'it is exact until then')
})

t.test('product_filters select rows', async (t) => {
  const { plan, priced } = await aRepricedShop(t)
  const codes = async (product_filters: object) =>
    (await priced('= 1', { product_filters })).map(([code]: [string]) => code)
  t.strictSame(await codes({}), ['A', 'B', 'C', 'D'])
  t.strictSame(await codes({ code: ['B', 'D', 'none'] }), ['B', 'D'])
  t.strictSame(await codes({ country: ['FR'] }), ['D'])
  t.strictSame(await codes({ description: ['about C'], country: ['UK'] }), ['C'])
  t.match((await plan('= 1', { product_filters: { code: [] } })).summary, { rows: 0, changed: 0 })
})

t.test('price_dimensions select prices', async (t) => {
  const { shop } = await aPricedShop(t, { price_dimensions: ['retail', 'web', 'trade'] })
  await setPrices(shop, 'L', [{ ...uk('A'), price_dimension: 'web', price: 3 }])
  const { plan, rows } = repricing(t, shop)
  const all = await rows(await plan('= Price + 1', { product_filters: { code: ['A'] } }))
  t.match(all, [
    { price_dimension: 'retail', old: null, new: 1 },
    { price_dimension: 'web', old: 3, new: 4 },
    { price_dimension: 'trade', old: null, new: 1 },
  ])
  const some = await plan('= Price + 1', { price_dimensions: ['trade', 'web'] })
  t.match(some.summary, { rows: 8 })
  t.match(await rows(some), [{ price_dimension: 'web' }, { price_dimension: 'trade' }])
})

t.test('dates select days of a calendar list', async (t) => {
  const { shop } = await aPricedShop(t, { is_calendar: true })
  await setPrices(shop, 'L', [{ ...uk('A'), date: '2026-02-28', price: 100 }])
  const { plan, rows } = repricing(t, shop)
  const days = async (dates: object) =>
    (await rows(await plan('= 120', { dates, product_filters: { code: ['A'] } }))).map(
      ({ date }: { date: string }) => date,
    )
  t.strictSame(await days({ from: '2026-02-27', to: '2026-03-01' }), [
    '2026-02-27',
    '2026-02-28',
    '2026-03-01',
  ])
  const weekends = { from: '2026-02-23', to: '2026-03-08', days_of_week: ['sun', 'sat'] }
  t.strictSame(await days(weekends), ['2026-02-28', '2026-03-01', '2026-03-07', '2026-03-08'])
  t.strictSame(await days({ ...weekends, to: '2026-02-27' }), [])
  t.equal((await days({ from: '2026-01-01', to: '2026-12-31' })).length, 365)
  const { id, summary } = await plan('= Price + 20', { dates: weekends })
  t.match(summary, { rows: 16, changed: 16, increases: 16, largest_increase_percent: 20 })
  t.equal((await shop.post(`/api/v1/plans/${id}/apply/`, {})).status, 201)
  t.match(await rows(await plan('= Price', { dates: weekends })), [
    { date: '2026-02-28', old: 120, reason: 'unchanged' },
    { date: '2026-03-01', old: 20, reason: 'unchanged' },
  ])
})

t.test('the days of a call may end with the last date there is', async (t) => {
  const { shop } = await aPricedShop(t, {
    is_calendar: true,
    valid_from: '9999-06-01',
    valid_to: '9999-12-31',
  })
  const { plan } = repricing(t, shop)
  const call = { dates: { from: '9999-12-30', to: '9999-12-31' } }
  t.match((await plan('= 1', { ...call, product_filters: { code: ['A'] } })).summary, { rows: 2 })
})

t.test('dates are required for a calendar list and refused for others', async (t) => {
  const { shop } = await aPricedShop(t, { is_calendar: true })
  await aList(shop, { name: 'plain' })
  await addProducts(shop, 'plain', [uk('A')])
  const refuse = async (call: object, faults: Faults) =>
    expectAllFaults(
      t,
      await shop.post(path, { price_list_name: 'L', formula: '= 1', ...call }),
      faults,
    )
  const dates = { from: '2026-01-01', to: '2026-12-31' }
  await refuse({}, [['/dates', 'required']])
  await refuse({ price_list_name: 'plain', dates }, [['/dates', 'not_allowed']])
  await refuse({ dates: { ...dates, from: '2025-12-31' } }, [
    ['/dates/from', 'date_outside_calendar'],
  ])
  await refuse({ dates: { ...dates, to: '2027-01-01' } }, [['/dates/to', 'date_outside_calendar']])
  await refuse({ dates: { from: '2026-02-02', to: '2026-02-01' } }, [['/dates/to', 'range']])
  await refuse({ dates: { from: '2026-02-01' } }, [['/dates/to', 'required']])
  await refuse({ dates: { ...dates, days_of_week: [] } }, [['/dates/days_of_week', 'length']])
  await refuse({ dates: { ...dates, days_of_week: ['monday'] } }, [
    ['/dates/days_of_week/0', 'not_allowed'],
  ])
})

t.test('a formula that takes too long is not called an unavailable database', async (t) => {
  const { shop } = await aPricedShop(t, { is_calendar: true })
  const dates = { from: '2026-01-01', to: '2026-12-31' }
  const formula = `= ${'COSTS / 3 * '.repeat(60)}COSTS`
  const call = shop.post(path, { price_list_name: 'L', formula, dates })
  const cancelling = `select pg_cancel_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%insert into plan_rows%' and pid <> pg_backend_pid()`
  let isDone = false
  const answered = call.finally(() => {
    isDone = true
  })
  while (!isDone) await query(service.url, cancelling)
  const answer = await answered
  t.match(answer, { status: 400, body: { type: 'too-costly', detail: /`Prefer: respond-async`/ } })
})

t.test('a faulty call names all of its faults', async (t) => {
  const { shop } = await aRepricedShop(t)
  const refuse = async (call: object, faults: Faults) =>
    expectAllFaults(
      t,
      await shop.post(path, { price_list_name: 'L', formula: '= 1', ...call }),
      faults,
    )
  await refuse(
    {
      formula: '= Z',
      product_filters: { color: ['red'], code: [1] },
      price_dimensions: ['none'],
    },
    [
      ['/formula', 'formula'],
      ['/product_filters/color', 'unknown_column'],
      ['/product_filters/code/0', 'type'],
      ['/price_dimensions/0', 'unknown_price_dimension'],
    ],
  )
  await refuse({ formula: undefined }, [['/formula', 'required']])
  await refuse({ formula: `= 1${' '.repeat(998)}` }, [['/formula', 'length']])
  await refuse({ price_dimensions: [] }, [['/price_dimensions', 'length']])
  await refuse({ price_dimensions: [1] }, [['/price_dimensions/0', 'type']])
  await refuse({ decimals: 7 }, [['/decimals', 'range']])
  await refuse({ decimals: 1, formula: '= ENDING(1, 0.99)' }, [['/formula', 'formula']])
  await refuse({ competition: { names: [] } }, [['/competition/names', 'length']])
  await refuse({ competition: { max_age_days: 3651 } }, [['/competition/max_age_days', 'range']])
  await refuse({ sales: { days: 366 } }, [['/sales/days', 'range']])
  await refuse({ sales: { days: 0 } }, [['/sales/days', 'range']])
  await refuse({ client_code: '1' }, [['/client_code', 'unknown_key']])
  await refuse({ price_list_name: undefined }, [['/price_list_name', 'required']])
  const { body } = await shop.post(path, { price_list_name: 'L', formula: '= Price > 3' })
  t.match(body.errors, [{ field: 'formula', message: /at character 9/ }])
})

t.test('the list is named by name or id', async (t) => {
  const { shop, list } = await aRepricedShop(t)
  const send = (call: object) => shop.post(path, { formula: '= 1', ...call })
  t.match(await send({ price_list_id: list.id }), { status: 201 })
  t.match(await send({ price_list_id: list.id, price_list_name: 'L' }), { status: 201 })
  expectAllFaults(t, await send({ price_list_id: list.id, price_list_name: 'M' }), [
    ['/price_list_id', 'conflicting_keys'],
  ])
  const missing = await send({ price_list_name: 'none' })
  expectProblem(t, missing, { status: 404, type: 'price-list-not-found' })
  await aList(shop, { name: 'draft' })
  const draft = await send({ price_list_name: 'draft' })
  expectProblem(t, draft, { status: 409, type: 'price-list-not-published' })
})

t.test('a list that was made elsewhere is 409, and no plan is made', async (t) => {
  const { shop, list } = await aRepricedShop(t)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  const refused = await shop.post(path, { price_list_name: 'L', formula: '= 1' })
  expectProblem(t, refused, { status: 409, type: 'price-list-not-managed' })
  t.equal((await shop.get('/api/v1/plans/')).body.count, 0)
})

t.test('the scope plan is needed and enough', async (t) => {
  const { shop } = await aRepricedShop(t)
  for (const [scopes, status] of [
    [['plan'], 201],
    [['write'], 201],
    [['read'], 403],
    [['admin'], 403],
  ] as const) {
    const program = withKey(shop, (await anApiKey(shop, { scopes })).key)
    const { status: answered } = await program.post(path, { price_list_name: 'L', formula: '= 1' })
    t.equal(answered, status, scopes.join())
  }
})

t.test('guardrails are told in the plan', async (t) => {
  const { shop, plan, rows } = await aRepricedShop(t, { guardrails: { max_increase_percent: 50 } })
  const made = await plan('= 16')
  t.strictSame(made.violations, [{ guardrail: 'max_increase_percent', rows: 2 }])
  t.strictSame(
    (await rows(made)).map(({ violations }: { violations: string[] }) => violations.length),
    [1, 0, 0, 1],
  )
  const refused = await shop.post(`/api/v1/plans/${made.id}/apply/`, {})
  expectProblem(t, refused, { status: 422, type: 'guardrail-violated' })
})

t.test('with Prefer: respond-async a job makes the plan', async (t) => {
  const { shop, rows } = await aRepricedShop(t)
  const headers = {
    prefer: 'respond-async',
    'change-note': 'spring',
    'idempotency-key': 'reprice 1',
  }
  const call = { price_list_name: 'L', formula: '= Price + 1', product_filters: { code: ['A'] } }
  const accepted = await shop.send('POST', path, call, headers)
  t.match(accepted, { status: 202, headers: { 'preference-applied': 'respond-async' } })
  t.equal(accepted.headers.location, `/api/v1/jobs/${accepted.body.id}/`)
  const again = await shop.send('POST', path, call, headers)
  t.match(again, { status: 202, body: accepted.body, headers: { 'idempotent-replayed': 'true' } })
  const job = await shop.finished(accepted.body)
  t.match(job, { status: 'done', kind: 'make-plan', progress: { total: 1, finished: 1 } })
  t.match((await shop.get(`/api/v1/plans/${job.result.plan_id}/`)).body, {
    operation: 'reprice',
    note: 'spring',
    summary: { rows: 1, changed: 1 },
  })
  t.match(await rows({ id: job.result.plan_id }), [{ ...uk('A'), old: 10, new: 11 }])
  const faulty = await shop.send(
    'POST',
    path,
    { ...call, formula: '= Z' },
    { ...headers, 'idempotency-key': '2' },
  )
  expectAllFaults(t, faulty, [['/formula', 'formula']])
})
