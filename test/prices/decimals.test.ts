import t, { type Test } from 'tap'
import { loadPath as agreementsPath } from '../helpers/agreement.ts'
import { expectAllFaults, expectFaults, type Faults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const updates = '/api/v1/prices/bulk_update_prices/'
const uk = (code: string) => ({ code, country: 'UK' })
const csv = { 'content-type': 'text/csv' }

/** A list "L" of two decimals with the rows A, B and C. */
async function aRoundedList(t: Test, settings: object = {}) {
  const codes = ['A', 'B', 'C']
  const { shop, list } = await aFilledList(t, service, { codes, decimals: 2, ...settings })
  const update = (payload: object[], query = '') =>
    shop.post(updates + query, { price_list_name: 'L', payload })
  const sendFile = (file: string, query = '', headers: Record<string, string> = {}) =>
    shop.send('POST', `${updates}?price_list_name=L${query}`, file, { ...csv, ...headers })
  const read = async (call: object = {}) => {
    const body = { price_list_name: 'L', payload: [uk('A')], ...call }
    return (await shop.post('/api/v1/prices/get_prices/', body)).body
  }
  return { shop, list, update, sendFile, read }
}

const tooMany: Faults = [['/payload/1/price', 'too_many_decimals']]
const prices = [
  { ...uk('A'), price: 1.25 },
  { ...uk('B'), price: 1.255 },
]

t.test('a written price has no more decimals than the list; nothing is written', async (t) => {
  const { shop, list, update } = await aRoundedList(t)
  const answer = await update(prices)
  expectAllFaults(t, answer, tooMany)
  t.equal(answer.body.errors[0].message, 'must have at most 2 decimals')
  expectAllFaults(t, await update(prices, '?plan=true'), tooMany)
  t.ok((await rowsOf(shop, list)).every(({ prices }) => (prices as { price: 0 }).price === 0))
  t.equal((await update([{ ...uk('A'), price: 1.25 }])).status, 201)
})

t.test('zeros at the end are no decimals, large prices have few', async (t) => {
  const { update } = await aRoundedList(t)
  const { sendFile } = await aRoundedList(t)
  for (const price of [0, 5, 0.01, 999999999.99, 9999999999999.99, 1e20])
    t.equal((await update([{ ...uk('A'), price }])).status, 201, `${price}`)
  for (const price of [0.001, 0.000001, 999999999.999, 999999999999.999])
    expectFaults(t, await update([{ ...uk('A'), price }]), ['/payload/0/price too_many_decimals'])
  const file = 'code,country,price\nA,UK,1.250000\nB,UK,7.0\n'
  t.match(await sendFile(file), { status: 201, body: { rows: 2 } })
})

t.test('each bad row is named, beside the other faults of its row', async (t) => {
  const { update } = await aRoundedList(t, { price_dimensions: ['retail', 'trade'], decimals: 0 })
  const retail = { price_dimension: 'retail' }
  const answer = await update([
    { ...uk('A'), ...retail, price: 1.5 },
    { ...uk('A'), price_dimension: 'trade', price: 1 },
    { ...uk('B'), price_dimension: 'x', price: 0.5 },
    { ...uk('C'), ...retail, price: 1e-7 },
    { ...uk('absent'), ...retail, price: 3 },
  ])
  expectAllFaults(t, answer, [
    ['/payload/0/price', 'too_many_decimals'],
    ['/payload/2/price', 'too_many_decimals'],
    ['/payload/2/price_dimension', 'unknown_price_dimension'],
    ['/payload/3/price', 'format'],
    ['/payload/4/code', 'row_not_in_list'],
  ])
})

t.test('a file and its job refuse such lines, and give them back', async (t) => {
  const { shop, sendFile } = await aRoundedList(t)
  const file = 'code,country,price\nA,UK,1.25\nB,UK,1.255\n'
  for (const query of ['', '&plan=true']) {
    const answer = await sendFile(file, query)
    expectFaults(t, answer, ['/1/price too_many_decimals'])
    t.match(answer.body.errors, [{ row: 1, line: 3, field: 'price' }])
  }
  const rejected = await sendFile(file, '', { accept: 'text/csv' })
  t.equal(rejected.headers['rejected-rows'], '1')
  t.match(
    rejected.body,
    /^code,country,price,error\r\nB,UK,1\.255,price: must have at most 2 decimals\r\n$/,
  )
  const { body } = await sendFile(file, '', { prefer: 'respond-async' })
  t.match(await shop.finished(body), {
    status: 'failed',
    errors: [{ pointer: '/1/price', line: 3, code: 'too_many_decimals' }],
  })
})

t.test('the days of a calendar list have as many decimals', async (t) => {
  const { update } = await aRoundedList(t, { is_calendar: true })
  const date = '2026-03-01'
  const rows = prices.map((row) => ({ ...row, date }))
  expectAllFaults(t, await update(rows), tooMany)
  t.equal((await update(rows.slice(0, 1))).status, 201)
})

t.test('what a sender expects may have more: it is no price of the list', async (t) => {
  const { update } = await aRoundedList(t)
  await update([{ ...uk('A'), price: 1 }])
  const answer = await update([{ ...uk('A'), price: 2, expected_price: 1.001 }])
  t.match(answer, { status: 409, body: { type: 'stale-rows' } })
})

t.test('more decimals take more prices, at once', async (t) => {
  const { shop, list, update } = await aRoundedList(t)
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, { decimals: 3 })
  t.equal((await update(prices)).status, 201)
  expectFaults(t, await update([{ ...uk('A'), price: 1.0001 }]), [
    '/payload/0/price too_many_decimals',
  ])
})

const valid = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const promotions = [
  { name: 'amount', kind: 'amount', value: 0.004999, ...valid },
  { name: 'fixed', kind: 'fixed_price', value: 9.995, ...valid },
  { name: 'percent', kind: 'percentage', value: 33.333333, ...valid },
]
const onPromotion = { promotion_date: '2026-06-01' }

/** The same list with A at 10 and promotions. */
async function aPromotedList(t: Test, settings: object = {}) {
  const rounded = await aRoundedList(t, settings)
  const { shop } = rounded
  await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 10 }])
  return rounded
}

const shownAt: [decimals: number, values: Record<string, number>][] = [
  [0, { amount: 10, fixed: 10, percent: 7 }],
  [2, { amount: 10, fixed: 10, percent: 6.67 }],
  [3, { amount: 9.995, fixed: 9.995, percent: 6.667 }],
  [6, { amount: 9.995001, fixed: 9.995, percent: 6.666667 }],
]

for (const [decimals, values] of shownAt)
  t.test(
    `prices of promotions round half up to ${decimals} decimals, however they are read`,
    async (t) => {
      const { read, shop, list } = await aPromotedList(t, { decimals })
      const expected = Object.entries(values).map(([name, value]) => ({ name, value }))
      const least = Math.min(...Object.values(values))
      for (const payload of [
        [uk('A')],
        [{ code: 'A' }],
        [{ attributes: { description: 'about A' } }],
      ]) {
        const [row] = await read({ payload, ...onPromotion, include: ['explain', 'active_margin'] })
        t.strictSame([row.active_price, row.promotions], [least, expected])
        const judged = row.explain.promotions.map(({ name, price }: Record<string, unknown>) => ({
          name,
          value: price,
        }))
        t.strictSame(judged, expected)
        const [bare] = await read({ payload, ...onPromotion })
        t.strictSame([bare.active_price, bare.promotions], [least, expected])
      }
      const then = await read({ ...onPromotion, as_of: 2 })
      t.strictSame(then[0].promotions, expected, 'as of a revision')
      t.equal((await rowsOf(shop, list))[0]?.code, 'A')
    },
  )

t.test('a large read rounds, too', async (t) => {
  const codes = Array.from({ length: 2100 }, (_, index) => `P${1000 + index}`)
  const { shop } = await aFilledList(t, service, { codes, decimals: 1 })
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: 1.5 })),
  )
  await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions.slice(2))
  const { body } = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: [{}],
    ...onPromotion,
  })
  t.equal(body.length, codes.length)
  t.ok(body.every(({ active_price }: { active_price: number }) => active_price === 1))
})

t.test('reads notice more decimals at once', async (t) => {
  const { read, shop, list } = await aPromotedList(t)
  t.equal((await read(onPromotion))[0].active_price, 6.67)
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, { decimals: 4 })
  t.equal((await read(onPromotion))[0].active_price, 6.6667)
})

t.test('the lowest price before a reduction counts the rounded prices', async (t) => {
  const { read } = await aRoundedListOfToday(t)
  const [{ lowest_price }] = await read({
    include: ['lowest_price'],
    lowest_price: { before: inDays(1), days: 1 },
  })
  t.equal(lowest_price.price, 6.67)
})

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

/** A at 10, a third off today. */
async function aRoundedListOfToday(t: Test) {
  const rounded = await aRoundedList(t)
  await setPrices(rounded.shop, 'L', [{ ...uk('A'), price: 10 }])
  const today = { valid_from: inDays(0), valid_to: inDays(0) }
  await rounded.shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name: 'third', kind: 'percentage', value: 33.333333, ...today },
  ])
  return rounded
}

t.test('the position in rows and files is that of the rounded price', async (t) => {
  const { shop, list } = await aRoundedListOfToday(t)
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code'],
  })
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { code: 'A', competitor_name: 'Rival', competitor_price: 6.668 },
  ])
  const rows = await rowsOf(shop, list, 'include=competition')
  t.match(rows[0], { competition: { price: { lowest: 6.668, rank: 2 } } })
})

/** Agreements of the client C about A, each with these prices. */
const agree = (
  shop: Awaited<ReturnType<typeof aRoundedList>>['shop'],
  prices: Record<string, number>,
) =>
  shop.post(
    agreementsPath,
    Object.entries(prices).map(([name, price]) => ({
      name,
      client_code: 'C',
      price_list_code: 'L',
      price_line: { product_code: 'A' },
      prices: { price },
    })),
  )

const agreedAt: [decimals: number, price: number][] = [
  [0, 8],
  [2, 7.5],
  [3, 7.495],
  [6, 7.495],
]
for (const [decimals, price] of agreedAt)
  t.test(`an agreed price rounds half up to ${decimals} decimals where it is read`, async (t) => {
    const { shop, read } = await aRoundedList(t, { decimals })
    await setPrices(shop, 'L', [{ ...uk('A'), price: 10 }])
    await agree(shop, { frame: decimals === 0 ? 7.5 : 7.495 })
    const [row] = await read({ client_code: 'C', include: ['explain'] })
    t.match(row, { active_price: price, agreement: { name: 'frame', price } })
    t.match(row.explain.agreements, [{ price, verdict: 'in_force' }])
    const kept = (await shop.get('/api/v1/agreement/')).body.results[0].prices
    t.strictSame(kept, { price: decimals === 0 ? 7.5 : 7.495 })
  })

t.test(
  'agreed prices of days round, too; of equal rounded ones the first is in force',
  async (t) => {
    const { shop, read } = await aRoundedList(t, { is_calendar: true })
    const date = '2026-03-01'
    await shop.post(agreementsPath, [
      {
        name: 'by day',
        client_code: 'C',
        price_list_code: 'L',
        price_line: { product_code: 'A' },
        prices: { price: { [date]: 7.004 } },
      },
    ])
    await agree(shop, { later: 7.001 })
    const [row] = await read({ client_code: 'C', payload: [{ ...uk('A'), date }] })
    t.match(row, { active_price: 7, agreement: { name: 'by day', price: 7 } })
  },
)

const repriced: [listDecimals: number, asked: number | undefined, price: number][] = [
  [6, undefined, 3.33],
  [6, 6, 3.333333],
  [2, undefined, 3.33],
  [0, undefined, 3],
  [1, undefined, 3.3],
  [3, undefined, 3.333],
  [5, undefined, 3.33333],
  [5, 0, 3],
  [5, 5, 3.33333],
]
for (const [decimals, asked, price] of repriced)
  t.test(
    `a list of ${decimals} decimals is repriced to ${asked ?? 'its'} decimals: ${price}`,
    async (t) => {
      const { shop } = await aRoundedList(t, { decimals })
      await setPrices(shop, 'L', [{ ...uk('A'), price: 10 }])
      const { body } = await shop.post('/api/v1/prices/reprice/', {
        price_list_name: 'L',
        formula: '= Price / 3',
        ...(asked !== undefined && { decimals: asked }),
      })
      const { results } = (await shop.get(`/api/v1/plans/${body.id}/rows/?action=price`)).body
      t.strictSame([results[0].code, results[0].new], ['A', price])
      t.equal((await shop.post(`/api/v1/plans/${body.id}/apply/`, {})).status, 201)
    },
  )

t.test(
  'a reprice to more decimals than the list has is refused, with its other faults',
  async (t) => {
    const { shop } = await aRoundedList(t)
    const reprice = (call: object) =>
      shop.post('/api/v1/prices/reprice/', { price_list_name: 'L', formula: '= 1', ...call })
    expectAllFaults(t, await reprice({ decimals: 3 }), [['/decimals', 'range']])
    expectAllFaults(t, await reprice({ decimals: 6, formula: '= 1 +' }), [
      ['/decimals', 'range'],
      ['/formula', 'formula'],
    ])
    expectAllFaults(t, await reprice({ formula: '= ENDING(Price, 0.995)' }), [
      ['/formula', 'formula'],
    ])
    t.equal((await reprice({ decimals: 2 })).status, 201)
  },
)

t.test('a reprice that a job makes rounds as its list does', async (t) => {
  const { shop } = await aRoundedList(t, { decimals: 1 })
  await setPrices(shop, 'L', [{ ...uk('A'), price: 10 }])
  const call = { price_list_name: 'L', formula: '= Price / 3' }
  const { body } = await shop.send('POST', '/api/v1/prices/reprice/', call, {
    prefer: 'respond-async',
  })
  const { result } = await shop.finished(body)
  const { results } = (await shop.get(`/api/v1/plans/${result.plan_id}/rows/?action=price`)).body
  t.equal(results[0].new, 3.3)
})

t.test('a revert brings prices back as they were', async (t) => {
  const { shop, list, update, read } = await aRoundedList(t)
  await update([{ ...uk('A'), price: 1.25 }])
  await update([{ ...uk('A'), price: 2 }])
  const revert = await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 })
  t.equal(revert.status, 201)
  t.equal((await read())[0].active_price, 1.25)
})
