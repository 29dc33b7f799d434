import t from 'tap'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('rows show the price before and after, and what would not change', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { id } = (await plan({ C: 7, B: 15, A: 10 })).body
  const { body } = await shop.get(`/api/v1/plans/${id}/rows/`)
  t.match(body.results, [
    { code: 'A', country: 'UK', action: 'none', reason: 'unchanged', old: 10, new: 10 },
    { code: 'B', action: 'price', old: 20, new: 15, change_percent: -25 },
    { code: 'C', action: 'price', old: null, new: 7, change_percent: null },
  ])
  t.notMatch(body.results[1], { reason: String })
})

t.test('the largest change comes first, rows without a percentage last', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { id } = (await plan({ C: 7, B: 15, A: 10.5 })).body
  const { body } = await shop.get(`/api/v1/plans/${id}/rows/?order=change`)
  t.strictSame(
    body.results.map(({ code }: { code: string }) => code),
    ['B', 'A', 'C'],
  )
})

t.test('rows are filtered by action and violation, all pages counted', async (t) => {
  const guardrails = { min_price: 8 }
  const { shop, plan } = await aPricedList(t, service, { guardrails })
  const { id } = (await plan({ C: 7, B: 15, A: 10 })).body
  const codes = async (query: string) => {
    const { body } = await shop.get(`/api/v1/plans/${id}/rows/?${query}`)
    return [body.count, ...body.results.map(({ code }: { code: string }) => code)]
  }
  t.strictSame(await codes('action=price'), [2, 'B', 'C'])
  t.strictSame(await codes('action=none'), [1, 'A'])
  t.strictSame(await codes('violation=min_price'), [1, 'C'])
  t.strictSame(await codes('violation=max_price'), [0])
  t.strictSame(await codes('limit=1&offset=2'), [3, 'C'])
})

t.test('what is wrong with the query is said', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { id } = (await plan({ A: 11 })).body
  for (const query of ['action=set', 'violation=x', 'order=code', 'foo=1'])
    t.equal((await shop.get(`/api/v1/plans/${id}/rows/?${query}`)).status, 400, query)
  expectProblem(t, await shop.get('/api/v1/plans/999999999/rows/'), 404, 'not-found', 'id')
})
