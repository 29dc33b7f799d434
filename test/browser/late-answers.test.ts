import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, openPage } from '../helpers/browser.ts'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

const service = await startTestService(t)
const url = await service.app.listen({ port: 0 })
const browser = await openBrowser(t)
const shop = await aShopOf(t, service, {}, [{ code: 'A1' }, { code: 'AB' }])
await aList(shop, { name: 'Retail' })
await addProducts(shop, 'Retail', [{ code: 'A1' }])

/** Keeps the answer to the next request of this kind; `arrive` lets it through and waits until the page has it. */
async function aLateAnswer(page: Page, path: RegExp) {
  const held = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await page.route(
    path,
    async (route) => {
      const response = await route.fetch()
      held.resolve()
      await released.promise
      await route.fulfill({ response }).catch(() => undefined)
    },
    { times: 1 },
  )
  const arrive = async () => {
    const arrived = page.waitForEvent('requestfinished', (request) => path.test(request.url()))
    released.resolve()
    await arrived
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))',
    )
  }
  return { held: held.promise, arrive }
}

const suggestions = (page: Page) =>
  page
    .locator('#codes option')
    .evaluateAll((options) => options.map((option) => option.getAttribute('value')))

/** Until the page has taken notice that the field is empty. */
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
