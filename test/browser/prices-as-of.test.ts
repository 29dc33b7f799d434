import t, { type Test } from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { query } from '../helpers/database.ts'
import { aFilledList, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const countries = ['FR', 'UK']
const then = '2026-01-15'

/** A list of one product that had its first prices at the start of 2026 and has others now. */
async function aPast(
  t: Test,
  { date, ...settings }: { date?: string; is_calendar?: boolean } = {},
) {
  const { shop, list } = await aFilledList(t, service, { countries, ...settings })
  const rows = countries.map((country) => ({ code: 'A', country }))
  const day = date === undefined ? {} : { date }
  for (const price of [10, 30])
    await setPrices(
      shop,
      'L',
      rows.map((row, index) => ({ ...row, ...day, price: price + index })),
    )
  await query(
    service.url,
    `update list_revisions set at = '2026-01-01T12:00:00Z' where price_list_id = ${list.id} and revision < 3`,
  )
  const open = (values: string) =>
    openPage(t, browser, {
      url,
      token: shop.token,
      path: `/#/prices?code=A&list=${list.id}&as_of=${then}${values}`,
    })
  return { shop, list, open }
}

t.test('as of a past day, the year of a calendar list is of that day, too', async (t) => {
  const { open } = await aPast(t, { is_calendar: true, date: '2026-07-14' })
  const page = await open('&date=2026-07-14')
  await page.getByRole('row', { name: /UK/ }).getByText('11.00').first().waitFor()
  const slider = page.getByRole('slider', { name: 'Day, UK, price' })
  t.equal(await slider.getAttribute('aria-valuetext'), '14 Jul 2026: 11.00')
  const words = await page
    .getByRole('img', { name: /^UK, price, price by day/ })
    .getAttribute('aria-label')
  t.equal(words, 'UK, price, price by day: 11.00', 'a single price is no range')
})

t.test('a row that has left since keeps no other row from its own lowest price', async (t) => {
  const { shop, open } = await aPast(t)
  const gone = [{ code: 'A', country: 'FR' }]
  await shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload: gone })
  const page = await open('')
  const charts = page.locator('.steps')
  await charts.first().waitFor()
  const [fr, uk] = await charts.allInnerTexts()
  t.match(fr, /^FR/)
  t.notMatch(fr, 'lowest of 30 days')
  t.match(uk, /^UK[\s\S]*lowest of 30 days before .*: 11\.00/)
})

t.test('the promotions are those of the day that the field shows', async (t) => {
  const { open } = await aPast(t)
  const past = await open('')
  await past.getByText('with the promotions of 15 Jan 2026').waitFor()
  t.equal(await past.getByLabel('Promotions on').inputValue(), then)
  t.notMatch(past.url(), /[?&]on=/)
  const today = new Date().toISOString().slice(0, 10)
  const chosen = await open(`&on=${today}`)
  const asked = await chosen.waitForRequest(/get_prices/)
  t.match(asked.postDataJSON(), { promotion_date: today, as_of: `${then}T23:59:59.999999Z` })
  t.equal(await chosen.getByLabel('Promotions on').inputValue(), today)
  await chosen.getByLabel('Promotions on').fill('')
  await chosen.getByText('with the promotions of 15 Jan 2026').waitFor()
  t.equal(await chosen.getByLabel('Promotions on').inputValue(), then)
})

t.test('a past day ends in UTC, and is said to', async (t) => {
  const { open } = await aPast(t)
  const page = await open('')
  await page.getByText('as of the end of 15 Jan 2026 (UTC)').waitFor()
  await page.getByLabel('As of (UTC)').waitFor()
})
