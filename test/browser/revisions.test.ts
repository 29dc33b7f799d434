import type { Route } from 'playwright-core'
import t from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { aFilledList, rowsOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "Retail" whose rows A and B were priced at 2, then A at 20 by mistake. */
async function aMistake(t: Parameters<typeof openPage>[0]) {
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], name: 'Retail' })
  await setPrices(
    shop,
    'Retail',
    ['A', 'B'].map((code) => ({ ...uk(code), price: 2 })),
  )
  const body = { price_list_name: 'Retail', payload: [{ ...uk('A'), price: 20 }] }
  await shop.send('POST', '/api/v1/prices/bulk_update_prices/', body, { 'change-note': 'Spring' })
  const open = (path: string) => openPage(t, browser, { url, token: shop.token, path })
  return { shop, list, open }
}

t.test('a mistake is found in the changes of a list, looked at and undone', async (t) => {
  const { shop, list, open } = await aMistake(t)
  const page = await open(`/#/lists/${list.id}`)
  await page.getByText('Spring').waitFor()
  await page.getByRole('link', { name: '1 price' }).click()
  const cell = page.getByRole('row', { name: /A UK/ })
  await cell.waitFor()
  t.match(await cell.innerText(), /2\.00\s+20\.00\s+\+900%/)
  await page.getByRole('status').getByText('1 cell', { exact: true }).waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Undo this change' }).click()
  await page.getByLabel('Note').fill('Komma ☀')
  await page.getByLabel('Mark the change as a mistake').check()
  t.equal((await rowsOf(shop, list))[0].prices.price, 20, 'nothing is undone before the answer')
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('as a mistake', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'revision 4' }).click()
  await page.getByText('Komma ☀').waitFor()
  t.equal((await rowsOf(shop, list))[0].prices.price, 2)
  await page.goto(`${url}/#/lists/${list.id}`)
  await page.getByRole('cell', { name: '3: 1 price mistake Spring' }).waitFor()
})

t.test('a revision with too many changes to sort is shown by code', async (t) => {
  const { list, open } = await aMistake(t)
  const page = await open('/#/lists')
  await page.route('**/diff/?*order=change*', (route) => {
    const problem = {
      type: 'too-costly',
      title: 'Too costly',
      status: 400,
      detail: '',
      instance: '',
    }
    return route.fulfill({ status: 400, contentType: 'application/problem+json', json: problem })
  })
  await page.goto(`${url}/#/lists/${list.id}/revisions/3`)
  await page.getByText('by code', { exact: true }).waitFor()
  await page.getByRole('row', { name: /A UK/ }).waitFor()
})

t.test('an undo whose answer was lost is not done twice', async (t) => {
  const { shop, list, open } = await aMistake(t)
  const page = await open(`/#/lists/${list.id}/revisions/3`)
  const lose = async (route: Route) => {
    await route.fetch()
    await route.abort()
  }
  await page.route('**/revert/', lose, { times: 1 })
  await page.getByRole('button', { name: 'Undo this change' }).click()
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('The service cannot be reached.').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('link', { name: 'revision 4' }).waitFor()
  t.equal((await rowsOf(shop, list))[0].prices.price, 2)
})

t.test('what was changed again is not undone without a word', async (t) => {
  const { shop, list, open } = await aMistake(t)
  await setPrices(shop, 'Retail', [{ ...uk('A'), price: 3 }])
  const page = await open(`/#/lists/${list.id}/revisions/3`)
  await page.getByRole('button', { name: 'Undo this change' }).click()
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('None of it can be undone').waitFor()
  await page.getByText('A, UK, price: was changed again since').waitFor()
  t.notMatch(await page.locator('main').innerText(), /on_conflict/)
  t.equal(await page.getByRole('button', { name: 'Undo the rest' }).count(), 0)
  await page.getByRole('button', { name: 'Cancel' }).click()
  t.equal(await page.evaluate('document.activeElement.innerText'), 'Undo this change')
})

t.test('what was not changed again is undone, and the rest left out', async (t) => {
  const { shop, list, open } = await aMistake(t)
  await setPrices(shop, 'Retail', [{ ...uk('A'), price: 3 }])
  const page = await open(`/#/lists/${list.id}/revisions/2`)
  await page.getByRole('button', { name: 'Undo this change' }).click()
  t.equal(
    await page.evaluate('document.activeElement.getAttribute("aria-label")'),
    'Undo this change',
  )
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('Not all of it can be undone').waitFor()
  t.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'alert')
  await page.getByRole('button', { name: 'Undo the rest' }).click()
  await page.getByText(', 1 left out because they were changed again').waitFor()
  t.match(await page.evaluate('document.activeElement.innerText'), /^Undone: revision 5/)
})

t.test('prices are shown over time, and as they were', async (t) => {
  const { open } = await aMistake(t)
  const page = await open('/#/prices?code=A')
  const chart = page.getByRole('img', { name: /UK: 2\.00 to 20\.00 since/ })
  await chart.waitFor()
  await page.getByText('2 prices').click()
  await page.getByText('Spring').waitFor()
  await page.getByLabel('As of').fill('2020-01-01')
  await page.getByText('The price list was not published at that moment.').waitFor()
  t.match(page.url(), /as_of=2020-01-01/)
})
