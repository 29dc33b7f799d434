import t, { type Test } from 'tap'
import { loadPath } from '../helpers/agreement.ts'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const path = '/api/v1/prices/get_prices/'
const date = { promotion_date: '2026-06-01' }

const schema = {
  attributes: [
    { name: 'group', type: 'string' },
    { name: 'shelf', type: 'integer' },
    { name: 'eco', type: 'boolean' },
  ],
  extensions: [{ name: 'country', type: 'string' }],
  costs: [{ name: 'purchase' }],
}

/** A list "L" with the rows A (in UK and FR) and B, A priced at 10; how it is read for the client C, and agreed prices. */
async function aListOfClients(t: Test, options: object = {}) {
  const about = { group: 'toys', shelf: 3, eco: true, purchase: 6 }
  const products = [uk('A'), { code: 'A', country: 'FR' }, uk('B')]
  const shop = await aShopOf(
    t,
    service,
    schema,
    products.map((product) => ({ ...product, ...about })),
  )
  await aList(shop, { name: 'L', ...options })
  await addProducts(shop, 'L', products)
  const agree = (...agreements: object[]) =>
    shop.post(
      loadPath,
      agreements.map((one) => ({
        name: 'agreed',
        client_code: 'C',
        price_list_code: 'L',
        price_line: { product_code: 'A' },
        prices: { price: 7 },
        ...one,
      })),
    )
  const read = async (payload: object[] = [uk('A')], options: object = {}) => {
    const body = { price_list_name: 'L', client_code: 'C', payload, ...date, ...options }
    return shop.post(path, body)
  }
  const agreed = async (row?: object) => {
    const [{ agreement }] = (await read(row && [row])).body
    return agreement && [agreement.name, agreement.price]
  }
  return { shop, agree, read, agreed }
}

const priced = (price = 10) => ({ ...uk('A'), price })

t.test('without a client nothing is agreed, with one each row says what is', async (t) => {
  const { shop, agree, read } = await aListOfClients(t)
  await setPrices(shop, 'L', [priced()])
  await agree({})
  const rows = (await read([uk('A'), uk('B'), {}])).body
  t.strictSame(
    rows.map(({ active_price, agreement }: Record<string, { name: string }>) => [
      active_price,
      agreement?.name ?? null,
    ]),
    [
      [7, 'agreed'],
      [0, null],
      [7, 'agreed'],
      [7, 'agreed'],
      [0, null],
    ],
  )
  t.type(rows[0].agreement.id, 'number')
  const { body } = await shop.post(path, { price_list_name: 'L', payload: [uk('A')] })
  t.strictSame([body[0].active_price, 'agreement' in body[0]], [10, false])
  const [other] = (await read([uk('A')], { client_code: 'D' })).body
  t.match(other, { active_price: 10, agreement: null })
})

t.test('an agreed price stands in for the published one, also a higher one', async (t) => {
  const { shop, agree, read } = await aListOfClients(t)
  await setPrices(shop, 'L', [priced()])
  await agree({ prices: { price: 12 } })
  const include = ['base_price', 'margin', 'active_margin', 'explain']
  const [row] = (await read([uk('A')], { include })).body
  t.match(row, { active_price: 12, base_price: 10, margin: 40, active_margin: 50 })
  t.match(row.explain, { decided_by: 'agreement', published: { price: 10 }, margin: { value: 40 } })
})

t.test('promotions start from the published price and never stack on the agreed one', async (t) => {
  const { shop, agree, read } = await aListOfClients(t)
  await setPrices(shop, 'L', [priced()])
  const promote = (value: number) =>
    shop.post('/api/v1/promotions/bulk_create_or_update/', [
      { name: 'P', kind: 'amount', value, valid_from: '2026-01-01', valid_to: '2026-12-31' },
    ])
  await promote(2)
  await agree({})
  const include = ['explain']
  t.match((await read([uk('A')], { include })).body, [
    { active_price: 7, promotions: [{ value: 8 }], explain: { decided_by: 'agreement' } },
  ])
  await promote(4)
  t.match((await read([uk('A')], { include })).body, [
    { active_price: 6, promotions: [{ value: 6 }], agreement: { price: 7 } },
  ])
  await agree({ prices: { price: 12 } })
  await promote(0)
  const [{ active_price, explain }] = (await read([uk('A')], { include })).body
  t.strictSame([active_price, explain.decided_by], [10, 'promotion'])
  t.match(explain, { promotions: [{ verdict: 'in_force' }], agreements: [{ verdict: 'in_force' }] })
})

t.test('without a published price no percentage or amount is taken off', async (t) => {
  const { shop, agree, read } = await aListOfClients(t)
  const promotion = { value: 5, valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const promote = (...kinds: string[]) =>
    shop.post(
      '/api/v1/promotions/bulk_create_or_update/',
      kinds.map((kind) => ({ ...promotion, name: kind, kind })),
    )
  await promote('amount', 'percentage')
  await agree({})
  const include = ['explain']
  const unpromoted = {
    ...{ active_price: 7, promotions: { length: 0 }, agreement: { price: 7 } },
    explain: { decided_by: 'agreement', promotions: [{ price: undefined }, { price: undefined }] },
  }
  t.match((await read([uk('A')], { include })).body, [unpromoted])
  t.match((await read([uk('B')])).body, [{ active_price: 0, promotions: [{}, {}] }])
  await promote('fixed_price')
  t.match((await read([uk('A')], { include })).body, [
    { active_price: 5, promotions: [{ value: 5 }], explain: { decided_by: 'promotion' } },
  ])
  await setPrices(shop, 'L', [priced(0)])
  t.match((await read()).body, [{ active_price: 0, promotions: [{}, {}, {}] }], '0 is a price')
})

t.test('every key of the line must equal the value of the row', async (t) => {
  const { agree, agreed } = await aListOfClients(t)
  for (const price_line of [
    { product_code: 'B' },
    { code: 'B', product_code: 'A' },
    { code: 'A', country: 'FR' },
    { group: 'TOYS' },
    { shelf: 4 },
    { eco: false },
    { eco: 'TRUE' },
    { shelf: 'three' },
    { shelf: true },
    { purchase: 6 },
    { colour: 'red' },
    { code: 'A', colour: 'red' },
  ]) {
    await agree({ price_line })
    t.equal(await agreed(), null, JSON.stringify(price_line))
  }
  for (const price_line of [
    { product_code: 'A' },
    { code: 'A' },
    { code: 'A', product_code: 'A' },
    { country: 'UK' },
    { group: 'toys' },
    { shelf: 3 },
    { shelf: '3' },
    { shelf: '3.0' },
    { eco: true },
    { eco: 'true' },
    { code: 'A', country: 'UK', group: 'toys', shelf: '3', eco: true },
  ]) {
    const other = await aListOfClients(t)
    await other.agree({ price_line })
    t.strictSame(await other.agreed(), ['agreed', 7], JSON.stringify(price_line))
  }
})

t.test('a number in the line equals a text of its digits', async (t) => {
  const { shop, agree, agreed } = await aListOfClients(t)
  const digits = { code: '123', country: '7' }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...digits, group: '4.5' }])
  await addProducts(shop, 'L', [digits])
  await agree({ price_line: { product_code: 123, country: 8 } })
  t.equal(await agreed(digits), null)
  await agree({ price_line: { product_code: 123, country: 7, group: 4.5 } })
  t.strictSame(await agreed(digits), ['agreed', 7])
})

t.test('the most keys win, then the lowest price, then the lowest id', async (t) => {
  const { agree, agreed } = await aListOfClients(t)
  await agree({ name: 'group', price_line: { group: 'toys' }, prices: { price: 1 } })
  await agree({ name: 'one key', price_line: { code: 'A', product_code: 'A' } })
  t.strictSame(await agreed(), ['group', 1], 'code and product_code are one key')
  await agree({ name: 'two', price_line: { code: 'A', country: 'UK' }, prices: { price: 9 } })
  t.strictSame(await agreed(), ['two', 9])
  await agree({ name: 'two, too', price_line: { code: 'A', shelf: 3 }, prices: { price: 8 } })
  t.strictSame(await agreed(), ['two, too', 8])
  await agree({ name: 'a third', price_line: { code: 'A', eco: true }, prices: { price: 8 } })
  t.strictSame(await agreed(), ['two, too', 8])
  await agree({
    name: 'three',
    price_line: { code: 'A', eco: true, shelf: 3 },
    prices: { other: 1 },
  })
  t.strictSame(await agreed(), ['two, too', 8], 'one without a price does not apply')
})

t.test('agreements of other lists, clients and accounts do not count', async (t) => {
  const { agree, agreed } = await aListOfClients(t)
  const { agree: agreeElsewhere } = await aListOfClients(t)
  await agree({ price_list_code: 'M' }, { client_code: 'D' })
  await agreeElsewhere({})
  t.equal(await agreed(), null)
})

t.test('`price` is the price of the only dimension; its name wins', async (t) => {
  const { agree, agreed } = await aListOfClients(t, { price_dimensions: ['retail'] })
  await agree({})
  t.strictSame(await agreed(), ['agreed', 7])
  await agree({ prices: { price: 7, retail: 8 } })
  t.strictSame(await agreed(), ['agreed', 8])
  await agree({ prices: { price: { '2026-06-01': 7 } } })
  t.equal(await agreed(), null, 'a list without a calendar has no days')
  await agree({ prices: { trade: 7 } })
  t.equal(await agreed(), null)
})

t.test('with several dimensions each has its own price', async (t) => {
  const { agree, read } = await aListOfClients(t, { price_dimensions: ['retail', 'trade'] })
  await agree({ prices: { price: 7, trade: 5 } })
  const rows = ['retail', 'trade', 'retail'].map((price_dimension) => ({
    ...uk('A'),
    price_dimension,
  }))
  t.match((await read(rows)).body, [{ agreement: null }, { active_price: 5 }, { agreement: null }])
})

t.test('in a calendar list a plain number holds on every day, others on theirs', async (t) => {
  const { agree, read } = await aListOfClients(t, {
    is_calendar: true,
    price_dimensions: ['d', 'e'],
  })
  await agree({ prices: { d: 7, e: { '2026-07-01': 5, '2026-07-02': 0 } } })
  const days = [
    ['d', '2026-07-01'],
    ['e', '2026-07-01'],
    ['e', '2026-07-02'],
    ['e', '2026-07-03'],
    ['d', '2026-12-31'],
  ]
  const rows = days.map(([price_dimension, date]) => ({ ...uk('A'), price_dimension, date }))
  const { body } = await read(rows)
  const prices = body.map(({ agreement }: { agreement: { price: number } }) => agreement?.price)
  t.strictSame(prices, [7, 5, 0, undefined, 7])
})

t.test('an explanation says why agreements decide or not', async (t) => {
  const { agree, read } = await aListOfClients(t)
  await agree(
    { name: 'a', price_line: { group: 'toys' }, prices: { price: 1 } },
    { name: 'b', price_line: { code: 'A', country: 'UK' } },
    { name: 'c', price_line: { code: 'A', shelf: 3 } },
    { name: 'd', price_line: { code: 'A', eco: true }, prices: { price: 8 } },
    { name: 'e', price_line: { code: 'B' } },
    { name: 'f', price_line: { code: 'A', country: 'UK', shelf: 3 }, prices: { trade: 8 } },
    { name: '😀', price_line: { colour: 'red' } },
    { name: 'ｚ', price_line: { colour: 'red' } },
    { name: 'h', client_code: 'D' },
    { name: 'i', price_list_code: 'M' },
  )
  const include = ['explain']
  const [{ agreement, explain }] = (await read([uk('A')], { include })).body
  const shown = explain.agreements.map((one: Record<string, unknown>) => [
    one.name,
    one.verdict,
    one.price,
  ])
  const ids = explain.agreements.map(({ id }: { id: number }) => id)
  t.equal(agreement.id, ids[1])
  t.equal(explain.decided_by, 'agreement')
  t.strictSame(shown, [
    ['a', 'less_specific', 1],
    ['b', 'in_force', 7],
    ['c', 'higher', 7],
    ['d', 'higher', 8],
    ['e', 'other_product', undefined],
    ['f', 'no_price', undefined],
    ['ｚ', 'other_product', undefined],
    ['😀', 'other_product', undefined],
  ])
  const [other] = (await read([uk('A')], { include, client_code: 'E' })).body
  t.match(other.explain, { agreements: { length: 0 }, decided_by: 'published' })
})

t.test('at most 100 agreements are shown, those that cover the row first', async (t) => {
  const { agree, read } = await aListOfClients(t)
  const others = Array.from({ length: 120 }, (_, index) => ({
    name: `a${index}`,
    price_line: { code: 'B', country: 'UK' },
  }))
  await agree(...others, { name: 'z' })
  const [{ explain }] = (await read([uk('A')], { include: ['explain'] })).body
  t.equal(explain.agreements.length, 100)
  t.match(explain.agreements.at(-1), { name: 'z', verdict: 'in_force' })
})

t.test('a read looks at no more than 100,000 agreements', async (t) => {
  const { shop, read } = await aListOfClients(t)
  const add = (first: number, last: number) =>
    query(
      service.url,
      `insert into agreements (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
       select ${shop.id}, int4send(n), 'a' || n, 'C', 'L', '{"code": "A"}', jsonb_build_object('price', n)
       from generate_series(${first}, ${last}) n`,
    )
  await add(1, 100_000)
  t.match((await read()).body, [{ agreement: { price: 1 } }])
  await add(0, 0)
  expectProblem(t, await read(), 400, 'too-costly', '100,001')
})

t.test('a large read, which is sent while it is read, has agreed prices', async (t) => {
  const shop = await aShopOf(t, service, schema)
  const codes = Array.from({ length: 2100 }, (_, index) => `P${index}`)
  const products = codes.map((code) => ({ ...uk(code), group: `g${code.at(-1)}` }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', products)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', codes.map(uk))
  const agreement = { name: 'a', client_code: 'C', price_list_code: 'L', prices: { price: 3 } }
  await shop.post(loadPath, [
    { ...agreement, price_line: { group: 'g7' } },
    { ...agreement, price_line: { code: 'P1' } },
  ])
  const read = async (row: object) => {
    const body = { price_list_name: 'L', client_code: 'C', payload: [row] }
    return (await shop.post(path, body)).body
  }
  const agreed = (rows: { agreement: object | null }[]) => rows.filter((row) => row.agreement)
  const rows = await read({})
  t.strictSame([rows.length, agreed(rows).length], [2100, 211])
  const ofGroup = await read({ group: 'g7' })
  t.strictSame([ofGroup.length, agreed(ofGroup).length], [210, 210])
})

t.test('the lowest price before a reduction leaves agreements out', async (t) => {
  const { shop, agree, read } = await aListOfClients(t)
  await setPrices(shop, 'L', [priced()])
  await agree({})
  const before = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const options = { include: ['lowest_price'], lowest_price: { before } }
  t.match((await read([uk('A')], options)).body, [{ active_price: 7, lowest_price: { price: 10 } }])
})

t.test('an empty payload has no agreements either', async (t) => {
  const { agree, read } = await aListOfClients(t)
  await agree({})
  t.strictSame((await read([])).body, [])
})

t.test('a client cannot be read as of a moment, and has a code', async (t) => {
  const { read } = await aListOfClients(t)
  const past = await read([uk('A')], { as_of: 1 })
  expectProblem(t, past, 400, 'invalid-request', 'as_of')
  t.match(past.body.errors, [{ pointer: '/client_code', code: 'not_allowed' }])
  for (const client_code of ['', 7, null, 'x'.repeat(256), ['C']]) {
    const answer = await read([uk('A')], { client_code })
    expectProblem(t, answer, 400, 'invalid-request', JSON.stringify(client_code))
  }
})

t.test('a hidden row without a price shows where one is agreed', async (t) => {
  const { agree, read } = await aListOfClients(t, { hide_unpriced: true })
  const rows = async (row: object) =>
    (await read([row])).body.map(({ code, country }: Record<string, string>) => `${code}${country}`)
  t.strictSame(await rows(uk('A')), [])
  await agree({ price_line: { product_code: 'A', country: 'UK' } })
  t.strictSame(await rows(uk('A')), ['AUK'])
  t.strictSame(await rows(uk('B')), [])
  t.strictSame(await rows({ group: 'toys' }), ['AUK'])
})
