import t, { type Test } from 'tap'
import { expectProblem } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const now = new Date().toISOString()
const both = 'include=competition,sales'

/** A list with the rows A, at 10 and with a competitor and a sale, and B, which has nothing. */
async function aPositionedList(t: Test, options: object = {}, schema: object = {}) {
  const settings = { price_dimensions: ['retail', 'trade'], ...options }
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], ...settings })
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code', 'description'],
    ...schema,
  })
  const competitor = { code: 'A', description: 'about A', competitor_price: 8 }
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { ...competitor, competitor_name: 'Northwind' },
    ...('is_dated' in schema
      ? [{ ...competitor, competitor_name: 'Dated', departure_date: '2026-07-02' }]
      : []),
  ])
  await shop.post('/api/v1/sales_history/bulk_create_or_update', [
    {
      ...{ transaction_id: '1', code: 'A', extension: 'UK', price_dimension: 'retail' },
      ...{ quantity: '2', revenue: '19', transaction_date: now },
    },
  ])
  const file = async (query: string, accept: string) =>
    (await shop.send('GET', `/api/v1/price_list/${list.id}/rows?${query}`, undefined, { accept }))
      .body as string
  return { shop, list, file }
}

const priceA = { ...uk('A'), price_dimension: 'retail', price: 10 }
const competition = {
  ...{ count: 1, lowest: 8, lowest_name: 'Northwind', highest: 8, average: 8, median: 8 },
  ...{ rank: 2, gap_percent: 25 },
}

t.test('pages show the position of each price, beside the promotions of today', async (t) => {
  const { shop, list, file } = await aPositionedList(t)
  await setPrices(shop, 'L', [priceA])
  const [a, b] = await rowsOf(shop, list, both)
  const unpriced = { ...competition, rank: null, gap_percent: null }
  t.strictSame(a.competition, { retail: competition, trade: unpriced })
  t.match(a.sales, { retail: { transactions: 1, average_price: 9.5 }, trade: { transactions: 0 } })
  t.match(b, { competition: { retail: null, trade: null }, sales: { retail: { quantity: 0 } } })
  t.match(b.prices, { retail: 0, trade: 0 })
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    {
      ...{
        name: 'P',
        kind: 'fixed_price',
        value: 4,
        product_filters: { description: ['about A'] },
      },
      ...{ valid_from: '2026-01-01', valid_to: '2999-12-31' },
    },
  ])
  const [promoted] = await rowsOf(shop, list, 'include=competition')
  t.match(promoted.competition.retail, { rank: 1, gap_percent: -50 })
  t.notOk('sales' in promoted)
  const [active, other] = await rowsOf(shop, list, 'include=active_margin')
  t.match(active, { prices: { retail: 10 }, active_price: { retail: 4, trade: 0 } })
  t.match(active.active_margin, { trade: null })
  t.notOk('competition' in active)
  t.strictSame(other.active_price, { retail: 0, trade: 0 })
  const [head = '', first] = (await file(`include=active_margin,competition`, 'text/csv')).split(
    '\r\n',
  )
  t.match(head, /,price,priced,margin,active_price,active_margin,competition\.count,/)
  t.match(first, /^.*,retail,10,true,[^,]*,4,[^,]*,1,8,Northwind,/)
  t.notOk('competition' in (await rowsOf(shop, list))[0])
})

t.test('files have a column for each figure, or the objects', async (t) => {
  const { shop, file } = await aPositionedList(t)
  await setPrices(shop, 'L', [priceA])
  const [head, first, second, third] = (await file(both, 'text/csv')).split('\r\n')
  const columns = [
    ...['count', 'lowest', 'lowest_name', 'highest', 'average', 'median', 'rank', 'gap_percent'],
  ].map((name) => `competition.${name}`)
  const sales = ['transactions', 'quantity', 'revenue', 'average_price', 'last_at']
  t.equal(
    head?.replace(/^.*margin,/, ''),
    [...columns, ...sales.map((name) => `sales.${name}`)].join(),
  )
  t.match(first, /,UK,retail,10,true,,1,8,Northwind,8,8,8,2,25,1,2,19,9\.5,20/)
  t.match(second, /,UK,trade,0,false,,1,8,Northwind,8,8,8,,,0,0,0,,$/)
  t.match(third, /,B,UK,retail,0,false,,,,,,,,,,0,0,0,,$/)
  const [line = ''] = (await file('include=sales', 'application/x-ndjson')).split('\n')
  t.match(JSON.parse(line), { price: 10, sales: { transactions: 1 } })
  t.notOk('competition' in JSON.parse(line))
})

t.test('a gap that is no JSON number is left empty', async (t) => {
  const { shop, file } = await aPositionedList(t)
  await setPrices(shop, 'L', [{ ...priceA, price: 1e308 }])
  const [, first] = (await file('include=competition', 'text/csv')).split('\r\n')
  t.match(first, /,1,8,Northwind,8,8,8,2,$/)
})

t.test('such a file can be loaded again, and names what to add and remove', async (t) => {
  const { shop, list, file } = await aPositionedList(t)
  const { length } = await rowsOf(shop, list)
  for (const type of ['text/csv', 'application/x-ndjson']) {
    await setPrices(shop, 'L', [priceA])
    const body = await file(`include=active_margin,competition,sales`, type)
    const load = (operation: string) =>
      shop.send('POST', `/api/v1/prices/${operation}/?price_list_name=L`, body, {
        'content-type': type,
      })
    t.match(await load('bulk_update_prices'), { status: 201 }, type)
    t.match((await rowsOf(shop, list))[0].prices, { retail: 10 })
    t.match(await load('bulk_remove_products'), { status: 201, body: { removed: length } }, type)
    t.match(await load('bulk_add_products'), { status: 201, body: { created: length } }, type)
  }
})

t.test('each day of a calendar list has its own competitors', async (t) => {
  const { shop, list, file } = await aPositionedList(
    t,
    { is_calendar: true, price_dimensions: ['day'] },
    { is_dated: true },
  )
  const days = ['2026-07-01', '2026-07-02'].map((date) => ({ ...uk('A'), date, price: 10 }))
  await setPrices(shop, 'L', days)
  const [a] = await rowsOf(shop, list, `${both}&date=2026-07-02`)
  t.match(a.competition, { day: { lowest_name: 'Dated' } })
  const lines = (await file('include=competition', 'application/x-ndjson')).trim().split('\n')
  const counts = lines.map((line) => JSON.parse(line).competition?.count)
  t.strictSame(counts, [undefined, 1, undefined])
})

t.test('the draft, the past and attributes have no position', async (t) => {
  const { shop, list } = await aPositionedList(t)
  for (const query of [
    ...['version=draft&include=sales', 'as_of=1&include=competition', 'include=', 'include=prices'],
    ...[
      'lines=dynamic_attributes&include=sales',
      'include=sales,sales',
      'include=sales;competition',
    ],
    'include=sales&include=competition',
    'include=sales,active_margin',
    'version=draft&include=active_margin',
  ]) {
    const answer = await shop.get(`/api/v1/price_list/${list.id}/rows?${query}`)
    expectProblem(t, answer, 400, 'invalid-request', query)
    t.equal(answer.body.errors[0].pointer, '/query/include', query)
  }
})
