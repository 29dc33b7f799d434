import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { anApiKey } from '../helpers/api-keys.ts'
import { expectAccessible, expectFits, openPage, startPages } from '../helpers/browser.ts'
import { aUser, type User } from '../helpers/user.ts'
import { logIn } from '../helpers/users.ts'

const { service, url, browser } = await startPages(t)
const fresh = 'seven grey whales sing'

async function fillLogin(page: Page, { email, password }: User): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

/** The form of a user who has logged in, on a phone. */
async function openForm(t: Test, user: User): Promise<Page> {
  const page = await openPage(t, browser, { url, viewport: { width: 360, height: 740 } })
  await fillLogin(page, user)
  await page.getByRole('link', { name: 'Password' }).click()
  await page.getByRole('heading', { name: 'Change your password' }).waitFor()
  return page
}

async function change(page: Page, current: string, wanted: string, again = wanted): Promise<void> {
  await page.getByLabel('Current password').fill(current)
  await page.getByLabel('New password', { exact: true }).fill(wanted)
  await page.getByLabel('New password once more').fill(again)
  await page.getByRole('button', { name: 'Change password' }).click()
}

t.test('one changes the own password and logs in with the new one', async (t) => {
  const user = await aUser(service)
  const page = await openForm(t, user)
  await expectFits(t, page, 'form')
  await expectAccessible(t, page, 'form')
  await change(page, user.password, fresh)
  await page.getByText('Your password is changed. Log in with the new one.').waitFor()
  t.equal(await page.evaluate('sessionStorage.getItem("pricewell.token")'), null)
  t.equal((await logIn(t, service, user)).status, 401, 'the old one opens nothing')
  await fillLogin(page, { ...user, password: fresh })
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
})

t.test('a changed password ends the session of other tabs, too', async (t) => {
  const user = await aUser(service)
  const page = await openForm(t, user)
  const other = await page.context().newPage()
  await other.goto(`${url}/#/jobs`)
  await other.getByRole('heading', { name: 'Jobs' }).waitFor()
  await change(page, user.password, fresh)
  await other.getByText('Your session has ended. Please log in again.').waitFor()
})

t.test('what is refused is said in words and changes nothing', async (t) => {
  const user = await aUser(service)
  const page = await openForm(t, user)
  const alert = page.getByRole('alert')
  await change(page, 'wrong', fresh)
  await alert.getByText('The current password is wrong', { exact: true }).waitFor()
  t.equal(await page.locator('[autocomplete=current-password]:focus').count(), 1)
  await change(page, user.password, fresh, `${fresh}!`)
  await alert.getByText('The new passwords differ').waitFor()
  await change(page, user.password, 'too short')
  t.equal(await page.locator('[autocomplete=new-password]:invalid').count(), 2)
  t.equal((await logIn(t, service, user)).status, 200)
})

t.test('an API key has no password to change', async (t) => {
  const { key } = await anApiKey(await service.newAccount(t))
  const page = await openPage(t, browser, { url, token: key, path: '/#/password' })
  await change(page, 'whatever it is', fresh)
  await page.getByText('Only a user who logs in here has a password to change.').waitFor()
  t.equal(await page.getByRole('link', { name: 'Password' }).count(), 0, 'so none is offered')
})
