import { existsSync } from 'node:fs'
import axe from 'axe-core'
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core'
import type { Test } from 'tap'
import { startTestService } from './service.ts'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** The browser named by CHROMIUM, or an installed one; undefined if there is none. */
export function findBrowser(): string | undefined {
  return [process.env.CHROMIUM, ...places].find((path) => path !== undefined && existsSync(path))
}

/** A headless browser, closed when the test file ends. */
export async function openBrowser(t: Test): Promise<Browser> {
  const executablePath = findBrowser()
  if (!executablePath) throw new Error('run the tests with `npm run test:browser`')
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-component-update']
  const browser = await chromium.launch({ executablePath, args })
  t.teardown(() => browser.close())
  return browser
}

/** A service with its address, and a headless browser for its pages. */
export async function startPages(t: Test, settings: Record<string, string> = {}) {
  const service = await startTestService(t, settings)
  const url = await service.app.listen({ port: 0 })
  return { service, url, browser: await openBrowser(t) }
}

export interface PageOptions extends BrowserContextOptions {
  /** Base URL of the service. */
  url: string
  /** Path below the base URL. */
  path?: string
  /** Token of the account that is logged in; none if left out. */
  token?: string
}

/**
 * Opens a page in a fresh browser context. The test fails on script errors, policy violations and requests to
 * other hosts.
 */
export async function openPage(
  t: Test,
  browser: Browser,
  { url, path = '/', token, ...options }: PageOptions,
): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('pageerror', (error) => t.fail(`the page failed: ${error.message}`))
  page.on('console', (message) => {
    const isRefusal = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isRefusal) t.fail(`the page says: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url))
      t.fail(`the page asks ${request.url()}`)
  })
  if (token)
    await page.addInitScript(
      `if (!sessionStorage.getItem('left')) sessionStorage.setItem('pricewell.token', '${token}')`,
    )
  await page.goto(url + path)
  return page
}

/**
 * Holds back the answer to the next request of this kind; `arrive` delivers it and waits until the page has it, or has
 * given up the request before.
 */
export async function aLateAnswer(page: Page, path: RegExp) {
  const held = Promise.withResolvers<Request>()
  const released = Promise.withResolvers<void>()
  await page.route(
    path,
    async (route) => {
      const response = await route.fetch()
      held.resolve(route.request())
      await released.promise
      await route.fulfill({ response }).catch(() => undefined)
    },
    { times: 1 },
  )
  const arrive = async () => {
    const arrived = page
      .waitForEvent('requestfinished', (request) => path.test(request.url()))
      .catch(() => undefined)
    released.resolve()
    if ((await held.promise).failure() === null) await arrived
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))',
    )
  }
  return { held: held.promise, arrive }
}

/** Fails the test for each violation of WCAG 2.2 AA on the page. */
export async function expectAccessible(t: Test, page: Page, message: string): Promise<void> {
  // The page's content security policy does not bind the debugger.
  await page.evaluate(`${axe.source}; undefined`)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)} })`,
  )) as axe.AxeResults
  const found = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])
  t.strictSame(found, [], `${message}: accessible`)
}

/** Fails the test when the page is wider than the screen. */
export async function expectFits(t: Test, page: Page, message: string): Promise<void> {
  const [wide, screen] = (await page.evaluate(
    '[document.documentElement.scrollWidth, innerWidth]',
  )) as [number, number]
  t.ok(wide <= screen, `${message}: ${wide} of ${screen} pixels wide`)
}
