import t from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { openPage, startPages } from '../helpers/browser.ts'

const { service, url, browser } = await startPages(t)
const user = await createAccount(service.url, { account: 'A', email: 'ana@acme.example' })

t.test('with e-mail and password one sees the price lists', async (t) => {
  const page = await openPage(t, browser, { url })
  await page.getByLabel('E-mail').fill(user.email)
  await page.getByLabel('Password').fill(user.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
  await page.getByRole('main').getByText('There are no price lists yet.').waitFor()
  t.equal(await page.title(), 'Price lists · Pricewell')
  await page.reload()
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
  t.notMatch(page.url(), /password|token/, 'nothing secret is in the address')
})

t.test('a wrong password is refused in words, and one can try again', async (t) => {
  const page = await openPage(t, browser, { url })
  await page.getByLabel('E-mail').fill(user.email)
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  t.match(await alert.innerText(), /No valid credentials/)
  t.equal(await page.locator('[name=password]:focus').count(), 1, 'where one goes on')
  await page.getByLabel('Password').fill(user.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
})

t.test('a token does as well, with or without the word jwt before it', async (t) => {
  const { token } = await service.newAccount(t)
  for (const text of [token, `jwt ${token}`]) {
    const page = await openPage(t, browser, { url })
    await page.getByText('I have a token').click()
    await page.getByLabel('Token').fill(text)
    await page.keyboard.press('Enter')
    await page.getByRole('main').getByText('There are no price lists yet.').waitFor()
  }
})

t.test('a token that is not valid ends the session and says so', async (t) => {
  const page = await openPage(t, browser, { url, token: 'a.b.c', path: '/#/jobs' })
  await page.getByText('Your session has ended. Please log in again.').waitFor()
  t.notOk(await page.getByRole('navigation').isVisible())
  await page.getByLabel('E-mail').fill(user.email)
  await page.getByLabel('Password').fill(user.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  t.match(page.url(), /#\/jobs$/, 'where one wanted to go')
})

t.test(
  'a link that is opened in another tab needs no log-in, and signing out ends both',
  async (t) => {
    const { token } = await service.newAccount(t)
    const page = await openPage(t, browser, { url, token })
    await page.getByRole('heading', { name: 'Price lists' }).waitFor()
    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Jobs' }).click({ modifiers: ['ControlOrMeta'] })
    const other = await opened
    await other.evaluate('sessionStorage.clear()')
    await other.reload()
    await other.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.evaluate('sessionStorage.setItem("left", "yes")')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await other.getByLabel('E-mail').waitFor()
  },
)

t.test('a new tab whose token comes late is logged in then', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token })
  await page.getByRole('heading', { name: 'Price lists' }).waitFor()
  const other = await page.context().newPage()
  await other.addInitScript(`
    const add = BroadcastChannel.prototype.addEventListener
    BroadcastChannel.prototype.addEventListener = function (type, listener) {
      add.call(this, type, (event) => setTimeout(listener, 1000, event))
    }`)
  await other.goto(`${url}/#/jobs`)
  await other.getByLabel('E-mail').waitFor()
  await other.getByRole('heading', { name: 'Jobs' }).waitFor()
})

t.test('who signs out is asked to log in', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  t.equal(await page.evaluate('sessionStorage.getItem("pricewell.token")'), null)
  t.equal(await page.evaluate('localStorage.length + document.cookie.length'), 0)
})

t.test('where the service does not answer, that is said, and trying again helps', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token, path: '/#/jobs' })
  await page.getByRole('main').getByText('There are no jobs.').waitFor()
  await page.route('**/api/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Price lists' }).click()
  await page.getByText('The service cannot be reached.').waitFor()
  await page.unroute('**/api/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('main').getByText('There are no price lists yet.').waitFor()
})

t.test('a text that is no token starts no session', async (t) => {
  const page = await openPage(t, browser, { url })
  await page.getByText('I have a token').click()
  await page.getByLabel('Token').fill('“eyJ.eyJ.x”')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('This is not a token').waitFor()
  t.equal(await page.evaluate('sessionStorage.getItem("pricewell.token")'), null)
})

t.test('an answer that is not from the service gives its status', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token, path: '/#/jobs' })
  await page.getByRole('main').getByText('There are no jobs.').waitFor()
  const html = { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }
  await page.route('**/api/**', (route) => route.fulfill(html))
  await page.getByRole('link', { name: 'Price lists' }).click()
  await page.getByText('The answer has the HTTP status 502.').waitFor()
  await page.unroute('**/api/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('main').getByText('There are no price lists yet.').waitFor()
  t.notOk(await page.evaluate('document.activeElement === document.body'), 'the focus stays there')
})

t.test('a refused request names its faults', async (t) => {
  const { token } = await service.newAccount(t)
  const page = await openPage(t, browser, { url, token, path: '/#/plans?status=bogus' })
  await page.getByText('status: must be one of open, scheduled').waitFor()
})
