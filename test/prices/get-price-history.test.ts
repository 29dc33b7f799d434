import t, { type Test } from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShopOf, setPrices } from '../helpers/shop.ts'
import { aWrittenList } from '../helpers/written-list.ts'

const service = await sharedService()
const path = '/api/v1/prices/get_price_history/'
const uk = (code: string) => ({ code, country: 'UK' })

interface Entry {
  from: string
  to: string | null
  price: number
  revision: number
}

t.test('an entry is of the revision that set the price, also before `from`', async (t) => {
  const { shop } = await aFilledList(t, service, { price_dimensions: ['retail', 'whole'] })
  for (const [index, price_dimension] of ['retail', 'whole'].entries())
    await setPrices(shop, 'L', [{ ...uk('A'), price_dimension, price: 5 + index }])
  const payload = [{ ...uk('A'), price_dimension: 'retail' }]
  const { body } = await shop.post(path, { price_list_name: 'L', from: 3, payload })
  t.match(body[0].history, [{ price: 5, revision: 2, to: null }])
  t.equal(body[0].history.length, 1)
})

for (const [stored, is_calendar] of [
  ['a row', false],
  ['a month of a calendar row', true],
] as const)
  t.test(`prices of ${stored} each have their own history`, async (t) => {
    const price_dimensions = ['retail', 'whole']
    const { shop } = await aFilledList(t, service, { is_calendar, price_dimensions })
    const [one, other] = is_calendar
      ? ['04', '05'].map((day) => ({ price_dimension: 'retail', date: `2026-05-${day}` }))
      : [{ price_dimension: 'retail' }, { price_dimension: 'whole' }]
    for (const [key, price] of [
      [one, 1],
      [other, 2],
      [one, 3],
      [other, 4],
      [one, 5],
    ] as const)
      await setPrices(shop, 'L', [{ ...uk('A'), ...key, price }])
    const payload = [one, other, one].map((key) => ({ ...uk('A'), ...key }))
    const read = async (range: object) =>
      (await shop.post(path, { price_list_name: 'L', payload, ...range })).body.map(
        ({ history }: { history: Entry[] }) =>
          history.map(({ price, revision }) => [price, revision]),
      )
    const [oneWhole, otherWhole] = [
      [
        [0, 1],
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      [
        [0, 1],
        [2, 3],
        [4, 5],
      ],
    ]
    t.strictSame(await read({}), [oneWhole, otherWhole, oneWhole])
    for (const [from, ones, others] of [
      [2, 1, 0],
      [3, 1, 1],
      [4, 2, 1],
      [5, 2, 2],
      [6, 3, 2],
    ] as const)
      t.strictSame(
        await read({ from }),
        [oneWhole.slice(ones), otherWhole.slice(others), oneWhole.slice(ones)],
        `from ${from}`,
      )
  })

t.test('a missing extension is named by its JSON Pointer', async (t) => {
  const extensions = [{ name: 'a/b', type: 'string' }]
  const shop = await aShopOf(t, service, { extensions }, [{ code: 'A', 'a/b': 'x' }])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', 'a/b': 'x' }])
  const { body } = await shop.post(path, { price_list_name: 'L', payload: [{ code: 'A' }] })
  t.match(body.errors, [{ pointer: '/payload/0/a~1b', code: 'required' }])
})

for (const is_calendar of [false, true])
  t.test(`a ${is_calendar ? 'calendar ' : ''}list has a price of each time`, async (t) => {
    const written = { is_calendar, seed: 5, writes: 30, cellsAtOnce: 6 }
    const { shop, list, keys, shown } = await aWrittenList(t, service, written)
    const { results } = (await shop.get(`/api/v1/price_list/${list.id}/revisions/?limit=100`)).body
    const moments = new Map<number, string>(
      results.map(({ revision, at }: { revision: number; at: string }) => [revision, at]),
    )
    const { status, body } = await shop.post(path, { price_list_id: list.id, payload: keys })
    t.equal(status, 200)
    t.equal(body.length, keys.length)
    for (const [index, key] of keys.entries()) {
      const expected: Entry[] = []
      let before: number | undefined
      for (const [number, seen] of shown) {
        const isKey = (row: typeof key) =>
          JSON.stringify([row.code, row.price_dimension, row.date]) ===
          JSON.stringify([key.code, key.price_dimension, key.date])
        const price: number | undefined = seen.exact.body.find(isKey)?.base_price
        const [revision, last] = [Number(number), expected.at(-1)]
        const from = moments.get(revision) as string
        if (price !== before && before !== undefined && last) last.to = from
        if (price !== undefined && price !== before)
          expected.push({ from, to: null, price, revision })
        before = price
      }
      const { history, ...row } = body[index]
      t.strictSame(row, key)
      const entries = history.map(({ from, to, price, revision }: Entry) => ({
        from,
        to,
        price,
        revision,
      }))
      t.strictSame(entries, expected, JSON.stringify(key))
    }
  })

for (const is_calendar of [false, true])
  t.test(
    `a row of a ${is_calendar ? 'calendar ' : ''}list that left and came back has each time its prices`,
    async (t) => {
      const { shop, id } = await aFilledList(t, service, { is_calendar })
      const cell = { ...uk('A'), ...(is_calendar && { date: '2026-12-24' }) }
      await setPrices(shop, 'L', [{ ...cell, price: 5 }])
      const removal = { price_list_name: 'L', payload: [uk('A')] }
      await shop.post('/api/v1/prices/bulk_remove_products/', removal)
      await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 3 })
      await setPrices(shop, 'L', [{ ...cell, price: 7 }])
      for (const [index, day] of ['10-01', '10-11', '10-21', '10-31', '11-10'].entries()) {
        const at = `update list_revisions set at = '2026-${day}T12:00:00Z' where price_list_id = ${id}`
        await query(service.url, `${at} and revision = ${index + 1}`)
      }
      const [{ history }] = (await shop.post(path, { price_list_id: id, payload: [cell] })).body
      t.match(history, [
        { price: 0, revision: 1 },
        { price: 5, revision: 2 },
        { price: 5, revision: 4 },
        { price: 7, revision: 5, to: null },
      ])
      t.equal(history.length, 4)
      t.equal(history[0].to, history[1].from)
      t.ok(history[1].to < history[2].from)
      const lowest = async (before: string) => {
        const asked = { include: ['lowest_price'], lowest_price: { days: 5, before } }
        const body = { price_list_id: id, payload: [cell], ...asked }
        return (await shop.post('/api/v1/prices/get_prices/', body)).body[0].lowest_price
      }
      t.match(await lowest('2026-10-24'), { price: 5, on: '2026-10-21', days_known: 3 })
      t.equal(await lowest('2026-10-29'), null, 'it was not in the list')
    },
  )

/** A list "L" with the row A, added, then priced at 5 and at 7, and what reads its history. */
async function aPricedRow(t: Test) {
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'], rows: [uk('A')] })
  for (const price of [5, 7]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  const read = (options: object, payload: object[] = [uk('A')]) =>
    shop.post(path, { price_list_name: 'L', payload, ...options })
  const prices = async (options: object) =>
    (await read(options)).body[0].history.map(({ price }: Entry) => price)
  return { shop, read, prices }
}

t.test('an entry says who, how and why', async (t) => {
  const { shop, read } = await aPricedRow(t)
  const body = { price_list_name: 'L', payload: [{ ...uk('A'), price: 9 }] }
  await shop.send('POST', '/api/v1/prices/bulk_update_prices/', body, { 'change-note': 'why' })
  const [{ history }] = (await read({})).body
  t.match(history[0], { price: 0, kind: 'add_products', actor: { type: 'user' } })
  t.match(history.at(-1), { price: 9, to: null, kind: 'update_prices', note: 'why' })
})

t.test('only prices that were in force between two moments', async (t) => {
  const { read, prices } = await aPricedRow(t)
  t.strictSame(await prices({ from: 2 }), [5, 7])
  t.strictSame(await prices({ from: 0 }), [0, 5, 7])
  t.strictSame(await prices({ to: 3 }), [0, 5])
  t.strictSame(await prices({ from: 2, to: 3 }), [5])
  t.strictSame(await prices({ from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }), [])
  t.strictSame(await prices({ from: '2020-01-01T00:00:00Z' }), [0, 5, 7])
  const [cut] = (await read({ from: 3 })).body[0].history
  t.equal(cut.price, 7)
})

t.test('a product that was never in the list has no history', async (t) => {
  const { read } = await aPricedRow(t)
  t.strictSame((await read({}, [uk('B'), uk('none')])).body, [
    { ...uk('B'), history: [] },
    { ...uk('none'), history: [] },
  ])
})

t.test('histories of many keys come in the order of the payload', async (t) => {
  const { read } = await aPricedRow(t)
  const absent = Array.from({ length: 5500 }, (_, index) => uk(`none ${index}`))
  const { body } = await read({}, [...absent, uk('A')])
  const { history } = body.pop()
  t.strictSame(
    history.map(({ price }: Entry) => price),
    [0, 5, 7],
  )
  t.strictSame(
    body,
    absent.map((key) => ({ ...key, history: [] })),
  )
})

t.test('the newest 1,000 entries are shown', async (t) => {
  const { shop } = await aFilledList(t, service)
  for (let price = 1; price <= 1000; price++) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  const { body } = await shop.post(path, { price_list_name: 'L', payload: [uk('A')] })
  const shown = body[0].history.map(({ price }: Entry) => price)
  t.strictSame([shown.length, shown[0], shown.at(-1)], [1000, 1, 1000])
})

t.test('wildcards, unknown lists and moments that make no sense are refused', async (t) => {
  const { shop, read } = await aPricedRow(t)
  const open = await read({}, [{ code: 'A' }, { country: 'UK' }])
  expectProblem(t, open, 400, 'invalid-request', 'wildcards')
  t.match(open.body.errors, [
    { pointer: '/payload/0/country', code: 'required' },
    { pointer: '/payload/1/code', code: 'required' },
  ])
  for (const range of [{ from: 9 }, { from: 3, to: 2 }, { from: '2026-01-01' }])
    expectProblem(t, await read(range), 400, 'invalid-request', JSON.stringify(range))
  await aList(shop, { name: 'draft' })
  const draft = await shop.post(path, { price_list_name: 'draft', payload: [] })
  expectProblem(t, draft, 409, 'price-list-not-published', 'draft')
  const other = await service.newAccount(t)
  const foreign = await other.post(path, { price_list_name: 'L', payload: [] })
  expectProblem(t, foreign, 404, 'price-list-not-found', 'foreign')
})
