import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const columns = {
  attributes: [{ name: 'description', type: 'string' }],
  extensions: [{ name: 'country', type: 'string' }],
  costs: [{ name: 'purchase' }],
}
const shop = await aShopOf(t, service, columns, [
  { code: 'A1', country: 'UK', description: 'Lantern', purchase: 1 },
  { code: 'A1', country: 'FR', purchase: 2 },
  { code: 'A2', country: 'UK' },
])
const list = await aList(shop, { name: 'Retail', price_dimensions: ['retail', 'wholesale'] })
const calendar = await aList(shop, { name: 'Rental', is_calendar: true })
for (const name of ['Retail', 'Rental']) {
  await addProducts(shop, name, [
    { code: 'A1', country: 'UK' },
    { code: 'A1', country: 'FR' },
  ])
}
const uk = { code: 'A1', country: 'UK' }
await setPrices(shop, 'Retail', [
  { ...uk, price_dimension: 'retail', price: 4 },
  { ...uk, price_dimension: 'wholesale', price: 3 },
])
await setPrices(shop, 'Rental', [
  { ...uk, date: '2026-01-01', price: 10 },
  { ...uk, date: '2026-07-14', price: 20 },
  { ...uk, date: '2026-07-15', price: 30 },
])
await shop.post('/api/v1/promotions/bulk_create_or_update/', [
  {
    name: 'Spring',
    kind: 'percentage',
    value: 25,
    price_dimensions: ['retail'],
    valid_from: '2026-03-01',
    valid_to: '2026-03-31',
    price_lists: ['Retail'],
  },
])
const competitorPath = '/api/v1/competitor_prices'
await shop.post(`${competitorPath}/schema/create_schema/`, {
  attributes_config: ['code', 'country'],
})
await shop.post(`${competitorPath}/bulk_create_or_update/`, [
  { ...uk, competitor_name: 'Lantern & Co', competitor_price: 3.3 },
  { ...uk, competitor_name: 'Gift Barn', competitor_price: 2.7 },
  { code: 'A1', country: 'DE', competitor_name: 'Elsewhere', competitor_price: 1 },
])

const open = (t: Test, path: string): Promise<Page> =>
  openPage(t, browser, { url, token: shop.token, path })

t.test('shows every row and price column, promotions, margins and competitors', async (t) => {
  const page = await open(t, `/#/prices?code=A1&list=${list.id}&on=2026-03-10`)
  const row = page.getByRole('row', { name: /UK retail/ })
  await row.waitFor()
  t.match(await page.locator('.facts').innerText(), /Lantern/)
  const cells = await row.getByRole('cell').allInnerTexts()
  t.strictSame(cells.slice(0, 6), [
    'UK',
    'retail',
    '4.00',
    '3.00',
    '66.7%\npublished 75%',
    'Spring 3.00',
  ])
  t.match(cells[6], /Gift Barn 2.70 \+11.1%\s+Lantern & Co 3.30 -9.1%/)
  t.notMatch(cells[6], /Elsewhere/)
  t.equal(await page.locator('tbody tr').count(), 4)
  const other = await page.getByRole('row', { name: /FR wholesale/ }).innerText()
  t.equal(await page.getByRole('columnheader', { name: 'Margin in force' }).count(), 1)
  const whole = page.getByRole('row', { name: /UK wholesale/ }).getByRole('cell')
  t.strictSame((await whole.allInnerTexts()).slice(2, 6), ['3.00', '3.00', '66.7%', '–'])
  t.match(
    other,
    /no price\s+no price\s+–\s+–\s+–/,
    'no price, no margin, no promotion, no competitor',
  )
})

t.test('another day has other promotions', async (t) => {
  const page = await open(t, `/#/prices?code=A1&list=${list.id}&on=2026-03-10`)
  await page.getByText('Spring').first().waitFor()
  await page.getByLabel('Promotions on').fill('2026-04-01')
  await page.getByText('Spring').first().waitFor({ state: 'detached' })
  t.match(page.url(), /on=2026-04-01/)
})

t.test('a day is typed digit by digit, and the last one counts', async (t) => {
  const page = await open(t, `/#/prices?code=A1&list=${list.id}`)
  const on = page.getByLabel('Promotions on (UTC)')
  await on.focus()
  await page.keyboard.type('12042026', { delay: 50 })
  await page.keyboard.press('Enter')
  t.equal(await on.inputValue(), '2026-12-04')
  await page.getByText('with the promotions of 4 Dec 2026').waitFor()
  t.match(page.url(), /on=2026-12-04/)
  const asOf = page.getByLabel('As of (UTC)')
  await asOf.focus()
  await page.keyboard.type('12312999')
  await page.getByLabel('Product code').focus()
  await page
    .getByRole('alert')
    .getByText(/must be/)
    .waitFor()
  t.notMatch(page.url(), /as_of/)
})

t.test('codes are suggested while one writes, and looked up', async (t) => {
  const page = await open(t, `/#/prices?list=${list.id}`)
  await page.getByRole('main').getByText('Which product?').waitFor()
  await page.getByLabel('Product code').fill('A')
  await page.locator('#codes option[value=A2]').waitFor({ state: 'attached' })
  t.equal(await page.locator('#codes option').count(), 2)
  await page.getByRole('main').getByText('The catalog has no product with this code.').waitFor()
  await page.getByLabel('Product code').fill('A2')
  await page
    .getByRole('main')
    .getByText('The product is in the catalog and not in this list.')
    .waitFor()
  await page.getByLabel('Product code').fill('A1')
  await page.getByRole('row', { name: /UK retail/ }).waitFor()
  t.match(page.url(), /code=A1/)
  t.equal(await page.title(), 'A1 · Prices · Pricewell', 'the title follows')
})

t.test('an unpriced product is not said to be absent from a list that hides it', async (t) => {
  const account = await aShopOf(t, service, {}, [{ code: 'A1' }])
  await aList(account, { name: 'Retail', hide_unpriced: true })
  await addProducts(account, 'Retail', [{ code: 'A1' }])
  const page = await openPage(t, browser, { url, token: account.token, path: '/#/prices?code=A1' })
  const why = 'The list leaves out prices that were never set; the product may be in it.'
  await page.getByRole('main').getByText(why).waitFor()
})

t.test('a single price is announced as one', async (t) => {
  const account = await aShopOf(t, service, {}, [{ code: 'A1' }])
  await aList(account, { name: 'Retail' })
  await addProducts(account, 'Retail', [{ code: 'A1' }])
  const page = await openPage(t, browser, { url, token: account.token, path: '/#/prices?code=A1' })
  await page.locator('#status').getByText('1 price', { exact: true }).waitFor()
})

t.test('the year of a calendar list is a strip with a bar a day', async (t) => {
  const page = await open(t, `/#/prices?code=A1&list=${calendar.id}&date=2026-07-14`)
  const strip = page.getByRole('img', { name: /^UK, price/ })
  await strip.waitFor()
  t.match(await strip.getAttribute('aria-label'), /10.00 \(1 Jan 2026\) to 30.00 \(15 Jul 2026\)/)
  t.equal(await strip.locator('rect').count(), 365)
  t.equal(await strip.locator('[fill="var(--heat-0)"]').count(), 362, 'days without a price')
  t.equal(await strip.locator('[fill="var(--heat-7)"]').count(), 1, 'the dearest day')
  t.match(await page.getByRole('row', { name: /UK/ }).innerText(), /20.00/)
})

t.test('the strip is walked by keyboard; the prices follow and the focus stays', async (t) => {
  const page = await open(t, `/#/prices?code=A1&list=${calendar.id}&date=2026-07-14`)
  const slider = page.getByRole('slider', { name: 'Day, UK, price' })
  await slider.focus()
  await page.keyboard.press('ArrowRight')
  t.equal(await slider.getAttribute('aria-valuetext'), '15 Jul 2026: 30.00')
  await page.getByRole('row', { name: /UK/ }).getByText('30.00').first().waitFor()
  await page.getByText('published prices of 15 Jul 2026').waitFor()
  await page.locator('.steps output').getByText('30.00').waitFor()
  t.equal(await page.locator('[aria-label="Day, UK, price"]:focus').count(), 1, 'focus stays')
  t.match(page.url(), /date=2026-07-15/)
  t.equal(await page.getByLabel('Day', { exact: true }).inputValue(), '2026-07-15')
  const other = page.getByRole('slider', { name: 'Day, FR, price' })
  t.match(await other.getAttribute('aria-valuetext'), /^15 Jul 2026/, 'all strips go together')
})

t.test('a list that was deleted is said to be gone, and others can be chosen', async (t) => {
  const gone = await aList(shop, { name: 'Gone' })
  await shop.send('DELETE', `/api/v1/price_list/${gone.id}/`)
  const page = await open(t, `/#/prices?code=A1&list=${gone.id}`)
  await page.getByRole('main').getByText('There is no such price list.').waitFor()
  t.equal(await page.locator('tbody tr').count(), 0, 'no prices of another list')
  await page.getByLabel('Price list').selectOption('Retail')
  await page.getByRole('row', { name: /UK retail/ }).waitFor()
})

t.test('a code with a line end is looked up as it is', async (t) => {
  const account = await aShopOf(t, service, {}, [{ code: 'A\n1' }])
  await aList(account, { name: 'Retail' })
  await addProducts(account, 'Retail', [{ code: 'A\n1' }])
  const path = '/#/prices?code=A%0A1'
  const page = await openPage(t, browser, { url, token: account.token, path })
  await page.getByRole('row', { name: /price/ }).last().waitFor()
  await page.getByLabel('Promotions on').fill('2026-04-01')
  await page.waitForURL(/code=A%0A1/)
})

t.test('columns may be called like what every object has', async (t) => {
  const schema = { attributes: [{ name: 'toString', type: 'string' }] }
  const account = await aShopOf(t, service, schema, [{ code: 'A1', toString: 'x' }])
  await aList(account, { name: 'Retail' })
  await addProducts(account, 'Retail', [{ code: 'A1' }])
  await account.post(`${competitorPath}/schema/create_schema/`, {
    attributes_config: ['code', 'toString'],
  })
  const entry = { code: 'A1', toString: 'x', competitor_name: 'Gift Barn', competitor_price: 2 }
  await account.post(`${competitorPath}/bulk_create_or_update/`, [entry])
  const page = await openPage(t, browser, { url, token: account.token, path: '/#/prices?code=A1' })
  await page.getByText('Gift Barn').waitFor()
  t.notMatch(await page.locator('.facts').innerText(), /native code/)
})

t.test('of lists that are too many for one answer there are some to choose from', async (t) => {
  const account = await service.newAccount(t)
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const name = (index: number) => `${index} ${'😀'.repeat(250)}`
  const price_dimensions = Array.from({ length: 100 }, (_, index) => name(index))
  for (let from = 0; from < 400; from += 100) {
    const numbers = Array.from({ length: 100 }, (_, index) => from + index)
    const lists = numbers.map((number) => ({ name: `List ${number}`, ...year, price_dimensions }))
    t.equal((await account.post('/api/v1/price_list/bulk_create/', lists)).status, 201)
  }
  const page = await openPage(t, browser, { url, token: account.token, path: '/#/prices' })
  await page.getByRole('main').getByText('Which product?').waitFor()
  const asked = (await page.evaluate(
    "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/price_list/?')).map(({ name }) => Number(new URL(name).searchParams.get('limit')))",
  )) as number[]
  t.strictSame(asked.slice(0, 2), [1000, 250], 'a quarter each time')
  t.equal(await page.getByLabel('Price list').locator('option').count(), asked.at(-1))
})
