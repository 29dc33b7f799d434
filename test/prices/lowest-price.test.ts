import t, { type Test } from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const a = { code: 'A', country: 'UK' }

/** A list "L" that is there since the first day, with a row that had these prices from these days on, at noon. */
async function aListOverTime(t: Test, prices: Record<string, number>) {
  const { shop, id } = await aFilledList(t, service)
  for (const price of Object.values(prices)) await setPrices(shop, 'L', [{ ...a, price }])
  const days = Object.keys(prices)
  for (const [index, day] of [days[0], ...days].entries())
    await query(
      service.url,
      `update list_revisions set at = '${day}T${index === 0 ? '11' : '12'}:00:00Z'
       where price_list_id = ${id} and revision = ${index + 1}`,
    )
  const lowest = async (date: string, options: object = {}, more: object = {}) => {
    const { body } = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      include: ['lowest_price'],
      promotion_date: date,
      lowest_price: options,
      payload: [a],
      ...more,
    })
    return body[0].lowest_price
  }
  return { shop, id, lowest }
}

/** Moves revisions of a list, from `first` on, to noon of these days of March. */
async function dateRevisions(id: number, days: string[], first = 1) {
  for (const [index, day] of days.entries()) {
    const at = `update list_revisions set at = '2026-03-${day}T12:00:00Z'`
    await query(service.url, `${at} where price_list_id = ${id} and revision = ${first + index}`)
  }
}

const months = { '2026-01-01': 10, '2026-03-01': 8, '2026-03-10': 12, '2026-04-01': 6 }

t.test('the lowest price of the 30 days before the last day on which the price fell', async (t) => {
  const { lowest } = await aListOverTime(t, months)
  t.strictSame(await lowest('2026-04-15'), {
    price: 8,
    on: '2026-03-10',
    from: '2026-03-02',
    to: '2026-03-31',
    reduction_from: '2026-04-01',
    days_known: 30,
    complete: true,
  })
  t.match(await lowest('2026-04-15', { days: 10 }), { price: 12, from: '2026-03-22' })
})

t.test('a reduction is found up to a year back', async (t) => {
  const { lowest } = await aListOverTime(t, months)
  const reduction = { reduction_from: '2026-04-01', price: 8, on: '2026-03-10' }
  for (const date of ['2026-05-15', '2026-05-16', '2026-08-01', '2027-03-31'])
    t.match(await lowest(date), reduction, date)
  t.match(await lowest('2027-04-01'), { reduction_from: '2027-04-01', price: 6 })
})

t.test('a day counts with the lowest price at any moment of it', async (t) => {
  const { lowest } = await aListOverTime(t, months)
  const day = { days: 1, before: '2026-03-11' }
  t.match(await lowest('2026-04-15', day), { price: 8, on: '2026-03-10', days_known: 1 })
  t.match(await lowest('2026-04-15', { ...day, before: '2026-03-12' }), { price: 12 })
})

t.test('a fall that was undone is no reduction; without one it is the day itself', async (t) => {
  const { lowest } = await aListOverTime(t, months)
  t.match(await lowest('2026-03-20'), { reduction_from: '2026-03-20', price: 8 })
  t.match(await lowest('2026-03-05'), { reduction_from: '2026-03-01', price: 10, days_known: 30 })
})

t.test('a reduction ends when the price rises, not with that day', async (t) => {
  const { shop, lowest } = await aListOverTime(t, months)
  t.match(await lowest('2026-03-09'), { reduction_from: '2026-03-01', price: 10 })
  t.match(await lowest('2026-03-10'), { reduction_from: '2026-03-10', price: 8 })
  const today = new Date().toISOString().slice(0, 10)
  const promotion = { name: 'P', kind: 'fixed_price', value: 4, price_lists: ['L'] }
  const valid = { valid_from: today, valid_to: today }
  const put = (change: object) =>
    shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...promotion, ...valid, ...change }])
  await put({})
  t.match(await lowest(today), { reduction_from: today, price: 6 })
  await put({ value: 12 })
  t.match(await lowest(today), { reduction_from: '2026-04-01', price: 8 }, 'no longer in force')
})

t.test('progressive counts before the first of the falls that lead there', async (t) => {
  const steps = { '2026-01-01': 10, '2026-03-01': 9, '2026-03-05': 8, '2026-03-09': 7 }
  const { lowest } = await aListOverTime(t, steps)
  t.match(await lowest('2026-03-20'), { reduction_from: '2026-03-09', price: 8 })
  t.match(await lowest('2026-03-20', { progressive: true }), {
    reduction_from: '2026-03-01',
    price: 10,
  })
})

t.test(
  'a list made inside the window is not complete, and unknown days do not count',
  async (t) => {
    const { lowest } = await aListOverTime(t, { '2026-03-20': 10, '2026-04-01': 6 })
    t.match(await lowest('2026-04-15'), { price: 10, days_known: 12, complete: false })
    t.equal(await lowest('2026-04-15', { before: '2026-03-01' }), null)
  },
)

t.test('what was marked as a mistake does not count', async (t) => {
  const { shop, id, lowest } = await aListOverTime(t, { '2026-01-01': 10, '2026-03-05': 1 })
  const body = { revision: 3, void: true }
  await shop.post(`/api/v1/price_list/${id}/revert/`, body)
  await dateRevisions(id, ['06'], 4)
  t.match(await lowest('2026-03-20', { before: '2026-03-15' }), { price: 10, days_known: 30 })
})

t.test('a price that a mistaken undo left in force does not count', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  const b = { ...a, code: 'B' }
  for (const price of [20, 5, 10]) await setPrices(shop, 'L', [{ ...a, price }])
  await setPrices(shop, 'L', [
    { ...a, price: 5 },
    { ...b, price: 1 },
  ])
  const revert = (body: object) => shop.post(`/api/v1/price_list/${id}/revert/`, body)
  const lowest = async () => {
    const { body } = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      include: ['lowest_price'],
      lowest_price: { before: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) },
      payload: [a],
    })
    return body[0].lowest_price.price
  }
  // The revert of the last two revisions leaves the 5 of the last in force.
  t.match(await revert({ to_revision: 3, void: true }), { body: { revision: 6 } })
  t.equal(await lowest(), 5, 'it counts from the undo on')
  t.match(await revert({ to_revision: 2, void: true }), { body: { revision: 7 } })
  t.equal(await lowest(), 20, 'the undo was a mistake, too')
})

t.test('promotions count on their days, as they were defined then', async (t) => {
  const { shop, lowest } = await aListOverTime(t, { '2026-01-01': 10 })
  const promote = (value: number) =>
    shop.post('/api/v1/promotions/bulk_create_or_update/', [
      { name: 'p', kind: 'fixed_price', value, valid_from: '2026-03-01', valid_to: '2026-03-02' },
    ])
  await promote(4)
  await query(
    service.url,
    `update promotions set changed_at = '2026-02-01' where account_id = ${shop.id}`,
  )
  const window = { before: '2026-03-15' }
  t.match(await lowest('2026-03-20', window), { price: 4, on: '2026-03-02' })
  await promote(2)
  t.match(await lowest('2026-03-20', window), { price: 4 }, 'not as it is defined now')
  t.match(await lowest('2026-03-01'), { reduction_from: '2026-03-01', price: 10 })
})

t.test('a row that came since the last read has its lowest price', async (t) => {
  const { shop, lowest } = await aListOverTime(t, { '2026-01-01': 10 })
  await lowest('2026-02-01')
  const b = { ...a, code: 'B' }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [b])
  await addProducts(shop, 'L', [b])
  await setPrices(shop, 'L', [{ ...b, price: 7 }])
  const tomorrow = { before: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) }
  t.match(await lowest('2026-02-01', tomorrow, { payload: [b] }), { price: 7 })
})

t.test('there is no lowest price before the first days that can be written', async (t) => {
  const { lowest } = await aListOverTime(t, { '2026-01-01': 10 })
  t.equal(await lowest('0001-01-01'), null)
  t.equal(await lowest('2026-02-01', { before: '0001-01-31', days: 365 }), null)
})

t.test('options that make no sense are refused', async (t) => {
  const { shop, lowest } = await aListOverTime(t, { '2026-01-01': 10 })
  const fault = (options: object, more: object = {}) =>
    shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      include: ['lowest_price'],
      payload: [a],
      lowest_price: options,
      ...more,
    })
  for (const options of [
    { days: 0 },
    { days: 366 },
    { before: 'x' },
    { before: '2099-01-01' },
    { other: 1 },
  ])
    expectProblem(t, await fault(options), 400, 'invalid-request', JSON.stringify(options))
  expectProblem(t, await fault({}, { include: [] }), 400, 'invalid-request', 'without include')
  expectProblem(t, await fault({}, { as_of: 1 }), 400, 'invalid-request', 'as_of')
  t.match(await lowest('2027-01-01'), { reduction_from: '2027-01-01', price: 10, days_known: 30 })
})

t.test('before is at most 400 days ahead, and rows are at most 10,000', async (t) => {
  const { shop } = await aListOverTime(t, { '2026-01-01': 10 })
  const read = (days: number, rows: number) => {
    const before = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    return shop.post('/api/v1/prices/get_prices/', {
      ...{ price_list_name: 'L', include: ['lowest_price'], lowest_price: { before } },
      payload: Array.from({ length: rows }, () => a),
    })
  }
  t.equal((await read(400, 1)).status, 201)
  expectProblem(t, await read(401, 1), 400, 'invalid-request', '401 days')
  t.equal((await read(400, 10_000)).status, 201)
  expectProblem(t, await read(400, 10_001), 400, 'result-too-large', '10,001 rows')
})

t.test(
  'one row has the same lowest price as among many, also where a mistake came before',
  async (t) => {
    const codes = Array.from({ length: 60 }, (_, index) => `C${index}`)
    const { shop, id } = await aFilledList(t, service, {
      codes,
      price_dimensions: ['retail', 'trade'],
    })
    const cell = (code: string, price_dimension: string) => ({
      code,
      country: 'UK',
      price_dimension,
    })
    for (let write = 2; write <= 9; write++) {
      const some = codes.filter((_, index) => index % (write % 3 || 1) === 0)
      const dimension = write % 4 === 0 ? 'trade' : 'retail'
      const prices = some.map((code, index) => ({
        ...cell(code, dimension),
        price: 20 - write + ((index * write) % 5),
      }))
      await setPrices(shop, 'L', prices)
    }
    const days = 'update list_revisions set'
    const of = `where price_list_id = ${id}`
    await query(
      service.url,
      `${days} at = (timestamp '2026-02-01 12:00' + revision * interval '100 hours') at time zone 'UTC' ${of}`,
    )
    const payload = codes.flatMap((code) => [cell(code, 'retail'), cell(code, 'trade')])
    const read = async (rows: object[], lowest_price: object) => {
      const asked = {
        price_list_name: 'L',
        include: ['lowest_price'],
        promotion_date: '2026-03-20',
      }
      return (
        await shop.post('/api/v1/prices/get_prices/', { ...asked, lowest_price, payload: rows })
      ).body
    }
    for (const voided of [[], [4], [4, 7]]) {
      await query(service.url, `${days} voided = revision = any('{${voided.join(',')}}') ${of}`)
      for (const options of [{}, { progressive: true }, { before: '2026-03-08', days: 12 }]) {
        const all = await read(payload, options)
        for (const [index, one] of payload.entries())
          if (index % 17 === 0) t.strictSame(await read([one], options), [all[index]])
      }
    }
  },
)

/** A list "L" with a row of two cells: two days of a calendar list, or two dimensions. */
async function aRowOfTwoCells(t: Test, is_calendar: boolean) {
  const price_dimensions = is_calendar ? undefined : ['retail', 'trade']
  const { shop, id } = await aFilledList(t, service, { is_calendar, price_dimensions })
  const [one, other] = ['retail', 'trade'].map((price_dimension, index) => ({
    ...a,
    ...(is_calendar ? { date: `2026-12-0${index + 1}` } : { price_dimension }),
  }))
  const read = async (lowest_price: object) => {
    const call = { price_list_id: id, payload: [one, other], include: ['lowest_price'] }
    return (await shop.post('/api/v1/prices/get_prices/', { ...call, lowest_price })).body
  }
  return { shop, id, one, other, read }
}

for (const is_calendar of [false, true])
  t.test(
    `a mistake in another ${is_calendar ? 'day' : 'dimension'} leaves the price that held then`,
    async (t) => {
      const { shop, id, one, other, read } = await aRowOfTwoCells(t, is_calendar)
      await setPrices(shop, 'L', [
        { ...one, price: 5 },
        { ...other, price: 8 },
      ])
      await setPrices(shop, 'L', [{ ...one, price: 6 }])
      await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 3, void: true })
      await dateRevisions(id, ['01', '02', '05', '20'])
      const body = await read({ days: 2, before: '2026-03-12' })
      t.equal(body[0].lowest_price, null, 'the mistake is passed over')
      t.match(body[1].lowest_price, { price: 8, on: '2026-03-11', days_known: 2 })
    },
  )

for (const is_calendar of [false, true])
  t.test(
    `a mistake is passed over where another ${is_calendar ? 'day' : 'dimension'} changed after it`,
    async (t) => {
      const { shop, id, one, other, read } = await aRowOfTwoCells(t, is_calendar)
      await setPrices(shop, 'L', [{ ...one, price: 10 }])
      await setPrices(shop, 'L', [{ ...one, price: 1 }])
      for (const price of [11, 12]) await setPrices(shop, 'L', [{ ...other, price }])
      await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 3, void: true })
      await dateRevisions(id, ['01', '02', '05', '06', '08', '20'])
      const body = await read({ days: 12, before: '2026-03-22' })
      t.match(body[0].lowest_price, { price: 10, on: '2026-03-21', days_known: 2 })
      t.match(body[1].lowest_price, { price: 12, days_known: 12 })
    },
  )

t.test(
  'a price that was put right before its mistake was undone counts from then on',
  async (t) => {
    const { shop, id, lowest } = await aListOverTime(t, { '2026-01-01': 10, '2026-03-05': 1 })
    await setPrices(shop, 'L', [{ ...a, price: 10 }])
    const b = { ...a, code: 'B' }
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [b])
    await addProducts(shop, 'L', [b])
    await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision: 2, void: true })
    await dateRevisions(id, ['07', '08', '10'], 4)
    for (const days of [3, 8, 12])
      t.match(await lowest('2026-03-20', { days, before: '2026-03-18' }), {
        price: 10,
        on: '2026-03-17',
        days_known: Math.min(days, 8),
      })
  },
)

for (const is_calendar of [true, false])
  t.test(
    `a read that would find over 500,000 past prices is refused, calendar: ${is_calendar}`,
    async (t) => {
      const { shop } = await aFilledList(t, service, { is_calendar })
      const day = { ...a, ...(is_calendar && { date: '2026-12-24' }) }
      for (let price = 1; price <= 60; price++) await setPrices(shop, 'L', [{ ...day, price }])
      const read = (rows: number) =>
        shop.post('/api/v1/prices/get_prices/', {
          price_list_name: 'L',
          include: ['lowest_price'],
          payload: Array.from({ length: rows }, () => day),
        })
      t.equal((await read(1000)).status, 201)
      const refused = await read(10_000)
      expectProblem(t, refused, 400, 'too-costly', 'each price counts as often as it is wanted')
      t.match(refused.body.detail, /over 500000 past prices\. Send fewer rows/)
    },
  )

t.test(
  'a read whose rows are covered by over 2,000,000 promotions in all is refused',
  async (t) => {
    const { shop } = await aListOverTime(t, { '2026-01-01': 10 })
    const promotions = Array.from({ length: 201 }, (_, index) => ({
      ...{ name: `P${index}`, kind: 'fixed_price', value: 9 },
      ...{ valid_from: '2026-01-01', valid_to: '2026-12-31' },
    }))
    await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions)
    const read = (rows: number) =>
      shop.post('/api/v1/prices/get_prices/', {
        price_list_name: 'L',
        include: ['lowest_price'],
        lowest_price: { before: '2026-06-01' },
        payload: Array.from({ length: rows }, () => a),
      })
    t.equal((await read(9_950)).status, 201)
    const refused = await read(9_951)
    expectProblem(t, refused, 400, 'too-costly', 'each row counts')
    t.match(refused.body.detail, /no more than 2000000 promotions.* Name fewer rows/)
  },
)
