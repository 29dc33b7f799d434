import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { openBrowser, openPage } from '../helpers/browser.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

/** Without a worker, jobs wait. */
const service = await startTestService(t, { ROLE: 'api' })
const url = await service.app.listen({ port: 0 })
const browser = await openBrowser(t)
const shop = await aShopOf(t, service, {}, [{ code: 'A1' }, { code: 'AB' }])
await aList(shop, { name: 'Retail' })
await addProducts(shop, 'Retail', [{ code: 'A1' }])

/** Holds back the answer to the next request of this kind; `arrive` delivers it and waits until the page has it. */
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

for (const order of ['before', 'after']) {
  t.test(`a job that has ended has, also for what arrives ${order} the news of it`, async (t) => {
    const { shop, job } = await aBigJob(t, service)
    const page = await openPage(t, browser, { url, token: shop.token })
    await page.clock.install()
    await page.goto(`${url}/#/jobs`)
    const row = page.getByRole('row', { name: /Add products to L/ })
    await row.getByText('running').waitFor()
    const old = await aLateAnswer(page, /jobs\/\?/)
    await page.clock.fastForward(5000)
    await old.held
    const news = await aLateAnswer(page, /jobs\/\?/)
    await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
    await row.getByText('cancelled').waitFor()
    await news.held
    await page.route('**/events/', (route) => route.abort())
    for (const answer of order === 'before' ? [old, news] : [news, old]) {
      await answer.arrive()
      t.match(await row.innerText(), /cancelled/)
    }
    t.notMatch(await row.innerText(), /–/, 'how long it took')
  })
}

t.test(
  'a first look at the jobs that fails at last does not hide what a later one saw',
  async (t) => {
    const { shop } = await aBigJob(t, service)
    const page = await openPage(t, browser, { url, token: shop.token })
    await page.clock.install()
    const failing = Promise.withResolvers<Route>()
    await page.route(/jobs\/\?/, failing.resolve, { times: 1 })
    await page.goto(`${url}/#/jobs`)
    const first = await failing.promise
    await page.clock.fastForward(5000)
    const row = page.getByRole('row', { name: /Add products to L/ })
    await row.waitFor()
    await first.abort()
    await page.locator('main .panel:not([aria-busy])').waitFor()
    t.ok(await row.isVisible())
  },
)

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
