import t from 'tap'
import { expectAccessible, expectFits, openPage, startPages } from '../helpers/browser.ts'
import { aFilledList, setPrices } from '../helpers/shop.ts'
import { aToken } from '../helpers/tokens.ts'
import { anAddedUser, anAdmin } from '../helpers/users.ts'

const { service, url, browser } = await startPages(t)
const row = { code: 'A', country: 'UK' }

/** A shop with a plan and a revision, and its page as a token of these scopes shows it. */
async function aPage(t: Parameters<typeof openPage>[0], scope: string) {
  const guardrails = { max_increase_percent: 5 }
  const { shop, list } = await aFilledList(t, service, { name: 'Retail' })
  await setPrices(shop, 'Retail', [{ ...row, price: 10 }])
  await shop.send('PATCH', `/api/v1/price_list/${list.id}`, { guardrails })
  const body = { price_list_name: 'Retail', payload: [{ ...row, price: 11 }] }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_update_prices/?plan=true', body)
  const token = await aToken({ account: shop.id, scope })
  const open = (path: string, options = {}) =>
    openPage(t, browser, { url, token, path, ...options })
  return { list, plan, open }
}

const apply = 'To apply it, your login needs the scope “write”.'
const undo = 'To undo this change, your login needs the scope “write”.'

t.test('an analyst who may read logs in and looks at lists', async (t) => {
  const user = await anAddedUser(await anAdmin(t, service))
  const page = await openPage(t, browser, { url })
  await page.getByLabel('E-mail').fill(user.email)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('There are no price lists').first().waitFor()
})

t.test('who may read is offered no change, and told why', async (t) => {
  const { list, plan, open } = await aPage(t, 'read')
  for (const [path, why] of [
    [`/#/plans/${plan.id}`, apply],
    [`/#/lists/${list.id}/revisions/2`, undo],
  ] as const) {
    const page = await open(path)
    await page.getByText(why).waitFor()
    t.equal(await page.getByRole('button', { name: /Apply|Discard|Undo/ }).count(), 0, path)
    await expectAccessible(t, page, path)
  }
  const narrow = await open(`/#/plans/${plan.id}`, { viewport: { width: 390, height: 800 } })
  await narrow.getByText(apply).waitFor()
  await expectFits(t, narrow, 'on a phone')
})

t.test('who may plan discards plans and applies none', async (t) => {
  const { plan, open } = await aPage(t, 'plan')
  const page = await open(`/#/plans/${plan.id}`)
  await page.getByText(apply).waitFor()
  t.equal(await page.getByRole('button', { name: 'Apply' }).count(), 0)
  for (let click = 0; click < 2; click++)
    await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('discarded').first().waitFor()
})

t.test('who may write passes no guardrails', async (t) => {
  const { list, plan, open } = await aPage(t, 'write')
  const page = await open(`/#/plans/${plan.id}`)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('To apply it all the same, your login needs the scope “override”.').waitFor()
  t.equal(await page.getByLabel('Why the guardrails do not hold').count(), 0)
  const revision = await open(`/#/lists/${list.id}/revisions/2`)
  await revision.getByRole('button', { name: 'Undo this change' }).waitFor()
})
