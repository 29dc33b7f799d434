import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('a plan says what would change in all', async (t) => {
  const { plan } = await aPricedList(t, service)
  const { body } = await plan({ A: 12, B: 15, C: 7 })
  t.match(body, {
    operation: 'update_prices',
    base_revision: 2,
    actor: { type: 'user' },
    summary: {
      rows: 3,
      changed: 3,
      unchanged: 0,
      increases: 2,
      decreases: 1,
      average_change_percent: -2.5,
      largest_increase_percent: 20,
      largest_decrease_percent: 25,
    },
  })
})

t.test('largest changes that there are not are null', async (t) => {
  const { plan } = await aPricedList(t, service)
  const { body } = await plan({ C: 7 })
  t.match(body.summary, {
    increases: 1,
    average_change_percent: null,
    largest_increase_percent: null,
    largest_decrease_percent: null,
  })
})

t.test('margins are means over cells that have one before and after', async (t) => {
  const { plan, setCosts } = await aPricedList(t, service)
  await setCosts({ A: 5, B: 30 })
  const { body } = await plan({ A: 20, B: 25, C: 9 })
  t.match(body.summary, { margin_before: 0, margin_after: 27.5, negative_margin: 1 })
})

t.test('the note of the call is kept, and becomes that of the revision', async (t) => {
  const { shop, list, plan, apply } = await aPricedList(t, service)
  const { body } = await plan({ A: 12 }, { 'change-note': 'spring' })
  t.equal(body.note, 'spring')
  await apply(body.id)
  const revision = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(revision.body, { note: 'spring', plan_id: body.id })
})

t.test('an open plan expires after 7 days', async (t) => {
  const { shop, plan, apply } = await aPricedList(t, service)
  const { body } = await plan({ A: 12 })
  const days = (Date.parse(body.expires_at) - Date.parse(body.created_at)) / 86_400_000
  t.ok(days > 6.99 && days < 7.01)
  await query(
    service.url,
    `update plans set expires_at = now() - interval '1 second' where id = ${body.id} and account_id = ${shop.id}`,
  )
  t.match((await shop.get(`/api/v1/plans/${body.id}/`)).body, { status: 'expired' })
  expectProblem(t, await apply(body.id), 409, 'plan-not-open', 'expired')
})

t.test('a deleted list discards its plans', async (t) => {
  const { shop, list, plan, apply } = await aPricedList(t, service)
  const { body } = await plan({ A: 12 })
  await shop.send('DELETE', `/api/v1/price_list/${list.id}`)
  t.match((await shop.get(`/api/v1/plans/${body.id}/`)).body, { status: 'discarded' })
  expectProblem(t, await apply(body.id), 409, 'plan-not-open', 'discarded')
})

t.test('a plan that there is not is 404', async (t) => {
  const { shop } = await aPricedList(t, service)
  expectProblem(t, await shop.get('/api/v1/plans/999999999/'), 404, 'not-found', 'id')
  t.equal((await shop.get('/api/v1/plans/x/')).status, 400)
})

t.test('bad rows are refused as ever, and no plan is made', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { status, body } = await plan({ A: 12, X: 1 })
  t.match({ status, body }, { status: 400, body: { errors: [{ pointer: '/payload/1' }] } })
  t.equal((await shop.get('/api/v1/plans/')).body.count, 0)
})

/** Copies a plan this many times, without its rows. */
const copyPlan = (id: number, times: number) =>
  query(
    service.url,
    `insert into plans (account_id, operation, origin, expires_at)
     select account_id, operation, origin, expires_at from plans, generate_series(1, ${times})
     where id = ${id}`,
  )

t.test('an account has at most 100 open plans', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { body } = await plan({ A: 12 })
  await copyPlan(body.id, 99)
  expectProblem(t, await plan({ A: 13 }), 429, 'too-many-requests', 'the 101st')
  await shop.send('DELETE', `/api/v1/plans/${body.id}/`)
  t.equal((await plan({ A: 13 })).status, 201)
})

t.test('expired plans do not count as open', async (t) => {
  const { plan } = await aPricedList(t, service)
  const { body } = await plan({ A: 12 })
  await query(service.url, `update plans set expires_at = now() where id = ${body.id}`)
  await copyPlan(body.id, 99)
  t.equal((await plan({ A: 13 })).status, 201)
})
