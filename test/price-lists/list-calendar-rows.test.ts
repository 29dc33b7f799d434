import t from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()
const key = { code: 'A', country: 'UK' }
const rowsPath = (list: { id: number }) => `/api/v1/price_list/${list.id}/rows`
const setPrices = (shop: TestAccount, price_list_name: string, payload: object[]) =>
  shop.post('/api/v1/prices/bulk_update_prices/', { price_list_name, payload })

t.test('date picks the day of a calendar list, valid_from when left out', async (t) => {
  const { shop, list } = await aFilledList(t, service, {
    valid_from: '2024-02-29',
    valid_to: '2024-03-01',
    is_calendar: true,
  })
  const days = ['2024-02-29', '2024-03-01', '2024-12-31', '2025-01-01', '2025-02-27']
  const cells = days.map((date, index) => ({ ...key, date, price: index + 1 }))
  t.equal((await setPrices(shop, 'L', cells)).status, 201)
  const priceOf = async (query: string) =>
    (await shop.get(`${rowsPath(list)}${query}`)).body.results[0].prices
  for (const { date, price } of cells) t.strictSame(await priceOf(`?date=${date}`), { price }, date)
  t.strictSame(await priceOf('?date=2024-03-02'), { price: 0 }, 'a day without a price')
  t.strictSame(await priceOf(''), { price: 1 })
  for (const date of ['2024-02-28', '2025-02-28', '2030-01-01', '0001-01-01', '9999-12-31']) {
    const { status, body } = await shop.get(`${rowsPath(list)}?date=${date}`)
    t.match(
      { status, ...body },
      { status: 400, errors: [{ pointer: '/query/date', code: 'date_outside_calendar' }] },
      date,
    )
    t.match(body.errors[0].message, /2024-02-29 to 2025-02-27/)
  }
})

t.test('a day has a price and a margin per price dimension', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
    { ...key, purchase: 1, freight: 1 },
  ])
  const list = await aList(shop, {
    name: 'L',
    is_calendar: true,
    price_dimensions: ['retail', 'trade', 'staff'],
  })
  await addProducts(shop, 'L', [key])
  const cell = { ...key, date: '2026-03-31' }
  await setPrices(shop, 'L', [
    { ...cell, price_dimension: 'trade', price: 4 },
    { ...cell, price_dimension: 'retail', price: 8 },
  ])
  const [row] = (await shop.get(`${rowsPath(list)}?date=${cell.date}`)).body.results
  t.strictSame(row.prices, { retail: 8, trade: 4, staff: 0 })
  t.strictSame(row.margin, { retail: 75, trade: 50, staff: null })
})

t.test('a date that is none, a date of another list, another version: 400', async (t) => {
  const shop = await service.newAccount(t)
  const [plain, calendar] = [
    await aList(shop, { name: 'p' }),
    await aList(shop, { name: 'c', is_calendar: true }),
  ]
  const cases: [{ id: number }, string, string][] = [
    [plain, 'date=2026-01-01', 'not_allowed'],
    [calendar, 'date=2027-01-01', 'date_outside_calendar'],
    [calendar, 'date=2026-02-29', 'format'],
    [calendar, 'date=', 'format'],
    [calendar, 'date=today', 'format'],
    [plain, 'version=both', 'not_allowed'],
    [plain, 'version=', 'not_allowed'],
  ]
  for (const [list, query, code] of cases) {
    const { status, body } = await shop.get(`${rowsPath(list)}?${query}`)
    t.strictSame(
      [status, body.errors[0].code, body.errors[0].pointer],
      [400, code, `/query/${query.split('=')[0]}`],
      query,
    )
  }
})
