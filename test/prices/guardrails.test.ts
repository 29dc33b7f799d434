import t from 'tap'
import { dayAfter } from '../../src/price-lists/calendar.ts'
import { anApiKey, withKey } from '../helpers/api-keys.ts'
import { expectProblem } from '../helpers/operations.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

const service = await sharedService()
type Tap = Parameters<typeof aPricedList>[0]
const file = { 'content-type': 'text/csv' }
const updates = '/api/v1/prices/bulk_update_prices/'

/** What a price of A (10 before) violates. */
async function violated(t: Tap, guardrails: object, prices: Record<string, number>) {
  const { shop, list, update, setCosts } = await aPricedList(t, service)
  await setCosts({ A: 6, B: 6 })
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, { guardrails })
  const answer = await update(prices)
  if (answer.status === 201) return []
  expectProblem(t, answer, 422, 'guardrail-violated', JSON.stringify(guardrails))
  return answer.body.errors.map(({ code }: { code: string }) => code)
}

const cases: [guardrails: object, prices: Record<string, number>, codes: string[]][] = [
  [{ min_price: 9 }, { A: 9 }, []],
  [{ min_price: 9 }, { A: 8.99 }, ['min_price']],
  [{ max_price: 11 }, { A: 11.01 }, ['max_price']],
  [{ max_increase_percent: 10 }, { A: 11 }, []],
  [{ max_increase_percent: 10 }, { A: 11.000001 }, ['max_increase_percent']],
  [{ max_increase_percent: 10 }, { C: 1000 }, []],
  [{ max_decrease_percent: 10 }, { A: 9 }, []],
  [{ max_decrease_percent: 10 }, { A: 8.999999 }, ['max_decrease_percent']],
  [{ min_margin_percent: 25 }, { A: 8 }, []],
  [{ min_margin_percent: 25 }, { A: 7.999999 }, ['min_margin_percent']],
  [{ min_margin_percent: 25 }, { C: 100 }, ['min_margin_percent']],
  [{ no_zero: true }, { A: 0 }, ['no_zero']],
  [{ no_zero: false }, { A: 0 }, []],
  [
    { min_price: 9, no_zero: true, max_decrease_percent: 5 },
    { A: 0 },
    ['min_price', 'max_decrease_percent', 'no_zero'],
  ],
  [{ max_changed_percent: 1 }, { A: 1, B: 1, C: 1 }, []],
  [{ min_price: 50 }, { A: 10, B: 20 }, []],
]
for (const [guardrails, prices, codes] of cases) {
  const what = `${JSON.stringify(guardrails)} and ${JSON.stringify(prices)}`
  t.test(`${what}: ${codes.join(', ') || 'allowed'}`, async (t) => {
    t.strictSame((await violated(t, guardrails, prices)).sort(), [...codes].sort())
  })
}

t.test('an old price of 0 has no percentage', async (t) => {
  const { update } = await aPricedList(t, service, { guardrails: { max_increase_percent: 10 } })
  for (const A of [0, 5]) t.equal((await update({ A })).status, 201)
})

t.test('errors name the row, the old and the new price and the limit', async (t) => {
  const { update, pricesNow } = await aPricedList(t, service, { guardrails: { min_price: 9 } })
  const { body } = await update({ B: 20, A: 5 })
  t.match(body, {
    error_count: 1,
    errors: [
      { pointer: '/payload/1', row: 1, code: 'min_price', message: 'from 10 to 5: is below 9' },
    ],
  })
  t.match(await pricesNow(), { A: 10, B: 20 })
})

t.test('of many violations the first 1,000 in the order of the call are listed', async (t) => {
  const codes = ['A', 'B', 'C']
  const guardrails = { min_price: 9 }
  const { shop } = await aFilledList(t, service, { codes, is_calendar: true, guardrails })
  const days = Array.from({ length: 365 }, (_, day) => dayAfter('2026-12-31', -day))
  const payload = days.flatMap((date) => codes.map((code) => ({ ...uk(code), date, price: 1 })))
  const json = await shop.post(updates, { price_list_name: 'L', payload })
  const lines = payload.map(({ code, country, date, price }) => [code, country, date, price])
  const csv = `code,country,date,price\n${lines.join('\n')}\n`
  const sent = await shop.send('POST', `${updates}?price_list_name=L`, csv, file)
  for (const { body } of [json, sent]) {
    t.equal(body.error_count, 1095)
    const rows = body.errors.map(({ row }: { row: number }) => row)
    t.strictSame(rows, [...Array(1000).keys()])
  }
})

t.test('files and jobs are guarded, too, and name lines', async (t) => {
  const { shop, pricesNow } = await aPricedList(t, service, { guardrails: { min_price: 9 } })
  const rows = 'code,country,price\nB,UK,30\nA,UK,5\n'
  const at = `${updates}?price_list_name=L`
  const { status, body } = await shop.send('POST', at, rows, file)
  t.match({ status, body }, { status: 422, body: { errors: [{ pointer: '/1', line: 3 }] } })
  const job = await shop.send('POST', at, rows, { ...file, prefer: 'respond-async' })
  t.match(await shop.finished(job.body), {
    status: 'failed',
    errors: [{ code: 'guardrail-violated' }, { code: 'min_price', line: 3 }],
  })
  t.match(await pricesNow(), { A: 10, B: 20 })
})

t.test('days of a calendar list are guarded', async (t) => {
  const guardrails = { max_price: 9 }
  const { shop } = await aFilledList(t, service, { is_calendar: true, guardrails })
  const payload = ['2026-01-01', '2026-02-03'].map((date, index) => {
    return { ...uk('A'), date, price: 9 + index }
  })
  const { status, body } = await shop.post(updates, { price_list_name: 'L', payload })
  t.match({ status, body }, { status: 422, body: { errors: [{ pointer: '/payload/1' }] } })
})

async function aLongList(t: Tap, guardrails: object, { rows = 100, is_calendar = false } = {}) {
  const codes = Array.from({ length: rows }, (_, index) => `P${index}`)
  const { shop, list } = await aFilledList(t, service, { codes, guardrails, is_calendar })
  const update = (count: number, query = '') =>
    shop.post(`${updates}${query}`, {
      price_list_name: 'L',
      payload: codes.slice(0, count).map((code) => ({ ...uk(code), price: 5 })),
    })
  const retire = (count: number) =>
    shop.post(
      '/api/v1/product_catalog/bulk_create_or_update/',
      codes.slice(0, count).map((code) => ({ ...uk(code), active: false })),
    )
  const sync = (headers: Record<string, string> = {}) =>
    shop.send('POST', '/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' }, headers)
  return { shop, list, update, retire, sync }
}

t.test('a call changes at most so many percent of 100 rows or more', async (t) => {
  const { update } = await aLongList(t, { max_changed_percent: 10 })
  const { status, body } = await update(11)
  t.match({ status, body }, { status: 422, body: { error_count: 1 } })
  t.strictSame(
    body.errors.map(({ pointer, row, code }: Record<string, unknown>) => [pointer, row, code]),
    [['', undefined, 'max_changed_percent']],
  )
  t.equal((await update(10)).status, 201)
})

t.test('a call may change all rows of a list that has fewer than 100', async (t) => {
  const { update } = await aLongList(t, { max_changed_percent: 10 }, { rows: 99 })
  t.equal((await update(99)).status, 201)
})

t.test('many days of a row are one changed row', async (t) => {
  const { shop } = await aLongList(t, { max_changed_percent: 10 }, { is_calendar: true })
  const payload = Array.from({ length: 30 }, (_, day) => {
    return { ...uk('P0'), date: `2026-12-${String(day + 1).padStart(2, '0')}`, price: 5 }
  })
  const { status } = await shop.post(updates, { price_list_name: 'L', payload })
  t.equal(status, 201)
})

t.test('prices and the list are judged in one answer, also where a plan is applied', async (t) => {
  const { shop, update } = await aLongList(t, { max_price: 4, max_changed_percent: 10 })
  const found = ({ body }: Awaited<ReturnType<typeof update>>) => [
    body.error_count,
    body.errors[0].code,
    body.errors[11].code,
  ]
  t.strictSame(found(await update(11)), [12, 'max_changed_percent', 'max_price'])
  const plan = await update(11, '?plan=true')
  const apply = await shop.post(`/api/v1/plans/${plan.body.id}/apply/`, {})
  t.strictSame(found(apply), [12, 'max_changed_percent', 'max_price'])
})

t.test(
  'a sync removes at most so many percent, also as a job, which leaves no draft',
  async (t) => {
    const { shop, list, retire, sync } = await aLongList(t, { max_removed_percent: 10 })
    await retire(11)
    const { status, body } = await sync()
    t.match(
      { status, body },
      { status: 422, body: { errors: [{ pointer: '', code: 'max_removed_percent' }] } },
    )
    const more = Array.from({ length: 60 }, (_, index) => uk(`Q${index}`))
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', more)
    const job = await sync()
    t.match(await shop.finished(job.body), {
      status: 'failed',
      errors: [{ code: 'guardrail-violated' }, {}],
    })
    const draft = await shop.get(`/api/v1/price_list/${list.id}/rows?version=draft&limit=1`)
    t.equal(draft.body.count, 100)
    t.match(await sync({ 'override-guardrails': 'end of season' }), { status: 201 })
  },
)

t.test('an override lets a call pass, and stays in the revision', async (t) => {
  const { shop, list, update } = await aPricedList(t, service, { guardrails: { min_price: 9 } })
  const reason = 'Räumung'
  const sent = Buffer.from(reason).toString('latin1')
  t.equal((await update({ A: 5 }, { 'override-guardrails': sent })).status, 201)
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(body, { override: reason })
})

t.test('an override needs its scope, even if nothing is violated', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const { key: made } = await anApiKey(shop, { scopes: ['write'] })
  const key = withKey(shop, made)
  const body = { price_list_name: list.name, payload: [{ ...uk('A'), price: 11 }] }
  const answer = await key.send('POST', updates, body, { 'override-guardrails': 'sale' })
  expectProblem(t, answer, 403, 'forbidden', 'scope')
  t.equal((await key.send('POST', updates, body)).status, 201)
})

t.test('an override has 1 to 255 characters', async (t) => {
  const { update } = await aPricedList(t, service)
  for (const reason of ['', 'x'.repeat(256)])
    t.equal((await update({ A: 11 }, { 'override-guardrails': reason })).status, 400)
})

t.test('an undo is never stopped', async (t) => {
  const { shop, list, update, pricesNow } = await aPricedList(t, service)
  await update({ A: 30 })
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, {
    guardrails: { max_decrease_percent: 1, min_price: 20 },
  })
  const path = `/api/v1/price_list/${list.id}/revert/`
  t.equal((await shop.post(path, { revision: 3 })).status, 201)
  t.match(await pricesNow(), { A: 10 })
})

t.test('nor is a planned one, which violates nothing', async (t) => {
  const { shop, list, update, apply, pricesNow } = await aPricedList(t, service)
  await update({ A: 30 })
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, {
    guardrails: { max_decrease_percent: 1, min_price: 20 },
  })
  const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
  const { body } = await shop.post(path, { revision: 3 })
  t.strictSame(body.violations, [])
  t.equal((await apply(body.id)).status, 201)
  t.match(await pricesNow(), { A: 10 })
})
