import t from 'tap'
import { expectAccessible, expectFits, openPage, startPages } from '../helpers/browser.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { addProducts, aList, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const { shop, list, job } = await aBigJob(t, service)
await shop.finished(job)
const row = { code: 'P000', country: 'UK' }
const promotion = { name: 'Spring', kind: 'percentage', value: 10 }
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
await setPrices(shop, 'L', [{ ...row, price: 10 }])
await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...promotion, ...year }])
const calendar = await aList(shop, { name: 'Rental', is_calendar: true })
await addProducts(shop, 'Rental', [row])
await setPrices(shop, 'Rental', [{ ...row, date: '2026-01-01', price: 10 }])

/** Each page with an element that appears when it has loaded. */
const pages: Record<string, [path: string, whole: string]> = {
  lists: ['/#/lists', 'tbody .number'],
  list: [`/#/lists/${list.id}`, 'tbody tr'],
  prices: [`/#/prices?code=P000&list=${list.id}&on=2026-03-01`, 'tbody tr'],
  year: [`/#/prices?code=P000&list=${calendar.id}&date=2026-01-01`, '.bars'],
  jobs: ['/#/jobs', 'tbody tr'],
  'an absent list': ['/#/lists/99999', '[role=alert]'],
  'no product': ['/#/prices?code=none', '.empty'],
}
const phone = { width: 360, height: 740 }
const desk = { width: 1280, height: 800 }

for (const colorScheme of ['light', 'dark'] as const) {
  for (const viewport of [desk, phone]) {
    t.test(`${colorScheme}, ${viewport.width} pixels: fits and keeps nobody out`, async (t) => {
      const look = { url, colorScheme, viewport }
      const login = await openPage(t, browser, look)
      await login.getByRole('button', { name: 'Log in' }).waitFor()
      await expectFits(t, login, 'login')
      await expectAccessible(t, login, 'login')
      const page = await openPage(t, browser, { ...look, token: shop.token })
      for (const [name, [path, whole]] of Object.entries(pages)) {
        await page.goto(url + path)
        await page.locator(whole).first().waitFor()
        await expectFits(t, page, name)
        await expectAccessible(t, page, name)
      }
    })
  }
}

t.test('dark mode follows the system', async (t) => {
  const groundOf = async (colorScheme: 'light' | 'dark') => {
    const page = await openPage(t, browser, { url, colorScheme })
    return page.evaluate('getComputedStyle(document.body).backgroundColor')
  }
  t.strictSame(
    [await groundOf('light'), await groundOf('dark')],
    ['rgb(245, 246, 244)', 'rgb(15, 21, 20)'],
  )
})
