import t from 'tap'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('a discarded plan cannot be applied, nor discarded again', async (t) => {
  const { shop, plan, apply, pricesNow } = await aPricedList(t, service)
  const { id } = (await plan({ A: 12 })).body
  const path = `/api/v1/plans/${id}/`
  t.equal((await shop.send('DELETE', path)).status, 204)
  t.match((await shop.get(path)).body, { status: 'discarded' })
  expectProblem(t, await apply(id), 409, 'plan-not-open', 'applied')
  expectProblem(t, await shop.send('DELETE', path), 409, 'plan-not-open', 'again')
  t.match(await pricesNow(), { A: 10 })
})

t.test('a scheduled plan can be discarded before its moment', async (t) => {
  const { shop, plan, apply, pricesNow } = await aPricedList(t, service)
  const { id } = (await plan({ A: 12 })).body
  await apply(id, { at: new Date(Date.now() + 1500).toISOString() })
  t.equal((await shop.send('DELETE', `/api/v1/plans/${id}/`)).status, 204)
  await new Promise((next) => setTimeout(next, 4000))
  t.match(await pricesNow(), { A: 10 })
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { status: 'discarded' })
})

t.test('a plan that there is not is 404', async (t) => {
  const { shop } = await aPricedList(t, service)
  const answer = await shop.send('DELETE', '/api/v1/plans/999999999/')
  expectProblem(t, answer, 404, 'not-found', 'id')
})
