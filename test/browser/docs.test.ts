import type { Page } from 'playwright-core'
import t from 'tap'
import { loadDemo } from '../../examples/demo/load-demo.ts'
import { demoUser, withMadeUp } from '../../examples/demo/made-up.ts'
import { readShop } from '../../examples/demo/online-retail.ts'
import { createAccount } from '../../src/accounts/create-account.ts'
import { createClient } from '../../src/client/index.ts'
import { operations, readContract } from '../../src/contract/document.ts'
import { expectAccessible, expectFits, openPage, startPages } from '../helpers/browser.ts'

/** The demo is loaded first. */
t.setTimeout(300_000)
const { service, url, browser } = await startPages(t)
await createAccount(service.url, { account: 'demo', ...demoUser })
const { data } = await createClient({ baseUrl: url }).POST('/login/', { body: demoUser })
const { token } = data
await loadDemo(createClient({ baseUrl: url, token }), withMadeUp(readShop()))

const page = await openPage(t, browser, { url, path: '/docs' })
await page.locator('.opblock').first().waitFor()

t.test('every operation is there, and additions are marked', async (t) => {
  t.equal(await page.locator('.opblock').count(), operations.length)
  const { paths } = readContract()
  for (const { id, path, method } of operations) {
    const mark = await page.evaluate(
      `getComputedStyle(document.querySelector('[id$="-${id}"] .opblock-summary-description'), '::after').content`,
    )
    const isAddition = paths[path][method.toLowerCase()]['x-addition'] === true
    t.equal(mark, isAddition ? '"addition"' : 'none', id)
  }
})

t.test('logged in with the example, authorized, one sets and reads prices', async (t) => {
  const login = JSON.parse(await execute(page, 'login', 200))
  await page.getByRole('button', { name: 'Authorize' }).click()
  await page.locator('#api_key_value').fill(`jwt ${login.token}`)
  await page.locator('.auth-btn-wrapper .authorize').first().click()
  await page.locator('.auth-btn-wrapper .btn-done').first().click()
  const ids = JSON.parse(await execute(page, 'updatePrices', 201))
  const prices = JSON.parse(await execute(page, 'getPrices', 201))
  t.match(prices[0], { code: '85123A', base_price: 2.55, active_price: 2.04, pk: ids[0] })
  t.match(prices[2], { price_dimension: 'wholesale', base_price: 2.1 })
})

t.test('what Swagger UI fills in by itself is taken', async () => {
  for (const id of ['listPriceListRows', 'listPriceLists', 'createPriceLists', 'upsertSales'])
    await execute(page, id, id.startsWith('list') ? 200 : 201)
  await execute(page, 'updateAgreement', 200)
  await execute(page, 'readJobEvents', 200)
})

t.test('the reference links the guide', async (t) => {
  t.equal(await page.locator('.info__extdocs').getAttribute('href'), `${url}/docs/guide`)
})

t.test('the guide is accessible and fits, wide and narrow, light and dark', async (t) => {
  for (const width of [1440, 390]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width, height: 900 }
      const guide = await openPage(t, browser, { url, path: '/docs/guide', viewport, colorScheme })
      await expectFits(t, guide, `${width} ${colorScheme}`)
      await expectAccessible(t, guide, `${width} ${colorScheme}`)
      await guide.getByRole('navigation').getByRole('link', { name: 'Concepts' }).click()
      t.equal(guide.url(), `${url}/docs/guide#concepts`)
      await guide.getByRole('link', { name: 'API' }).click()
      await guide.locator('.opblock').first().waitFor()
    }
  }
})

t.test('the page of problems, too, and a problem leads to its section', async (t) => {
  for (const width of [1440, 390]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width, height: 900 }
      const path = '/docs/problems#price-list-not-found'
      const problems = await openPage(t, browser, { url, path, viewport, colorScheme })
      await expectFits(t, problems, `${width} ${colorScheme}`)
      await expectAccessible(t, problems, `${width} ${colorScheme}`)
      const heading = problems.getByRole('heading', { name: 'price-list-not-found' })
      t.ok(((await heading.boundingBox())?.y ?? 900) < 450)
      const pictures = process.env.PICTURES
      if (pictures) await problems.screenshot({ path: `${pictures}/${width}-${colorScheme}.png` })
      await problems.getByRole('link', { name: 'Guide' }).click()
      await problems.waitForURL('**/docs/guide')
    }
  }
})

/** Opens an operation, executes it with its examples and returns the response. */
async function execute(page: Page, id: string, status: number): Promise<string> {
  const block = page.locator(`[id$="-${id}"].opblock`)
  await block.locator('.opblock-summary-control').click()
  await block.locator('button.execute').click()
  const answer = block.locator('.live-responses-table tbody')
  await answer
    .locator('.response-col_status', { hasText: String(status) })
    .first()
    .waitFor()
  return (await answer.locator('code').first().textContent()) ?? ''
}
