import t from 'tap'
import { query } from '../helpers/database.ts'
import { holdableWrites, noTriggers } from '../helpers/held-writes.ts'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { untilLockAwaited } from '../helpers/sql.ts'

const service = await sharedService()
const path = '/api/v1/promotions/bulk_create_or_update/'
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const spring = { name: 'spring', kind: 'percentage', value: 10, ...year }
const toys = { ...spring, name: 'toys', product_filters: { code: ['A', 'B'] }, price_lists: ['L'] }

async function aShopWithPlans(t: Parameters<typeof aPricedList>[0]) {
  const given = await aPricedList(t, service)
  const { shop } = given
  const plan = async (body: object[]) => (await shop.post(`${path}?plan=true`, body)).body
  const promotions = async () => (await shop.get('/api/v1/promotions/')).body.results
  return { ...given, plan, promotions }
}

t.test('a plan says which promotions are new, replaced or as they were', async (t) => {
  const { shop, plan, promotions, apply } = await aShopWithPlans(t)
  await shop.post(path, [spring, { ...spring, name: 'summer' }])
  const { id, ...made } = await plan([
    toys,
    { ...spring, value: 20 },
    { ...spring, name: 'summer' },
  ])
  t.match(made, {
    operation: 'promotions',
    summary: { created: 1, replaced: 1, unchanged: 1, covered_rows: 3 },
  })
  t.notMatch(made, { price_list_id: Number })
  const { body } = await shop.get(`/api/v1/plans/${id}/rows/`)
  t.match(body.results, [
    {
      name: 'spring',
      action: 'replace',
      before: { value: 10 },
      after: { value: 20 },
      covered_rows: 3,
    },
    { name: 'summer', action: 'none', reason: 'unchanged' },
    { name: 'toys', action: 'create', before: null, after: toys, covered_rows: 2 },
  ])
  t.equal((await promotions()).length, 2)
  const answer = await apply(id)
  t.match(answer, { status: 201, headers: { 'skipped-rows': '0' } })
  t.match([answer.body.created.length, answer.body.updated.length], [1, 2])
  t.match(await promotions(), [{ value: 20 }, { name: 'summer' }, toys])
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'applied' })
})

t.test('created ids are in the order of the payload', async (t) => {
  const { plan, promotions, apply } = await aShopWithPlans(t)
  const { id } = await plan(['z', 'a'].map((name) => ({ ...spring, name })))
  const { created } = (await apply(id)).body
  const byName = new Map(
    (await promotions()).map(({ id, name }: typeof spring & { id: number }) => [name, id]),
  )
  t.strictSame(created, [byName.get('z'), byName.get('a')])
})

t.test(
  'a promotion that others change while a plan is applied is stale',
  { skip: noTriggers },
  async (t) => {
    const { shop, plan, promotions, apply } = await aShopWithPlans(t)
    await shop.post(path, [spring])
    const { id } = await plan([{ ...spring, value: 20 }])
    const held = await holdableWrites(t, service.url, 'promotions')
    await held.hold()
    const changing = shop.post(path, [{ ...spring, value: 50 }])
    await held.untilHeld()
    const applying = apply(id)
    await untilLockAwaited(service.url, 'pricewell writes', applying)
    await held.release()
    t.equal((await changing).status, 200)
    expectProblem(t, await applying, 409, 'plan-stale', 'it was changed first')
    t.match(await promotions(), [{ value: 50 }])
  },
)

t.test('a promotion that changed since is stale', async (t) => {
  const { shop, plan, promotions, apply } = await aShopWithPlans(t)
  const { id } = await plan([spring, toys])
  await shop.post(path, [{ ...spring, value: 50 }])
  const refused = await apply(id)
  expectProblem(t, refused, 409, 'plan-stale', 'spring is there by now')
  t.match(refused.body, { error_count: 1, errors: [{ code: 'stale' }] })
  const applied = await apply(id, { skip: ['stale'] })
  t.match(applied, { status: 201, headers: { 'skipped-rows': '1' } })
  t.match(await promotions(), [{ value: 50 }, toys])
})

t.test(
  'a promotion that changed and changed back is stale, one that was sent again is not',
  async (t) => {
    const { shop, plan, apply } = await aShopWithPlans(t)
    await shop.post(path, [spring])
    const { id } = await plan([{ ...spring, value: 20 }, toys])
    await shop.post(path, [spring])
    t.match((await apply(id)).status, 201)
    const second = await plan([
      { ...spring, value: 30 },
      { ...toys, name: 'games' },
    ])
    for (const value of [50, 20]) await shop.post(path, [{ ...spring, value }])
    await shop.post(path, [{ ...toys, name: 'games' }])
    await shop.post('/api/v1/promotions/bulk_delete/', ['games'])
    const refused = await apply(second.id)
    expectProblem(t, refused, 409, 'plan-stale', 'changed, and came and went')
    t.equal(refused.body.error_count, 2)
  },
)

t.test('a promotion for a list that is gone is stale', async (t) => {
  const { shop, list, plan, apply } = await aShopWithPlans(t)
  const { id } = await plan([toys])
  await shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  expectProblem(t, await apply(id), 409, 'plan-stale', 'no list')
})

t.test('a file is planned like a body, and bad rows are named', async (t) => {
  const { shop, promotions, apply } = await aShopWithPlans(t)
  const send = (rows: object[]) =>
    shop.send('POST', `${path}?plan=true`, rows.map((row) => JSON.stringify(row)).join('\n'), {
      'content-type': 'application/x-ndjson',
    })
  const { status, body } = await send([spring, { ...toys, price_lists: ['X'] }])
  t.match({ status, body }, { status: 400, body: { errors: [{ pointer: '/1/price_lists/0' }] } })
  const made = await send([spring, toys])
  t.match(made, { status: 201, body: { summary: { created: 2 } } })
  t.equal((await apply(made.body.id)).status, 201)
  t.match(await promotions(), [spring, toys])
})

t.test('a plan of promotions is applied at its moment', async (t) => {
  const { shop, plan, promotions, apply } = await aShopWithPlans(t)
  const { id } = await plan([spring])
  await apply(id, { at: new Date(Date.now() + 1000).toISOString() })
  const deadline = Date.now() + 20_000
  while ((await promotions()).length === 0 && Date.now() < deadline)
    await new Promise((next) => setTimeout(next, 100))
  t.match(await promotions(), [spring])
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'applied' })
})

t.test('a promotion covers no row of a list without its dimensions', async (t) => {
  const { plan } = await aShopWithPlans(t)
  const counted = async (...price_dimensions: string[]) =>
    (await plan([{ ...spring, price_dimensions }])).summary.covered_rows
  t.equal(await counted('x'), 0)
  t.equal(await counted('x', 'price'), 3)
})

t.test('covered rows are not counted where promotions look at over 10,000,000 rows', async (t) => {
  const { shop, list, plan } = await aShopWithPlans(t)
  await query(service.url, `update price_lists set row_count = 4000000 where id = ${list.id}`)
  const three = ['a', 'b', 'c'].map((name) => ({ ...toys, name }))
  t.match(await plan(three.slice(0, 2)), { summary: { created: 2, covered_rows: 2 } })
  const many = await plan(three)
  t.match(many.summary, { created: 3, covered_rows: undefined })
  const { body } = await shop.get(`/api/v1/plans/${many.id}/rows/`)
  t.match(body.results, [{ name: 'a', covered_rows: undefined }, {}, {}])
})
