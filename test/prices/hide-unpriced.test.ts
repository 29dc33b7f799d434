import t, { type Test } from 'tap'
import { expectProblem } from '../helpers/faults.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const codes = ['A', 'B', 'C']
const keys = codes.flatMap((code) => ['FR', 'UK'].map((country) => ({ code, country })))
const day = '2026-03-01'
const path = '/api/v1/prices/get_prices/'

/**
 * A list that hides unpriced cells. Of retail, A in both countries (FR at 0) and B in the UK are priced; of trade,
 * nothing but C in the UK.
 */
async function aHidingList(t: Test, settings: Record<string, unknown> = {}, by = service) {
  const list = { price_dimensions: ['retail', 'trade'], hide_unpriced: true, ...settings }
  const { shop, id } = await aFilledList(t, by, { codes, countries: ['FR', 'UK'], ...list })
  const date = settings.is_calendar ? { date: day } : {}
  const set = (code: string, country: string, price_dimension: string, price: number) =>
    setPrices(shop, 'L', [{ code, country, price_dimension, ...date, price }])
  await set('A', 'FR', 'retail', 0)
  await set('A', 'UK', 'retail', 5)
  await set('B', 'UK', 'retail', 6)
  await set('C', 'UK', 'trade', 7)
  const send = (payload: object[], options: object = {}) => {
    const rows = payload.map((row) => ({ price_dimension: 'retail', ...date, ...row }))
    return shop.post(path, { price_list_name: 'L', payload: rows, ...options })
  }
  const read = async (payload: object[], options: object = {}): Promise<string[]> => {
    const { body } = await send(payload, options)
    return body.map(
      ({ code, country, active_price }: Record<string, unknown>) =>
        `${code} ${country} ${active_price}`,
    )
  }
  const hide = (hide_unpriced: boolean) =>
    shop.send('PATCH', `/api/v1/price_list/${id}`, { hide_unpriced })
  return { shop, send, read, hide }
}

const priced = ['A FR 0', 'A UK 5', 'B UK 6']
const ways: Record<string, object[]> = {
  'exact keys': keys,
  'exact keys of two dimensions': [...keys, { code: 'C', country: 'UK', price_dimension: 'trade' }],
  'the codes': codes.map((code) => ({ code })),
  'an attribute': codes.map((code) => ({ attributes: { description: `about ${code}` } })),
  'an extension, the other exact': [{ code: 'A', country: 'FR' }, { country: 'UK' }],
  everything: [{}],
}

for (const is_calendar of [false, true])
  t.test(`unpriced cells of a ${is_calendar ? 'calendar ' : ''}list are not read`, async (t) => {
    const { read, hide } = await aHidingList(t, { is_calendar })
    const trade = ['C UK 7']
    for (const [way, payload] of Object.entries(ways)) {
      const expected = way.includes('two dimensions') ? [...priced, ...trade] : priced
      t.strictSame(await read(payload), expected, way)
      for (const include of [['priced'], ['margin'], ['dynamic_attributes'], ['explain']])
        t.strictSame(await read(payload, { include }), expected, `${way} with ${include}`)
    }
    t.strictSame(await read([{ code: 'C', country: 'UK' }]), [], 'one unpriced cell')
    t.strictSame(await read([{ code: 'A', country: 'FR' }]), ['A FR 0'], 'a price of 0')
    t.strictSame(await read([{ price_dimension: 'trade' }]), trade)
    await hide(false)
    t.equal((await read([{}])).length, keys.length)
    t.strictSame(await read(keys.slice(4)), ['C FR 0', 'C UK 0'])
    await hide(true)
    t.strictSame(await read(keys), priced)
    t.strictSame(await read([{}]), priced)
  })

t.test('a calendar list hides the days without a price', async (t) => {
  const { send } = await aHidingList(t, { is_calendar: true })
  const row = { code: 'A', country: 'UK' }
  for (const payload of [[row], [{ country: 'UK' }]]) {
    const rows = ['2026-03-02', '2026-01-01'].flatMap((date) =>
      payload.map((one) => ({ ...one, date })),
    )
    t.strictSame((await send(rows)).body, [])
  }
})

for (const is_calendar of [false, true])
  t.test(`the past of a ${is_calendar ? 'calendar ' : ''}list is read without them`, async (t) => {
    const { read, hide } = await aHidingList(t, { is_calendar })
    for (const payload of [keys, [{}]]) {
      t.strictSame(await read(payload, { as_of: 1 }), [])
      t.strictSame(await read(payload, { as_of: 3 }), ['A FR 0', 'A UK 5'])
    }
    await hide(false)
    t.equal((await read([{}], { as_of: 3 })).length, keys.length)
  })

t.test('every row that is read is priced', async (t) => {
  const { send } = await aHidingList(t)
  for (const payload of [keys, [{}]]) {
    const { body } = await send(payload, { include: ['priced', 'base_price'] })
    t.strictSame(
      body.map((row: Record<string, unknown>) => [row.base_price, row.priced]),
      [
        [0, true],
        [5, true],
        [6, true],
      ],
    )
  }
})

t.test('a promotion shows no unpriced cell', async (t) => {
  const { shop, read } = await aHidingList(t)
  const promotion = { name: 'P', kind: 'fixed_price', value: 1, valid_from: day, valid_to: day }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [promotion])
  const promoted = ['A FR 0', 'A UK 1', 'B UK 1']
  for (const payload of [keys, [{}], keys.map((key) => ({ ...key, promotion: 'P' }))])
    t.strictSame(await read(payload, { promotion_date: day }), promoted)
})

t.test('only cells that are read count for the limit of a read', async (t) => {
  const small = await startTestService(t, { READ_ROWS_MAX: '3' })
  const { read, send, hide } = await aHidingList(t, {}, small)
  t.strictSame(await read([{}]), priced)
  // Of the same rows, another dimension has another number of cells.
  t.strictSame(await read([{ country: 'UK' }, { country: 'UK', price_dimension: 'trade' }]), [
    'A UK 5',
    'B UK 6',
    'C UK 7',
  ])
  const tooLarge = { status: 400, type: 'result-too-large' }
  expectProblem(t, await send([{}, { price_dimension: 'trade' }]), tooLarge)
  await hide(false)
  expectProblem(t, await send([{}]), tooLarge)
})

t.test('a large read hides them, too', async (t) => {
  const all = Array.from({ length: 2100 }, (_, index) => `P${1000 + index}`)
  const { shop } = await aFilledList(t, service, { codes: all, hide_unpriced: true })
  const rows = all.map((code) => ({ code, country: 'UK' }))
  const even = rows.filter((_, index) => index % 2 === 0)
  const prices = even.map((row, index) => ({ ...row, price: index / 4 }))
  await setPrices(shop, 'L', prices)
  for (const payload of [[{}], rows])
    for (const include of [[], ['priced'], ['dynamic_attributes']]) {
      const { body } = await shop.post(path, { price_list_name: 'L', payload, include })
      t.strictSame(
        body.map((row: Record<string, unknown>) => ({
          code: row.code,
          country: row.country,
          price: row.active_price,
        })),
        prices,
      )
    }
})
