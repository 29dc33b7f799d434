import t, { type Test } from 'tap'
import { expectFaults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, rowsOf } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_prices/'
const service = await sharedService()
const a = { code: 'A', country: 'UK' }
const b = { code: 'B', country: 'UK' }

/** A shop with a published calendar list L of A and B. */
async function aCalendar(t: Test, overrides: Record<string, unknown> = {}) {
  const settings = { codes: ['A', 'B'], is_calendar: true, ...overrides }
  const { shop, list, pks: ids } = await aFilledList(t, service, settings)
  const update = (payload: unknown) => shop.post(path, { price_list_name: 'L', payload })
  const read = async (...payload: object[]): Promise<number[]> => {
    const response = await shop.post('/api/v1/prices/get_prices/', {
      price_list_name: 'L',
      payload,
    })
    return response.body.map(({ active_price }: { active_price: number }) => active_price)
  }
  return { shop, list, ids, update, read }
}

t.test('each day has its price, 0 until one is set, also over the end of a year', async (t) => {
  const { update, read, ids } = await aCalendar(t, { valid_from: '2026-07-01' })
  const days = ['2026-07-01', '2026-07-31', '2026-08-01', '2026-12-31', '2027-01-01', '2027-06-30']
  const payload = days.map((date, index) => ({ ...a, date, price: index + 0.01 }))
  t.strictSame((await update([...payload, { ...b, date: '2026-07-02', price: 9 }])).body, ids)
  t.strictSame(
    await read(...days.map((date) => ({ ...a, date }))),
    [0.01, 1.01, 2.01, 3.01, 4.01, 5.01],
  )
  t.strictSame(await read(...days.map((date) => ({ ...b, date }))), [0, 0, 0, 0, 0, 0])
  t.strictSame(await read({ ...a, date: '2026-07-02' }, { ...b, date: '2026-07-02' }), [0, 9])
  t.strictSame(await read({ country: 'UK', date: '2026-07-31' }), [1.01, 0], 'with a wildcard')
  const absent = { code: 'absent', country: 'UK', date: '2026-07-02' }
  t.strictSame(await read(absent, { ...b, date: '2026-07-02' }), [9], 'without what is not there')
})

t.test('a later update leaves the other days of the month as they were', async (t) => {
  const { update, read } = await aCalendar(t)
  await update([
    { ...a, date: '2026-03-01', price: 1 },
    { ...a, date: '2026-03-31', price: 2 },
  ])
  await update([
    { ...a, date: '2026-03-31', price: 3 },
    { ...a, date: '2026-03-15', price: 4 },
    { ...a, date: '2026-03-02', price: 0 },
  ])
  const days = ['2026-03-01', '2026-03-02', '2026-03-15', '2026-03-31', '2026-03-30']
  t.strictSame(await read(...days.map((date) => ({ ...a, date }))), [1, 0, 4, 3, 0])
})

t.test('a price of a day can be set back to 0', async (t) => {
  const { update, read } = await aCalendar(t)
  const day = { ...a, date: '2026-03-01' }
  const next = { ...a, date: '2026-03-02' }
  await update([
    { ...day, price: 1 },
    { ...next, price: 2 },
  ])
  await update([{ ...day, price: 0 }])
  t.strictSame(await read(day, next), [0, 2])
})

t.test('a year with a leap day ends a day earlier', async (t) => {
  const { update, read } = await aCalendar(t, { valid_from: '2024-01-01', valid_to: '2024-12-31' })
  const payload = [
    { ...a, date: '2024-02-29', price: 29 },
    { ...a, date: '2024-12-30', price: 30 },
  ]
  t.equal((await update(payload)).status, 201)
  t.strictSame(await read(...payload.map(({ price: _, ...row }) => row)), [29, 30])
  const outside = await update([{ ...a, date: '2024-12-31', price: 1 }])
  expectFaults(t, outside, ['/payload/0/date date_outside_calendar'])
})

t.test('the 365 days count from valid_from, whatever valid_to says', async (t) => {
  const { update, shop, list } = await aCalendar(t, {
    valid_from: '2026-03-10',
    valid_to: '2026-03-11',
  })
  const payload = [
    '2026-03-09',
    '2026-03-10',
    '2027-03-09',
    '2027-03-10',
    '0001-01-01',
    '9999-12-31',
  ].map((date) => ({ ...a, date, price: 1 }))
  const outside = [0, 3, 4, 5].map((row) => `/payload/${row}/date date_outside_calendar`)
  expectFaults(t, await update(payload), outside)
  t.strictSame((await rowsOf(shop, list))[0].prices, { price: 0 }, 'nothing was written')
  t.equal((await update(payload.slice(1, 3))).status, 201)
  t.strictSame((await rowsOf(shop, list, 'date=2027-03-09'))[0].prices, { price: 1 })
  const rows = payload.map(({ price: _, ...row }) => row)
  const read = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: rows,
  })
  expectFaults(t, read, outside)
})

t.test(
  'the rows of the list show the prices of one day, the first unless another is named',
  async (t) => {
    const { update, shop, list } = await aCalendar(t, { price_dimensions: ['x', 'y'] })
    await update([
      { ...a, date: '2026-01-01', price: 1, price_dimension: 'x' },
      { ...a, date: '2026-01-02', price: 2, price_dimension: 'y' },
    ])
    const pricesOn = async (query: string) => (await rowsOf(shop, list, query))[0].prices
    t.strictSame(await pricesOn(''), { x: 1, y: 0 })
    t.strictSame(await pricesOn('date=2026-01-02'), { x: 0, y: 2 })
  },
)

t.test('each dimension has its own days', async (t) => {
  const { update, read, ids } = await aCalendar(t, { price_dimensions: ['x', 'y'] })
  const cell = (price_dimension: string, date: string) => ({ ...a, price_dimension, date })
  const response = await update([
    { ...cell('x', '2026-05-01'), price: 1 },
    { ...cell('y', '2026-05-01'), price: 2 },
    { ...cell('y', '2026-05-02'), price: 3 },
  ])
  t.strictSame(response.body, ids.slice(0, 1))
  const cells = ['x', 'y'].flatMap((name) => [cell(name, '2026-05-01'), cell(name, '2026-05-02')])
  t.strictSame(await read(...cells), [1, 0, 2, 3])
})

t.test('a wildcard reads the days of the dimension that it names', async (t) => {
  const { update, read } = await aCalendar(t, { price_dimensions: ['x', 'y'] })
  const day = (price_dimension: string) => ({ price_dimension, date: '2026-05-01' })
  await update([
    { ...a, ...day('x'), price: 1 },
    { ...a, ...day('y'), price: 2 },
    { ...b, ...day('y'), price: 3 },
  ])
  t.strictSame(await read(day('x'), day('y')), [1, 0, 2, 3])
  t.strictSame(await read({ code: 'A', ...day('y') }), [2])
})

t.test('rows, dimensions, months and days come in any order', async (t) => {
  const { update, read, ids } = await aCalendar(t, { price_dimensions: ['y', 'x'] })
  const cells = [
    { ...b, price_dimension: 'y', date: '2026-06-02' },
    { ...a, price_dimension: 'x', date: '2026-06-01' },
    { ...b, price_dimension: 'x', date: '2026-05-31' },
    { ...a, price_dimension: 'y', date: '2026-05-01' },
    { ...b, price_dimension: 'y', date: '2026-06-01' },
    { ...a, price_dimension: 'x', date: '2026-05-02' },
    { ...a, price_dimension: 'x', date: '2026-05-01' },
  ]
  const response = await update(cells.map((cell, index) => ({ ...cell, price: index + 1 })))
  t.strictSame(response.body, [ids[1], ids[0]])
  t.strictSame(await read(...cells), [1, 2, 3, 4, 5, 6, 7])
})

t.test(
  'a cell that is named twice counts once when the prices are equal and is an error when they differ',
  async (t) => {
    const { update, read } = await aCalendar(t)
    const cell = { ...a, date: '2026-05-01' }
    const payload = [
      { ...cell, price: 5 },
      { ...a, date: '2026-05-02', price: 6 },
      { code: 'A', extensions: { country: 'UK' }, date: '2026-05-01', price: 5 },
    ]
    t.equal((await update(payload)).status, 201)
    const differing = await update([...payload, { ...cell, price: 7 }])
    expectFaults(t, differing, ['/payload/3 duplicate_row'])
    t.match(differing.body.errors[0].message, /rows 0 and 3 /)
    t.strictSame(await read(cell), [5])
  },
)

t.test('a date is required, a real day, and only a string', async (t) => {
  const { update, shop } = await aCalendar(t, { price_dimensions: ['x', 'y'] })
  const cell = { ...a, price: 1, price_dimension: 'x' }
  const payload = [
    cell,
    { ...cell, date: '2026-02-29' },
    { ...cell, date: '2026-2-1' },
    { ...cell, date: '2026-01-01T00:00:00Z' },
    { ...cell, date: 'today' },
    { ...cell, date: null },
    { ...cell, date: '2026-01-02' },
    { ...a, price: 1, date: '2026-01-02' },
  ]
  expectFaults(t, await update(payload), [
    '/payload/0/date required',
    '/payload/1/date format',
    '/payload/2/date format',
    '/payload/3/date format',
    '/payload/4/date format',
    '/payload/5/date type',
    '/payload/7/price_dimension required',
  ])
  const read = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: [a, { ...a, promotion: 'none' }],
  })
  expectFaults(t, read, [
    '/payload/0/price_dimension required',
    '/payload/0/date required',
    '/payload/1/promotion unknown_promotion',
    '/payload/1/price_dimension required',
    '/payload/1/date required',
  ])
})

t.test('prices of days survive a later publication', async (t) => {
  const { update, read, shop } = await aCalendar(t)
  await update([{ ...a, date: '2026-02-28', price: 12.5 }])
  await addProducts(shop, 'L', [a])
  t.strictSame(await read({ ...a, date: '2026-02-28' }), [12.5])
})

t.test('parallel updates of one month all succeed, and each day keeps its price', async (t) => {
  const { update, read } = await aCalendar(t)
  const days = Array.from(
    { length: 20 },
    (_, index) => `2026-05-${String(index + 1).padStart(2, '0')}`,
  )
  const responses = await Promise.all(
    days.map((date, index) => update([{ ...a, date, price: index + 1 }])),
  )
  t.strictSame(
    responses.map(({ status }) => status),
    Array(20).fill(201),
  )
  const prices = days.map((_, index) => index + 1)
  t.strictSame(await read(...days.map((date) => ({ ...a, date }))), prices)
})
