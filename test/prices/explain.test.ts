import t, { type Test } from 'tap'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const days = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const date = { promotion_date: '2026-06-01' }

/** A list "L" with the rows A and B in two dimensions, A priced at 10, and how its prices are explained. */
async function aPricedList(t: Test) {
  const price_dimensions = ['retail', 'trade']
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], price_dimensions })
  await aList(shop, { name: 'M' })
  const payload = [{ ...uk('A'), price_dimension: 'retail', price: 10 }]
  const body = { price_list_name: 'L', payload }
  await shop.send('POST', '/api/v1/prices/bulk_update_prices/', body, { 'change-note': 'why' })
  const read = (options: object = {}, row: object = uk('A')) =>
    shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      include: ['explain', 'priced'],
      payload: [{ price_dimension: 'retail', ...row }],
      ...date,
      ...options,
    })
  const promote = (...promotions: object[]) =>
    shop.post(
      '/api/v1/promotions/bulk_create_or_update/',
      promotions.map((one) => ({ kind: 'amount', value: 1, ...days, ...one })),
    )
  return { shop, list, read, promote }
}

t.test('a published price says what set it; one that nobody set is not priced', async (t) => {
  const { read } = await aPricedList(t)
  const [a] = (await read()).body
  t.equal(a.priced, true)
  t.match(a.explain, {
    published: {
      price: 10,
      revision: 2,
      kind: 'update_prices',
      note: 'why',
      actor: { type: 'user' },
    },
    promotions: { length: 0 },
    agreements: { length: 0 },
    decided_by: 'published',
  })
  t.ok(Date.parse(a.explain.published.at) <= Date.now())
  const [b] = (await read({}, uk('B'))).body
  t.equal(b.priced, false)
  t.match(b.explain.published, { price: 0, revision: 1, kind: 'add_products' })
})

t.test('a price that was changed since the last read says what set it now', async (t) => {
  const { shop, read } = await aPricedList(t)
  await read()
  await setPrices(shop, 'L', [{ ...uk('A'), price_dimension: 'retail', price: 12 }])
  t.match((await read()).body[0].explain.published, { price: 12, revision: 3 })
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [uk('C')])
  await addProducts(shop, 'L', [uk('C')])
  t.match((await read({}, uk('C'))).body[0].explain.published, { price: 0, revision: 4 })
})

t.test('a price that a plan has set names the plan, with the note of who applied it', async (t) => {
  const { shop, read } = await aPricedList(t)
  const cell = { ...uk('A'), price_dimension: 'retail', price: 11 }
  const body = { price_list_name: 'L', payload: [cell] }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_update_prices/?plan=true', body)
  const apply = `/api/v1/plans/${plan.id}/apply/`
  t.equal((await shop.send('POST', apply, {}, { 'change-note': 'agreed' })).status, 201)
  const [{ explain }] = (await read()).body
  t.match(explain.published, { price: 11, plan_id: plan.id, note: 'agreed' })
})

t.test('a promotion decides, or the answer says why not', async (t) => {
  const { read, promote } = await aPricedList(t)
  await promote(
    { name: 'a lowest', value: 4 },
    { name: 'b as low', value: 4 },
    { name: 'c higher', value: 1 },
    { name: 'd of other days', valid_to: '2026-02-01' },
    { name: 'e of another list', price_lists: ['M'] },
    { name: 'f of another product', product_filters: { code: ['B'] } },
    { name: 'g of another dimension', price_dimensions: ['trade'] },
    {
      name: 'h of other days and products',
      valid_to: '2026-02-01',
      product_filters: { code: ['B'] },
    },
  )
  const verdicts = async (row?: object) => {
    const [{ active_price, explain }] = (await read({}, row)).body
    const shown = explain.promotions.map((one: Record<string, unknown>) => [
      String(one.name)[0],
      one.verdict,
      one.price,
    ])
    return { active_price, decided_by: explain.decided_by, shown }
  }
  const others = [
    ['d', 'not_valid', undefined],
    ['e', 'other_list', undefined],
    ['f', 'other_product', undefined],
    ['g', 'other_dimension', undefined],
  ]
  t.strictSame(await verdicts(), {
    active_price: 6,
    decided_by: 'promotion',
    shown: [['a', 'in_force', 6], ['b', 'not_lowest', 6], ['c', 'not_lowest', 9], ...others],
  })
  t.strictSame(await verdicts({ ...uk('A'), promotion: 'c higher' }), {
    active_price: 9,
    decided_by: 'promotion',
    shown: [['a', 'not_named', 6], ['b', 'not_named', 6], ['c', 'in_force', 9], ...others],
  })
})

t.test('a price of the past is explained with the promotions of then', async (t) => {
  const { read, promote } = await aPricedList(t)
  await promote({ name: 'p', value: 4 })
  const as_of = new Date().toISOString()
  await promote({ name: 'p', value: 1 })
  const [{ explain }] = (await read({ as_of })).body
  t.match(explain.promotions, [{ value: 4, verdict: 'in_force', price: 6 }])
})

t.test('the promotion in force is shown, whatever its name', async (t) => {
  const { read, promote } = await aPricedList(t)
  const others = Array.from({ length: 101 }, (_, index) => ({ name: `a ${index}`, value: 1 }))
  await promote(...others, { name: 'z lowest', value: 4 })
  const [{ active_price, explain }] = (await read({})).body
  t.equal(active_price, 6)
  t.equal(explain.promotions.length, 100)
  t.match(explain.promotions.at(-1), { name: 'z lowest', verdict: 'in_force', price: 6 })
})

t.test('a promotion that gives the published price does not decide', async (t) => {
  const { read, promote } = await aPricedList(t)
  await promote({ name: 'p', kind: 'fixed_price', value: 10 })
  const [{ explain }] = (await read()).body
  t.match(explain, { decided_by: 'published', promotions: [{ verdict: 'not_lowest', price: 10 }] })
})

t.test('a filter by an attribute is looked at', async (t) => {
  const { read, promote } = await aPricedList(t)
  await promote({ name: 'p', product_filters: { description: ['about A'] } })
  const [{ explain }] = (await read()).body
  t.match(explain.promotions, [{ verdict: 'in_force', price: 9 }])
})

t.test('the margin shows what it was computed from; not of the past', async (t) => {
  const { shop, read } = await aPricedList(t)
  const costs = { ...uk('A'), purchase: 4, freight: 1 }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [costs])
  const [{ explain }] = (await read()).body
  t.match(explain.margin, { inputs: { Price: 10, purchase: 4, freight: 1 }, value: 50 })
  const [past] = (await read({ as_of: 1 })).body
  t.notOk('margin' in past.explain)
  t.match(past, { priced: false, explain: { published: { price: 0, revision: 1 } } })
})

t.test('no more than 1,000 rows are explained', async (t) => {
  const codes = Array.from({ length: 1001 }, (_, index) => `P${index}`)
  const { shop } = await aFilledList(t, service, { codes })
  await setPrices(shop, 'L', [{ ...uk('P1'), price: 3 }])
  const read = (payload: object[], include: string[]) =>
    shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload, include })
  expectProblem(t, await read([{}], ['explain']), 400, 'result-too-large', 'explain')
  t.equal((await read([{ code: 'P1' }], ['explain'])).body.length, 1)
  const { body } = await read([{}], ['priced'])
  t.equal(body.filter(({ priced }: { priced: boolean }) => priced).length, 1)
})

t.test('a read that is sent while it is read says what is priced, too', async (t) => {
  const codes = Array.from({ length: 2100 }, (_, index) => `P${index}`)
  const { shop } = await aFilledList(t, service, { codes })
  await setPrices(shop, 'L', [{ ...uk('P1'), price: 0 }])
  const body = { price_list_name: 'L', payload: [{}], include: ['priced'] }
  const rows = (await shop.post('/api/v1/prices/get_prices/', body)).body
  const priced = rows.filter((row: { priced: boolean }) => row.priced)
  t.strictSame([rows.length, priced.map(({ code }: { code: string }) => code)], [2100, ['P1']])
})
