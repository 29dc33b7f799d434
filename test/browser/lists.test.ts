import t from 'tap'
import { aLateAnswer, openPage, startPages } from '../helpers/browser.ts'
import { someCodes } from '../helpers/jobs.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const shop = await aShop(t, service, { codes: someCodes(30), countries: ['UK', 'FR'] })
const list = await aList(shop, {
  name: 'Retail',
  description: 'Shop prices',
  product_filters: { country: ['UK', 'FR'] },
  price_dimensions: ['retail', 'wholesale'],
  guardrails: { max_decrease_percent: 30, max_increase_percent: 0, no_zero: false },
})
await aList(shop, { name: 'Winter' })
const rows = someCodes(30).flatMap((code) => [
  { code, country: 'UK' },
  { code, country: 'FR' },
])
await addProducts(shop, 'Retail', rows)
const price = { code: 'P001', country: 'UK', price_dimension: 'retail', price: 1234.5 }
await setPrices(shop, 'Retail', [price])

const open = (t: Parameters<typeof openPage>[0], path: string) =>
  openPage(t, browser, { url, token: shop.token, path })

const shownRows = (page: Awaited<ReturnType<typeof open>>) =>
  page
    .getByRole('table', { name: /Rows of/ })
    .locator('tbody tr')
    .count()

t.test('lists show their rows and when they were published', async (t) => {
  const page = await open(t, '/#/lists')
  const row = page.getByRole('row', { name: /Retail/ })
  await row.getByText('60', { exact: true }).waitFor()
  t.match(await row.innerText(), /2 price columns[\s\S]*1 Jan 2026 – 31 Dec 2026[\s\S]*second/)
  t.match(await page.getByRole('row', { name: /Winter/ }).innerText(), /not yet/)
})

t.test('the search narrows the lists and is kept in the address', async (t) => {
  const page = await open(t, '/#/lists')
  await page.getByLabel('Search').fill('WIN')
  await page.getByRole('link', { name: 'Retail' }).waitFor({ state: 'detached' })
  t.ok(await page.getByRole('link', { name: 'Winter' }).isVisible())
  t.match(page.url(), /#\/lists\?q=WIN$/)
  await page.reload()
  t.equal(await page.getByLabel('Search').inputValue(), 'WIN')
  await page.getByLabel('Search').fill('absent')
  await page.getByRole('main').getByText('No price list has this name.').waitFor()
})

t.test('the columns sort, both ways, and say so', async (t) => {
  const page = await open(t, '/#/lists')
  const names = () => page.locator('tbody a').allInnerTexts()
  const header = page.getByRole('columnheader', { name: 'Name' })
  await header.getByRole('button').click()
  t.strictSame(
    [await names(), await header.getAttribute('aria-sort')],
    [['Retail', 'Winter'], 'ascending'],
  )
  await header.getByRole('button').click()
  t.strictSame(
    [await names(), await header.getAttribute('aria-sort')],
    [['Winter', 'Retail'], 'descending'],
  )
})

t.test('a list shows its settings and pages through its rows', async (t) => {
  const page = await open(t, `/#/lists/${list.id}`)
  await page.getByRole('heading', { name: 'Retail' }).waitFor()
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
  const facts = await page.locator('.facts').innerText()
  t.match(facts, /country is UK, FR/)
  t.match(facts, /Guardrails\s+it rises by at most 0%\s+it falls by at most 30%\s*$/)
  t.ok(await page.getByText('1,234.50').isVisible())
  t.equal(await shownRows(page), 50)
  await page.getByRole('link', { name: 'Next →' }).click()
  await page.getByText('Page 2 of 2').waitFor()
  t.equal(await shownRows(page), 10)
  t.match(page.url(), /page=2$/)
  await page.goBack()
  await page.getByText('Page 1 of 2').waitFor()
})

t.test(
  'a heading orders all rows of a list, keeps the focus, and is kept in the address',
  async (t) => {
    const page = await open(t, `/#/lists/${list.id}?page=2`)
    const table = page.getByRole('table', { name: /Rows of/ })
    const header = (name: string) => table.getByRole('columnheader', { name, exact: true })
    const first = (text: string) => table.locator('tbody tr').first().getByText(text).waitFor()
    await header('retail').getByRole('button').click()
    await first('1,234.50')
    t.match(page.url(), /\?order=price&price_dimension=retail$/)
    t.equal(await header('retail').getAttribute('aria-sort'), 'ascending')
    t.match(await page.evaluate('document.activeElement.innerText'), /^retail/)
    await header('Product').getByRole('button').click()
    await header('Product').getByRole('button').click()
    await first('P029')
    t.match(page.url(), /\?order=-code$/)
    t.equal(await header('Product').getAttribute('aria-sort'), 'descending')
    t.equal(await header('retail').getAttribute('aria-sort'), null)
    t.equal(await header('country').getByRole('button').count(), 0, 'the service has no such order')
    await page.reload()
    await first('P029')
    await page.getByRole('link', { name: 'Next →' }).click()
    await first('P004')
    t.match(page.url(), /\?page=2&order=-code$/)
    await page.goBack()
    await first('P029')
  },
)

t.test('a search finds rows on all pages, and says if there is none', async (t) => {
  const page = await open(t, '/#/lists')
  await page.goto(`${url}/#/lists/${list.id}?order=-code`)
  await page.getByLabel('Search').fill('about p002')
  await page.getByRole('heading', { name: '2 rows' }).waitFor()
  t.match(page.url(), /\?contains=about\+p002&order=-code$/)
  t.equal(await page.evaluate('document.activeElement.type'), 'search')
  await page.getByLabel('Search').fill('absent')
  await page.getByRole('main').getByText('No row contains this.').waitFor()
  await page.getByLabel('Search').fill('p00')
  await page.getByRole('button', { name: 'Product' }).click()
  await page.waitForURL(/contains=p00&order=code$/)
  await page.locator('th[aria-sort=ascending]').waitFor()
  await page.getByLabel('Search').fill('')
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
  await page.goBack()
  await page.goBack()
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
})

/** The list while a search for "p00" runs, whose answer `arrive` delivers. */
async function aRunningSearch(t: Parameters<typeof open>[0]) {
  const page = await open(t, `/#/lists/${list.id}`)
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
  const { held, arrive } = await aLateAnswer(page, /rows\?.*contains=p00/)
  await page.getByLabel('Search').fill('p00')
  await held
  return { page, arrive }
}

t.test('a search is kept by a heading that is clicked while it runs', async (t) => {
  const { page } = await aRunningSearch(t)
  await page.getByRole('button', { name: 'Product' }).click()
  await page.getByRole('heading', { name: '20 rows' }).waitFor()
  t.match(page.url(), /contains=p00&order=code$/)
})

t.test('a field keeps the focus when a search ends, and stays when one fails', async (t) => {
  const { page, arrive } = await aRunningSearch(t)
  await page.getByLabel('As of').focus()
  await arrive()
  await page.getByRole('heading', { name: '20 rows' }).waitFor()
  t.equal(await page.evaluate('document.activeElement.name'), 'as_of')
  await page.route('**/rows?*', (route) => route.abort(), { times: 1 })
  await page.getByLabel('Search').fill('p001')
  await page.getByText('The service cannot be reached.').waitFor()
  await page.getByLabel('Search').fill('p002')
  await page.getByRole('heading', { name: '2 rows' }).waitFor()
})

t.test('an order that so many rows do not allow is left out', async (t) => {
  const page = await open(t, `/#/lists/${list.id}`)
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
  const problem = { type: 'too-costly', title: 'The read would cost too much', status: 400 }
  await page.route('**/rows?*order=margin*', (route) =>
    route.fulfill({ status: 400, contentType: 'application/problem+json', json: problem }),
  )
  const refused = page.waitForResponse(/order=margin/)
  const second = page.waitForResponse(/rows\?(?!.*order=)/)
  await page.getByRole('button', { name: 'retail margin' }).click()
  t.equal((await refused).status(), 400)
  t.ok((await second).status() < 400)
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
  t.equal(await page.locator('th[aria-sort]').count(), 0)
  t.equal(await page.getByText('The read would cost too much').count(), 0)
})

t.test('a past day has no order by margin, and a day too early can be changed', async (t) => {
  const page = await open(t, `/#/lists/${list.id}`)
  await page.getByRole('button', { name: 'retail margin' }).click()
  await page.locator('th[aria-sort]').waitFor()
  const today = new Date().toISOString().slice(0, 10)
  await page.goto(`${url}/#/lists/${list.id}?order=margin&price_dimension=retail&as_of=2026-01-01`)
  const refusal = page.getByText('was not published at that moment')
  await refusal.waitFor()
  const day = page.getByLabel('As of')
  t.equal(await day.inputValue(), '2026-01-01')
  await page.route('**/rows?*', (route) => route.abort(), { times: 1 })
  await day.fill('2026-01-02')
  await page.getByRole('button', { name: 'Try again' }).click()
  await refusal.waitFor()
  await day.fill(today)
  await page.getByRole('heading', { name: '60 rows' }).waitFor()
})

t.test('behind the last page of a list is the last one', async (t) => {
  const page = await open(t, `/#/lists/${list.id}?page=9`)
  await page.getByText('Page 2 of 2').waitFor()
  t.equal(await shownRows(page), 10)
})

t.test('a row leads to the prices of its product in this list', async (t) => {
  const page = await open(t, `/#/lists/${list.id}`)
  await page.getByRole('link', { name: 'P001' }).first().click()
  await page.getByRole('heading', { name: 'P001' }).waitFor()
  t.match(page.url(), new RegExp(`#/prices\\?code=P001&list=${list.id}$`))
})

t.test('what does not exist is said', async (t) => {
  const absent = await open(t, '/#/lists/999999')
  await absent.getByRole('alert').getByText('No such price list', { exact: true }).waitFor()
  const nowhere = await open(t, '/#/nowhere')
  await nowhere.getByRole('main').getByText('There is no such page.').waitFor()
  await nowhere.getByRole('heading', { name: 'Page not found' }).waitFor()
  t.equal(await nowhere.title(), 'Page not found · Pricewell')
})

t.test('an unpublished list says how it is published', async (t) => {
  const page = await open(t, '/#/lists')
  await page.getByRole('link', { name: 'Winter' }).click()
  await page.getByRole('main').getByText('Adding products to it publishes it.').waitFor()
})

t.test('lists that are not valid today carry a badge, also at their head', async (t) => {
  await aList(shop, { name: 'Gone', valid_from: '2020-01-01', valid_to: '2020-12-31' })
  const coming = { name: 'Coming', valid_from: '9000-01-01', valid_to: '9000-12-31' }
  const { id } = await aList(shop, coming)
  await aList(shop, { name: 'Lasting', valid_from: '2020-01-01', valid_to: '9000-12-31' })
  const page = await open(t, '/#/lists')
  const badges = (name: string) =>
    page.getByRole('row', { name }).locator('td:first-child .badge').allInnerTexts()
  await page.getByRole('link', { name: 'Gone' }).waitFor()
  t.strictSame(await badges('Gone'), ['expired'])
  t.strictSame(await badges('Coming'), ['future'])
  t.strictSame(await badges('Lasting'), [])
  await page.goto(`${url}/#/lists/${id}`)
  await page.getByRole('heading', { name: 'Coming future' }).waitFor()
})

for (const settings of [{}, { hide_unpriced: true }, { is_calendar: true }])
  t.test(`cells that were never set are told from 0: ${JSON.stringify(settings)}`, async (t) => {
    const name = `Told ${Object.keys(settings)}`
    const { id } = await aList(shop, { name, price_dimensions: ['x', 'y'], ...settings })
    const day = 'is_calendar' in settings ? { date: '2026-01-01' } : {}
    await addProducts(shop, name, [{ code: 'P001', country: 'UK' }])
    const zero = { code: 'P001', country: 'UK', price_dimension: 'x', price: 0, ...day }
    await setPrices(shop, name, [zero])
    const page = await open(t, `/#/lists/${id}`)
    const cells = page.getByRole('row', { name: /P001/ }).getByRole('cell')
    await cells.first().waitFor()
    const shown = await cells.allInnerTexts()
    t.ok(shown.includes('0.00'), 'the price of 0')
    t.equal(shown.filter((text) => text === 'no price').length, 1)
    t.equal(await page.getByText('no price').count(), 1)
  })

t.test('guardrails are shown as they are set, not rounded', async (t) => {
  const guardrails = { max_increase_percent: 2.25, max_decrease_percent: 99.95 }
  const small = { min_margin_percent: 0.04 }
  const { id } = await aList(shop, { name: 'Exact', guardrails: { ...guardrails, ...small } })
  const page = await open(t, `/#/lists/${id}`)
  const facts = page.locator('.facts')
  await facts.waitFor()
  t.match(await facts.innerText(), /at most 2\.25%[\s\S]*at most 99\.95%[\s\S]*at least 0\.04%/)
})

t.test('a day is taken when it is typed, and the focus stays in its field', async (t) => {
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const { id } = await aList(shop, { name: 'Days', is_calendar: true, ...year })
  await addProducts(shop, 'Days', rows)
  const page = await open(t, `/#/lists/${id}`)
  await page.getByLabel('Day').focus()
  await page.keyboard.type('07')
  t.notMatch(page.url(), /date=/, 'a typed month is not yet a day')
  await page.keyboard.type('15')
  await page.keyboard.press('Enter')
  await page.waitForURL(/date=2026-07-15$/)
  const focused = 'document.activeElement.name'
  await page.waitForFunction(`${focused} === 'date'`)
  await page.getByLabel('As of').focus()
  await page.keyboard.type('112520')
  t.notMatch(page.url(), /as_of=/)
  await page.keyboard.press('Enter')
  t.notMatch(page.url(), /as_of=/, 'no list is so old')
  t.equal(await page.evaluate(focused), 'as_of')
  t.equal(await page.getByLabel('As of').inputValue(), '0020-11-25')
})

t.test('older changes of a list are reached, each with its number', async (t) => {
  await aList(shop, { name: 'Often' })
  await addProducts(shop, 'Often', [{ code: 'P001', country: 'UK' }])
  for (let price = 1; price <= 11; price++)
    await setPrices(shop, 'Often', [{ code: 'P001', country: 'UK', price }])
  const page = await open(t, '/#/lists')
  await page.getByRole('link', { name: 'Often' }).click()
  await page.getByRole('link', { name: '12: 1 price' }).waitFor()
  await page.getByText('1 to 10 of 12').waitFor()
  await page.getByRole('button', { name: 'Older →' }).click()
  await page.getByRole('link', { name: '1: 1 row added' }).waitFor()
  t.equal(await page.evaluate('document.activeElement.innerText'), 'Changes')
  await page.getByText('11 to 12 of 12').waitFor()
  await page.getByRole('button', { name: '← Newer' }).click()
  await page.getByRole('link', { name: '12: 1 price' }).waitFor()
})
