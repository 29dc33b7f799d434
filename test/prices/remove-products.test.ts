import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { someCodes } from '../helpers/jobs.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import {
  addProducts,
  aFilledList,
  aList,
  aShop,
  aShopOf,
  rowsOf,
  setPrices,
} from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_remove_products/'
const service = await sharedService()
/** Accepts jobs and runs none. */
const idle = await startTestService(t, { ROLE: 'api' })

const codesOf = (rows: { code: string }[]) => rows.map(({ code }) => code)
const remove = (...codes: string[]) => ({ price_list_name: 'L', payload: codes.map(uk) })

t.test('removes rows from both versions, and answers their ids in payload order', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const [a, b] = await rowsOf(shop, list)
  const payload = [uk('B'), { code: 'A', extensions: { country: 'UK' } }]
  const answer = await shop.post(path, { price_list_name: 'L', payload })
  t.strictSame([answer.status, answer.body], [201, [b.pk, a.pk]])
  t.equal(answer.headers['price-list-revision'], '3')
  t.strictSame(codesOf(await rowsOf(shop, list)), ['C'])
  t.strictSame(codesOf(await rowsOf(shop, list, 'version=draft')), ['C'])
})

t.test('a product that is not in the list is no error, also one that there is not', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const [a] = await rowsOf(shop, list)
  const first = await shop.post(path, remove('nowhere', 'D', 'A'))
  t.strictSame([first.status, first.body], [201, [a.pk]])
  const again = await shop.post(path, remove('nowhere', 'D', 'A'))
  t.strictSame([again.status, again.body], [201, []])
  t.equal(again.headers['price-list-revision'], '3', 'what changes nothing makes no revision')
})

t.test('equal rows count once, and an empty payload removes nothing', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const [a] = await rowsOf(shop, list)
  t.strictSame((await shop.post(path, remove())).body, [])
  t.strictSame((await shop.post(path, remove('A', 'A'))).body, [a.pk])
})

t.test('the revision says who removed how many rows, and why', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  await shop.send('POST', path, remove('A', 'B'), { 'change-note': 'delisted' })
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(body, { kind: 'remove_products', priced: 0, added: 0, removed: 2, note: 'delisted' })
  const { body: listed } = await shop.get(
    `/api/v1/price_list/${list.id}/revisions/?kind=remove_products`,
  )
  t.equal(listed.count, 1)
})

t.test('the history keeps the rows, and a revert brings them back with prices', async (t) => {
  const { shop, list, pricesNow } = await aPricedList(t, service)
  const before = await rowsOf(shop, list)
  await shop.post(path, remove('A', 'B'))
  const { body: past } = await shop.get(`/api/v1/price_list/${list.id}/rows?as_of=2`)
  t.strictSame(
    past.results.map(({ code, prices }: { code: string; prices: object }) => [code, prices]),
    before.map(({ code, prices }) => [code, prices]),
  )
  const { body: diff } = await shop.get(`/api/v1/price_list/${list.id}/diff/?from=2`)
  t.match(diff.results, [
    { code: 'A', change: 'removed', old: 10, new: null },
    { code: 'B', change: 'removed', old: 20, new: null },
  ])
  const { body: asked } = await shop.post('/api/v1/prices/get_price_history/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  t.match(asked[0].history.at(-1), { price: 10, to: /Z$/ })
  await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 })
  t.strictSame(await pricesNow(), { A: 10, B: 20, C: 0 })
  t.strictSame(codesOf(await rowsOf(shop, list)), ['A', 'B', 'C'])
})

t.test('a product that is added again starts anew, and a sync adds it again', async (t) => {
  const { shop, list, pricesNow } = await aPricedList(t, service)
  const before = await rowsOf(shop, list)
  await shop.post(path, remove('A', 'B'))
  await addProducts(shop, 'L', [uk('A')])
  await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  t.strictSame(await pricesNow(), { C: 0, A: 0, B: 0, D: 0 })
  const [, a, b] = await rowsOf(shop, list)
  t.not(a.pk, before[0].pk)
  t.not(b.pk, before[1].pk)
})

t.test('rows leave a calendar list with their days, and return with them', async (t) => {
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], is_calendar: true })
  await setPrices(shop, 'L', [{ ...uk('A'), date: '2026-03-01', price: 7 }])
  await shop.post(path, remove('A'))
  t.strictSame(codesOf(await rowsOf(shop, list)), ['B'])
  await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 })
  const rows = await rowsOf(shop, list, 'date=2026-03-01')
  t.match(
    rows.find(({ code }) => code === 'A'),
    { prices: { price: 7 } },
  )
})

t.test('above 100 products answers a job, whose result is the ids of the rows', async (t) => {
  const codes = someCodes(150)
  const rows = codes.slice(0, 120).map(uk)
  const { shop, list, pks } = await aFilledList(t, service, { codes, rows })
  const named = ['nowhere', ...codes.slice(20).toReversed()]
  const { status, headers, body } = await shop.post(path, remove(...named))
  t.equal(status, 201)
  t.equal(headers.location, `/api/v1/jobs/${body.id}/`)
  t.match(body, { status: 'progress', resource_type: 'published-price-list' })
  t.equal(body.progress.total, 131)
  const job = await shop.finished(body)
  t.match(job, { kind: 'remove-products', status: 'done', revision: 2, errors: { length: 0 } })
  t.strictSame(job.progress, { total: 131, finished: 131, error: 0 })
  t.strictSame(job.result, pks.slice(20).toReversed())
  t.strictSame(codesOf(await rowsOf(shop, list)), codes.slice(0, 20))
  const again = await shop.finished((await shop.post(path, remove(...named))).body)
  t.match(again, { status: 'done', revision: 2 })
  t.strictSame(again.result, [])
})

t.test('a job reports no row that was removed before and is not deleted yet', async (t) => {
  const codes = someCodes(101)
  const { shop, id } = await aFilledList(t, service, { codes, rows: [uk('P000')] })
  const removed = 'update price_list_rows set removed_version = 1'
  await query(service.url, `${removed} where price_list_id = ${id}`)
  const job = await shop.finished((await shop.post(path, remove(...codes))).body)
  t.equal(job.status, 'done')
  t.strictSame(job.result, [])
})

t.test('a cancelled job has removed nothing', async (t) => {
  const codes = someCodes(101)
  const { shop } = await aFilledList(t, idle, { codes, rows: [uk('P000')] })
  const { body } = await shop.post(path, remove(...codes))
  const { body: job } = await shop.post(`/api/v1/jobs/${body.id}/cancel/`, undefined)
  t.equal(job.status, 'cancelled')
  t.equal((await shop.post(path, remove('P000'))).body.length, 1)
})

t.test('a list that was never published is 409, whatever the size of the call', async (t) => {
  const codes = someCodes(101)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  for (const payload of [[], ['P000'], codes])
    expectProblem(t, await shop.post(path, remove(...payload)), {
      status: 409,
      type: 'price-list-not-published',
    })
})

t.test('a list that its jobs are to publish is waited for', async (t) => {
  const codes = someCodes(101)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const add = { price_list_name: 'L', payload: codes.map(uk) }
  await shop.post('/api/v1/prices/bulk_add_products/', add)
  const { status, body } = await shop.post(path, remove(...codes))
  t.equal(status, 201)
  t.equal((await shop.finished(body)).result.length, 101)
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a list that was made elsewhere is 409 and keeps its rows', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  const refused = { status: 409, type: 'price-list-not-managed' }
  expectProblem(t, await shop.post(path, remove('A')), refused)
  t.equal((await rowsOf(shop, list)).length, 3)
})

t.test('bad rows are named, and nothing is removed', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const payload = [uk('A'), { code: 'A' }, { ...uk('B'), price: 1 }, { code: 1, country: 'UK' }]
  const answer = await shop.post(path, { price_list_name: 'L', payload })
  const faults = ['/payload/1/country required', '/payload/2/price unknown_key']
  expectFaults(t, answer, [...faults, '/payload/3/code type'])
  t.equal((await rowsOf(shop, list)).length, 3)
})

t.test('the list is named as where products are added', async (t) => {
  const { shop } = await aPricedList(t, service)
  expectFaults(t, await shop.post(path, { payload: [] }), ['/price_list_name required'])
  const differing = { price_list_name: 'L', name: 'M', payload: [] }
  expectFaults(t, await shop.post(path, differing), ['/name conflicting_keys'])
  const absent = { price_list_name: 'M', payload: [] }
  expectProblem(t, await shop.post(path, absent), { status: 404, type: 'price-list-not-found' })
  t.equal((await shop.post(path, { name: 'L', payload: [uk('A')] })).status, 201)
})

t.test('max_removed_percent refuses what removes more, unless it is overridden', async (t) => {
  const { shop, list } = await aPricedList(t, service, { guardrails: { max_removed_percent: 40 } })
  const refused = await shop.post(path, remove('A', 'B'))
  t.match(refused, {
    status: 422,
    body: {
      type: 'guardrail-violated',
      errors: [{ pointer: '', code: 'max_removed_percent' }],
    },
  })
  t.equal((await rowsOf(shop, list)).length, 3)
  t.equal((await rowsOf(shop, list, 'version=draft')).length, 3)
  t.equal((await shop.post(path, remove('A'))).status, 201, 'a third is allowed')
  const headers = { 'override-guardrails': 'season is over' }
  t.equal((await shop.send('POST', path, remove('B', 'C'), headers)).status, 201)
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/4`)
  t.match(body, { kind: 'remove_products', override: 'season is over', removed: 2 })
})

t.test('exactly the percentage may be removed', async (t) => {
  const codes = someCodes(375)
  const guardrails = { max_removed_percent: 18.4 }
  const { shop } = await aFilledList(t, service, { codes, guardrails })
  t.equal((await shop.post(path, remove(...codes.slice(0, 70)))).status, 422)
  t.equal((await shop.post(path, remove(...codes.slice(0, 69)))).status, 201)
})

t.test(
  'a job that a guardrail refuses fails, and leaves draft and readers as they were',
  async (t) => {
    const codes = someCodes(110)
    const guardrails = { max_removed_percent: 50 }
    const { shop, list } = await aFilledList(t, service, { codes, guardrails })
    const job = await shop.finished((await shop.post(path, remove(...codes))).body)
    t.match(job, {
      status: 'failed',
      errors: [{ code: 'guardrail-violated' }, { code: 'max_removed_percent' }],
    })
    t.equal((await rowsOf(shop, list)).length, 110)
    t.equal((await rowsOf(shop, list, 'version=draft')).length, 110)
  },
)

t.test('plan=true shows which rows would leave, and removes none', async (t) => {
  const { shop, list, apply } = await aPricedList(t, service)
  const before = await rowsOf(shop, list)
  const { status, body: plan } = await shop.post(`${path}?plan=true`, remove('nowhere', 'B', 'A'))
  t.equal(status, 201)
  t.match(plan, { operation: 'remove_products', base_revision: 2, violations: { length: 0 } })
  t.match(plan.summary, { rows: 3, removed: 2, unchanged: 1, added: 0, changed: 0 })
  const { body: rows } = await shop.get(`/api/v1/plans/${plan.id}/rows/`)
  t.strictSame(rows.results, [
    { code: 'A', country: 'UK', action: 'remove', violations: [] },
    { code: 'B', country: 'UK', action: 'remove', violations: [] },
    { code: 'nowhere', country: 'UK', action: 'none', reason: 'unchanged', violations: [] },
  ])
  t.equal((await rowsOf(shop, list)).length, 3)
  const applied = await apply(plan.id)
  t.strictSame([applied.status, applied.body], [201, [before[1].pk, before[0].pk]])
  t.equal(applied.headers['skipped-rows'], '0')
  t.strictSame(codesOf(await rowsOf(shop, list)), ['C'])
  const { body: revision } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(revision, { kind: 'remove_products', removed: 2, plan_id: plan.id })
})

t.test('a row that was changed, left or came since makes the plan stale', async (t) => {
  const { shop, list, update, apply } = await aPricedList(t, service)
  const { body: plan } = await shop.post(`${path}?plan=true`, remove('A', 'B', 'C', 'D'))
  await update({ A: 11 })
  await shop.post(path, remove('B'))
  await addProducts(shop, 'L', [uk('D')])
  const refused = await apply(plan.id)
  t.match(refused, { status: 409, body: { type: 'plan-stale', error_count: 3 } })
  t.strictSame(
    refused.body.errors.map(({ cell }: { cell: { code: string } }) => cell.code),
    ['A', 'B', 'D'],
  )
  const { headers } = await apply(plan.id, { skip: ['stale'] })
  t.equal(headers['skipped-rows'], '3')
  t.strictSame(codesOf(await rowsOf(shop, list)), ['A', 'D'])
})

t.test('so does a day of a calendar list that was priced since', async (t) => {
  const { shop, list } = await aFilledList(t, service, { is_calendar: true })
  const { body: plan } = await shop.post(`${path}?plan=true`, remove('A'))
  await setPrices(shop, 'L', [{ ...uk('A'), date: '2026-03-01', price: 7 }])
  const refused = await shop.post(`/api/v1/plans/${plan.id}/apply/`, {})
  expectProblem(t, refused, { status: 409, type: 'plan-stale' })
  t.strictSame(codesOf(await rowsOf(shop, list)), ['A'])
})

t.test(
  'a plan shows that it violates max_removed_percent, and is applied with an override',
  async (t) => {
    const { shop, list, apply } = await aPricedList(t, service, {
      guardrails: { max_removed_percent: 40 },
    })
    const { body: plan } = await shop.post(`${path}?plan=true`, remove('A', 'B'))
    t.strictSame(plan.violations, [{ guardrail: 'max_removed_percent', rows: 2 }])
    const refused = await apply(plan.id, { skip: ['violations'] })
    t.match(refused, { status: 422, body: { errors: [{ code: 'max_removed_percent' }] } })
    t.equal((await apply(plan.id, {}, { 'override-guardrails': 'agreed' })).status, 201)
    t.strictSame(codesOf(await rowsOf(shop, list)), ['C'])
  },
)

t.test('a job applies a plan of more than 100 rows', async (t) => {
  const codes = someCodes(120)
  const { shop, list } = await aFilledList(t, service, { codes })
  const { body: plan } = await shop.post(`${path}?plan=true`, remove(...codes))
  t.equal(plan.summary.removed, 120)
  const { body } = await shop.post(`/api/v1/plans/${plan.id}/apply/`, {})
  const job = await shop.finished(body)
  t.match(job, { status: 'done', kind: 'apply-plan' })
  t.strictSame(job.result, { rows: 120, created: 0, updated: 0, removed: 120, skipped: 0 })
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a plan may be made without the scope to write', async (t) => {
  const { shop } = await aPricedList(t, service)
  const { body } = await shop.post('/api/v1/api_keys/', { name: 'k', scopes: ['plan'] })
  const headers = { authorization: `jwt ${body.key}` }
  t.equal((await shop.send('POST', `${path}?plan=true`, remove('A'), headers)).status, 201)
  expectProblem(t, await shop.send('POST', path, remove('A'), headers), {
    status: 403,
    type: 'forbidden',
  })
})

t.test('a catalog without extensions names its rows by code', async (t) => {
  const shop = await aShopOf(t, service, {}, [{ code: 'A' }, { code: 'B' }])
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A' }, { code: 'B' }])
  const body = { price_list_name: 'L', payload: [{ code: 'A' }] }
  const { body: plan } = await shop.post(`${path}?plan=true`, body)
  t.equal(plan.summary.removed, 1)
  t.equal((await shop.post(path, body)).body.length, 1)
  t.strictSame(codesOf(await rowsOf(shop, list)), ['B'])
})
