import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContextOptions, chromium } from 'playwright-core'
import { demoUser } from '../../examples/demo/made-up.ts'
import { findBrowser } from '../helpers/browser.ts'

/** Makes the pictures of the README from a running `npm run demo`: `npm exec -- node test/browser/screenshots.ts`. */
const [, , url = 'http://127.0.0.1:3000'] = process.argv
const folder = join(import.meta.dirname, '../../.readme')
mkdirSync(folder, { recursive: true })
const browser = await chromium.launch({
  executablePath: findBrowser() ?? '',
  args: ['--no-sandbox', '--disable-gpu'],
})
const prices = '#/prices?code=22423&list=1'
const year = '#/prices?code=22423&list=3'
const desk = { width: 1200, height: 800 }
await take('prices-light', prices, { viewport: desk, colorScheme: 'light' })
await take('year-dark', year, { viewport: { width: 1200, height: 900 }, colorScheme: 'dark' })
await take('prices-phone', prices, { viewport: { width: 360, height: 780 }, colorScheme: 'light' })
await browser.close()

async function take(name: string, path: string, look: BrowserContextOptions): Promise<void> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...look })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${url}/${path}`)
  await page.getByLabel('E-mail').fill(demoUser.email)
  await page.getByLabel('Password').fill(demoUser.password)
  await page.keyboard.press('Enter')
  await page
    .locator(path === year ? '.bars' : '.cards')
    .first()
    .waitFor()
  await page.evaluate('document.activeElement.blur()')
  if (path === year)
    await page.evaluate('document.querySelector(".bars").closest("section").scrollIntoView()')
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await context.close()
}
