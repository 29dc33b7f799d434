import type { Page } from 'playwright-core'
import t from 'tap'
import { aLateAnswer, openPage, startPages } from '../helpers/browser.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

/** Without a worker, jobs wait. */
const { service, url, browser } = await startPages(t, { ROLE: 'api' })
const shop = await aShopOf(t, service, {}, [{ code: 'A1' }, { code: 'AB' }])
await aList(shop, { name: 'Retail' })
await addProducts(shop, 'Retail', [{ code: 'A1' }])

const suggestions = (page: Page) =>
  page
    .locator('#codes option')
    .evaluateAll((options) => options.map((option) => option.getAttribute('value')))

/** Waits until the page has seen the empty field. */
const noCode = (page: Page) => page.waitForURL((address) => !address.hash.includes('code='))

t.test('codes are suggested for what stands in the field now', async (t) => {
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices' })
  const field = page.getByLabel('Product code')
  const late = await aLateAnswer(page, /code_prefix=A&/)
  await field.fill('A')
  await late.held
  await field.fill('AB')
  await page.locator('#codes option[value=AB]').waitFor({ state: 'attached' })
  await late.arrive()
  t.strictSame(await suggestions(page), ['AB'])
})

t.test('an empty field has no suggestions', async (t) => {
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices' })
  const field = page.getByLabel('Product code')
  const late = await aLateAnswer(page, /code_prefix=A&/)
  await field.fill('A')
  await late.held
  await field.fill('')
  await noCode(page)
  await late.arrive()
  t.strictSame(await suggestions(page), [])
})

t.test('who takes the code away while its prices load can read on', async (t) => {
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices' })
  const late = await aLateAnswer(page, /get_prices/)
  await page.getByLabel('Product code').fill('A1')
  await late.held
  await page.getByLabel('Product code').fill('')
  await noCode(page)
  t.equal(await page.locator('[aria-busy]').count(), 0)
})

t.test('a job that was cancelled is, also for an answer that was on its way', async (t) => {
  const { shop } = await aBigJob(t, service)
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/jobs' })
  const row = page.getByRole('row', { name: /Add products to L/ })
  await row.getByText('running').waitFor()
  const old = await aLateAnswer(page, /jobs\/\?/)
  await old.held
  await row.getByRole('button', { name: 'Cancel job' }).click()
  await row.getByRole('button', { name: 'Stop it' }).click()
  await row.getByText('cancelled').waitFor()
  await old.arrive()
  t.match(await row.innerText(), /cancelled/)
})

const opacityOfOld = `Promise.all(document.getAnimations().map(({ finished }) => finished)).then(
  () => getComputedStyle(document.querySelector('[aria-busy] > .panel')).opacity)`

t.test('old prices are dimmed while those of another list load', async (t) => {
  await aList(shop, { name: 'Trade' })
  await addProducts(shop, 'Trade', [{ code: 'A1' }])
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices?code=A1' })
  await page.getByRole('row', { name: /price/ }).last().waitFor()
  const late = await aLateAnswer(page, /get_prices/)
  await page.getByLabel('Price list').selectOption('Trade')
  await late.held
  t.equal(await page.evaluate(opacityOfOld), '0.5')
  await late.arrive()
  await page.getByRole('link', { name: 'Trade' }).waitFor()
})

t.test('the past of a day that was left does not replace that of the next', async (t) => {
  const rental = await aList(shop, { name: 'Rental', is_calendar: true })
  await addProducts(shop, 'Rental', [{ code: 'A1' }])
  const set = (date: string, price: number) =>
    setPrices(shop, 'Rental', [{ code: 'A1', date, price }])
  await set('2026-03-01', 31)
  await set('2026-03-02', 32)
  const path = `/#/prices?code=A1&list=${rental.id}&date=2026-03-01`
  const page = await openPage(t, browser, { url, token: shop.token })
  const late = await aLateAnswer(page, /get_price_history/)
  await page.goto(url + path)
  await late.held
  await page.getByRole('slider').press('ArrowRight')
  const past = page.locator('section', { hasText: 'Over time' })
  await past.getByText('32.00').first().waitFor()
  await late.arrive()
  t.match(await past.innerText(), '32.00')
  t.notMatch(await past.innerText(), '31.00')
})
