import t from 'tap'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

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

t.test('rows are in the order of their keys, numbers by value', async (t) => {
  const packs = [10, 9, -1, 100, 2]
  const extensions = [{ name: 'pack', type: 'integer' }]
  const shop = await aShopOf(
    t,
    service,
    { extensions },
    packs.map((pack) => ({ code: 'A', pack })),
  )
  await aList(shop, { name: 'L' })
  const sync = { price_list_name: 'L' }
  const { body: plan } = await shop.post('/api/v1/prices/sync_with_catalog/?plan=true', sync)
  const { results } = (await shop.get(`/api/v1/plans/${plan.id}/rows/`)).body
  t.strictSame(
    results.map(({ pack }: { pack: number }) => pack),
    [-1, 2, 9, 10, 100],
  )
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

t.test('rows are filtered by the reason why nothing happens', async (t) => {
  const { shop, plan } = await aPricedList(t, service)
  const { id } = (await plan({ B: 15, A: 10 })).body
  const rows = async (query: string) => (await shop.get(`/api/v1/plans/${id}/rows/?${query}`)).body
  t.match(await rows('reason=unchanged'), { count: 1, results: [{ code: 'A' }] })
  t.match(await rows('reason=no_value'), { count: 0, results: { length: 0 } })
})

t.test(
  'a file has all rows that match, in their order, with a column for each input',
  async (t) => {
    const costs = [{ name: 'e.g. freight' }]
    const rows = ['A', 'B', 'C'].map((code) => ({ code, 'e.g. freight': 2 }))
    const shop = await aShopOf(t, service, { costs }, rows)
    await aList(shop, { name: 'L' })
    await addProducts(
      shop,
      'L',
      rows.map(({ code }) => ({ code })),
    )
    await setPrices(shop, 'L', [
      { code: 'A', price: 10 },
      { code: 'B', price: 20 },
    ])
    const formula = '= IF(Price > 0, Price + "e.g. freight", 1 / 0)'
    const { body } = await shop.post('/api/v1/prices/reprice/', { price_list_name: 'L', formula })
    const file = async (query: string, accept: string) => {
      const path = `/api/v1/plans/${body.id}/rows/?${query}`
      return (await shop.send('GET', path, undefined, { accept })).body.split(/\r?\n/)
    }
    t.strictSame(await file('order=change&bom=true', 'text/csv'), [
      '\ufeffcode,price_dimension,action,reason,old,new,change_percent,margin_before,margin_after,violations,inputs.Price,inputs.e.g. freight',
      'A,price,price,,10,12,20,80,83.333333,[],10,2',
      'B,price,price,,20,22,10,90,90.909091,[],20,2',
      'C,price,none,no_value,,,,,,[],0,2',
      '',
    ])
    const [line] = await file('reason=no_value', 'application/x-ndjson')
    t.match(JSON.parse(line ?? ''), {
      ...{ code: 'C', action: 'none', new: null },
      inputs: { Price: 0, 'e.g. freight': 2 },
    })
  },
)

t.test('a file of promotions has what they were and will be', async (t) => {
  const { shop } = await aPricedList(t, service)
  const promotion = { name: 'Sale', kind: 'percentage', value: 10, price_lists: ['L'] }
  const days = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const { body } = await shop.post('/api/v1/promotions/bulk_create_or_update/?plan=true', [
    { ...promotion, ...days },
  ])
  const path = `/api/v1/plans/${body.id}/rows/`
  const csv = await shop.send('GET', path, undefined, { accept: 'text/csv' })
  const [header, row] = csv.body.split('\r\n')
  t.equal(header, 'name,action,reason,covered_rows,before,after')
  t.match(row, /^Sale,create,,3,,"\{/)
})
