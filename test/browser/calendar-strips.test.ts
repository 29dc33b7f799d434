import t from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { aList, aShopOf, setPrices } from '../helpers/shop.ts'
import { sync, upsertPath } from '../helpers/sync.ts'

const { service, url, browser } = await startPages(t)

t.test('each strip shows the year of its own row, also after another row has gone', async (t) => {
  const columns = { extensions: [{ name: 'country', type: 'string' }] }
  const countries = ['C0', 'C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8']
  const rows = countries.map((country) => ({ code: 'A1', country }))
  const shop = await aShopOf(t, service, columns, rows)
  const list = await aList(shop, {
    name: 'Rental',
    is_calendar: true,
    price_dimensions: ['day'],
  })
  await sync(shop, 'Rental')
  await setPrices(shop, 'Rental', [
    { code: 'A1', country: 'C7', date: '2026-01-01', price: 77 },
    { code: 'A1', country: 'C8', date: '2026-01-01', price: 88 },
  ])
  const path = `/#/prices?code=A1&list=${list.id}&date=2026-01-01`
  const page = await openPage(t, browser, { url, token: shop.token, path })
  const more = page.getByRole('button', { name: 'Show 3 more of 9' })
  await more.waitFor()
  await shop.post(upsertPath, [{ code: 'A1', country: 'C6', active: false }])
  await sync(shop, 'Rental')
  await more.click()
  const said = (country: string) =>
    page.getByRole('slider', { name: `Day, ${country}, day` }).getAttribute('aria-valuetext')
  t.equal(await said('C6'), '1 Jan 2026: –', 'the row that has gone has no prices')
  t.equal(await said('C7'), '1 Jan 2026: 77.00')
  t.equal(await said('C8'), '1 Jan 2026: 88.00')
})
