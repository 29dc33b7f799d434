import t from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { openBrowser, openPage } from '../helpers/browser.ts'
import { startTestService } from '../helpers/service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { startStrippingProxy } from '../helpers/stripping-proxy.ts'

const browser = await openBrowser(t)
const prefix = '/pricing'

for (const saysSo of [true, false]) {
  const how = saysSo ? 'that names its prefix' : 'whose prefix is set'
  t.test(`behind a proxy ${how}`, async (t) => {
    const service = await startTestService(t, saysSo ? {} : { BASE_PATH: prefix })
    const target = await service.app.listen({ port: 0, host: '127.0.0.1' })
    const url = await startStrippingProxy(t, target, { prefix, saysSo })
    const user = { email: 'a@example.com', password: 'a long enough password' }
    await createAccount(service.url, { account: 'a', ...user })

    await t.test('the page shows lists and their rows', async (t) => {
      const { shop } = await aFilledList(t, service, { codes: ['A1'], name: 'Retail' })
      const page = await openPage(t, browser, { url, token: shop.token })
      await page.getByRole('link', { name: 'Retail' }).click()
      await page.getByRole('link', { name: 'A1' }).first().waitFor()
      await page.getByRole('link', { name: 'API' }).click()
      await page.locator('.opblock').first().waitFor()
      t.equal(page.url(), `${url}/docs`)
    })

    await t.test('Swagger UI calls the service', async (t) => {
      for (const path of ['/docs', '/docs/']) {
        const page = await openPage(t, browser, { url, path })
        const block = page.locator('[id$="-readLiveness"].opblock')
        await block.locator('.opblock-summary-control').click()
        await block.locator('button.execute').click()
        const code = block.locator('.live-responses-table .response-col_status').nth(1)
        t.match(await code.textContent(), /200/, path)
        t.match(await block.locator('.request-url').textContent(), `${url}/health/live`)
      }
    })
  })
}
