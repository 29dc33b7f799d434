import type { Page } from 'playwright-core'
import t from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { openPage, startPages } from '../helpers/browser.ts'
import { aList, aShop } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)

/** Presses Tab until the focused element has this name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate(
      'document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.closest("label")?.innerText ?? document.activeElement?.innerText ?? ""',
    )
    if (name.test(String(text))) return
  }
  throw new Error(`Tab does not lead to ${name}`)
}

t.test('by keyboard alone one logs in, sorts, opens a list and comes back', async (t) => {
  const user = await createAccount(service.url, { account: 'keys', email: 'keys@acme.example' })
  const page = await openPage(t, browser, { url })
  await page.getByLabel('E-mail').waitFor()
  await page.keyboard.type(user.email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(user.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
  await tabTo(page, /^Search/)
  await page.keyboard.type('nothing')
  await page.getByRole('main').getByText('No price list has this name.').waitFor()
})

t.test('the focus is seen wherever it is', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'Retail' })
  const page = await openPage(t, browser, { url, token: shop.token })
  await page.getByRole('link', { name: 'Retail' }).waitFor()
  const seen = new Set<string>()
  for (;;) {
    await page.keyboard.press('Tab')
    if (await page.evaluate('document.activeElement === document.body')) break
    const [text, style, width] = (await page.evaluate(
      '(({ outlineStyle, outlineWidth }) => [document.activeElement.innerText || document.activeElement.tagName, outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))',
    )) as [string, string, string]
    seen.add(text)
    t.strictSame([style, width], ['solid', '3px'], text)
  }
  t.ok(seen.has('Retail') && seen.has('Skip to content') && seen.has('Sign out'), [...seen].join())
})

t.test('the first Tab leads past the bar', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token, path: '/#/jobs' })
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  await page.keyboard.press('Tab')
  t.ok(await page.getByRole('link', { name: 'Skip to content' }).isVisible())
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate('document.activeElement.id'), 'main')
  t.match(page.url(), /#\/jobs$/, 'the page stays')
})

t.test('after a change of the page the reading goes on at its heading', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'Retail' })
  const page = await openPage(t, browser, { url, token: shop.token })
  await tabTo(page, /^Retail$/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Retail' }).waitFor()
  t.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  t.equal(await page.title(), 'Retail · Pricewell')
})

t.test('a column is sorted by keyboard, and the focus stays', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  for (const name of ['B', 'A']) await aList(shop, { name })
  const page = await openPage(t, browser, { url, token: shop.token })
  await page.getByRole('link', { name: 'B', exact: true }).waitFor()
  await tabTo(page, /^Name/)
  await page.keyboard.press('Enter')
  t.strictSame(await page.locator('tbody a').allInnerTexts(), ['A', 'B'])
  t.match(await page.evaluate('document.activeElement.innerText'), /^Name/)
})
