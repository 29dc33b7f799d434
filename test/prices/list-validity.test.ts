import t, { type Test } from 'tap'
import { dayAfter, today } from '../../src/price-lists/calendar.ts'
import { expectFaults, expectProblem, faultsOf } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()
const path = '/api/v1/prices/get_prices/'
const inDays = (days: number) => dayAfter(today(), days)
const uk = (code: string) => ({ code, country: 'UK' })
const state = 'price-list-state'
const notValid = { status: 409, type: 'price-list-not-valid' }

/** A list "L" with the row A, valid on these days from today; how it is read. */
async function aValidList(t: Test, [from, to]: [number, number], settings: object = {}) {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const valid = { valid_from: inDays(from), valid_to: inDays(to) }
  const list = await aList(shop, { name: 'L', ...valid, ...settings })
  await addProducts(shop, 'L', [uk('A')])
  const read = (call: object = {}) =>
    shop.post(path, { price_list_name: 'L', payload: [uk('A')], ...call })
  const patch = (body: object) => shop.send('PATCH', `/api/v1/price_list/${list.id}`, body)
  return { shop, list, valid, read, patch }
}

const states: [days: [number, number], state: string][] = [
  [[-9, -1], 'expired'],
  [[-9, 0], 'current'],
  [[0, 9], 'current'],
  [[1, 9], 'future'],
]
for (const [days, expected] of states)
  t.test(
    `prices of days ${days.join(' to ')} say ${expected}, however they are read`,
    async (t) => {
      const { read } = await aValidList(t, days)
      const calls = [
        {},
        { payload: [uk('absent')] },
        { payload: [] },
        { payload: [{ code: 'A' }] },
        { payload: [{}], include: ['priced'] },
        { include: ['explain'] },
        { include: ['margin'] },
        { client_code: 'C' },
        { as_of: 1 },
        { promotion_date: '2020-01-01' },
      ]
      for (const call of [...calls, ...calls]) {
        const { status, headers } = await read(call)
        t.strictSame([status, headers[state]], [201, expected], JSON.stringify(call))
      }
      t.equal(
        (await read({ payload: [{ x: 1 }] })).headers[state],
        undefined,
        'no state of a fault',
      )
    },
  )

t.test('large reads and reads of many keys have the header', async (t) => {
  const codes = Array.from({ length: 2500 }, (_, index) => `P${1000 + index}`)
  const valid = { valid_from: inDays(-2), valid_to: inDays(-1) }
  const { shop } = await aFilledList(t, service, { codes, ...valid })
  for (const payload of [[{}], codes.map(uk), [{ country: 'UK' }]])
    for (const include of [[], ['dynamic_attributes']]) {
      const body = { price_list_name: 'L', payload, include }
      const { headers, body: rows } = await shop.post(path, body)
      t.strictSame([headers[state], rows.length], ['expired', codes.length])
      const asked = { ...body, require_valid: true }
      expectProblem(t, await shop.post(path, asked), notValid)
    }
})

t.test('a change of valid_to shows at once', async (t) => {
  const { read, patch } = await aValidList(t, [-9, 0])
  const valid = { require_valid: true }
  t.match(await read(valid), { status: 201, headers: { [state]: 'current' } })
  await patch({ valid_to: inDays(-1) })
  expectProblem(t, await read(valid), notValid)
  t.equal((await read()).headers[state], 'expired')
  await patch({ valid_to: inDays(0) })
  t.match(await read(valid), { status: 201, headers: { [state]: 'current' } })
})

t.test('require_valid looks at promotion_date, today by default', async (t) => {
  const { read, valid } = await aValidList(t, [-9, -2])
  const days: [promotion_date: string | undefined, isValid: boolean][] = [
    [undefined, false],
    [inDays(-1), false],
    [valid.valid_to, true],
    [valid.valid_from, true],
    [inDays(-10), false],
  ]
  for (const payload of [[uk('A')], [{ code: 'A' }], []])
    for (const [promotion_date, isValid] of days) {
      const day = promotion_date === undefined ? {} : { promotion_date }
      const answer = await read({ payload, require_valid: true, ...day })
      if (isValid) t.equal(answer.status, 201)
      else {
        expectProblem(t, answer, notValid)
        t.match(answer.body, {
          detail: `The price list is valid from ${valid.valid_from} to ${valid.valid_to}.`,
          error_count: 1,
          errors: [{ pointer: '/promotion_date', field: 'promotion_date', code: 'range' }],
        })
      }
      t.equal((await read({ payload, ...day })).status, 201)
      t.equal((await read({ payload, require_valid: false, ...day })).status, 201)
    }
})

t.test('with as_of it is the day of that moment', async (t) => {
  const { read, patch } = await aValidList(t, [-9, 9])
  const then = { as_of: 1, require_valid: true }
  t.equal((await read(then)).status, 201)
  t.equal((await read({ ...then, promotion_date: inDays(10) })).status, 409)
  await patch({ valid_to: inDays(-1) })
  expectProblem(t, await read(then), notValid)
})

t.test(
  'in a calendar list it is the days of the rows, and each that is not is named',
  async (t) => {
    const { read } = await aValidList(t, [-9, 1], { is_calendar: true })
    const rows = (...days: number[]) => days.map((day) => ({ ...uk('A'), date: inDays(day) }))
    const valid = { require_valid: true }
    t.equal((await read({ ...valid, payload: rows(-9, 0, 1) })).status, 201)
    t.equal((await read({ ...valid, payload: rows(1), promotion_date: inDays(50) })).status, 201)
    const answer = await read({ ...valid, payload: rows(0, 2, 1, 300) })
    expectProblem(t, answer, notValid)
    t.strictSame(faultsOf(answer), ['/payload/1/date range', '/payload/3/date range'])
    t.match(answer.body, { error_count: 2, errors: [{ row: 1, field: 'date' }, { row: 3 }] })
    t.equal((await read({ payload: rows(0, 2, 1, 300) })).status, 201)
  },
)

t.test('of many days the first 1,000 are named, all are counted', async (t) => {
  const { read } = await aValidList(t, [0, 0], { is_calendar: true })
  const payload = Array.from({ length: 1500 }, () => ({ ...uk('A'), date: inDays(1) }))
  const { body } = await read({ require_valid: true, payload })
  t.strictSame([body.error_count, body.errors.length], [1500, 1000])
})

t.test('bad rows come before days that are not valid', async (t) => {
  const { read } = await aValidList(t, [-9, -1])
  const bad = { payload: [uk('A'), { ...uk('A'), color: 'red' }, 5], require_valid: true }
  const faults = ['/payload/1/color unknown_key', '/payload/2 type']
  expectFaults(t, await read(bad), faults)
  expectFaults(t, await read(bad), faults)
  const unknown = { payload: [{ ...uk('A'), promotion: 'absent' }], require_valid: true }
  expectFaults(t, await read(unknown), ['/payload/0/promotion unknown_promotion'])
  const calendar = await aValidList(t, [-9, -1], { is_calendar: true })
  const days = [{ date: inDays(2) }, {}, { date: inDays(400) }].map((day) => ({
    ...uk('A'),
    ...day,
  }))
  expectFaults(t, await calendar.read({ payload: days, require_valid: true }), [
    '/payload/1/date required',
    '/payload/2/date date_outside_calendar',
  ])
})

t.test('a list that is absent or not published is that first', async (t) => {
  const { shop } = await aValidList(t, [-9, -1])
  await aList(shop, { name: 'draft', valid_from: '2020-01-01', valid_to: '2020-01-02' })
  const read = (price_list_name: string) =>
    shop.post(path, { price_list_name, payload: [uk('A')], require_valid: true })
  expectProblem(t, await read('absent'), { status: 404, type: 'price-list-not-found' })
  expectProblem(t, await read('draft'), { status: 409, type: 'price-list-not-published' })
})

t.test('require_valid is true or false', async (t) => {
  const { read } = await aValidList(t, [0, 0])
  for (const require_valid of ['true', 1, null])
    t.match(await read({ require_valid }), {
      status: 400,
      body: { errors: [{ pointer: '/require_valid', code: 'type' }] },
    })
})
