import t from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { aFilledList, rowsOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "Retail" of A, B and C at 10, and a plan that sets A to 11, B to 15 and C to 10. */
async function aPlan(t: Parameters<typeof openPage>[0], guardrails: object = {}) {
  const codes = ['A', 'B', 'C']
  const { shop, list } = await aFilledList(t, service, { codes, name: 'Retail', guardrails })
  const price = (code: string, price: number) => ({ ...uk(code), price })
  await setPrices(
    shop,
    'Retail',
    ['A', 'B', 'C'].map((code) => price(code, 10)),
  )
  const payload = [price('A', 11), price('B', 15), price('C', 10)]
  const body = { price_list_name: 'Retail', payload }
  const path = '/api/v1/prices/bulk_update_prices/?plan=true'
  const { body: plan } = await shop.send('POST', path, body, { 'change-note': 'Spring' })
  const open = (path: string) => openPage(t, browser, { url, token: shop.token, path })
  const pricesNow = async () =>
    (await rowsOf(shop, list)).map(({ prices }) => prices.price as number)
  return { shop, list, plan, open, pricesNow }
}

t.test('a plan is found from its list, looked at and applied', async (t) => {
  const { list, open, pricesNow } = await aPlan(t)
  const page = await open(`/#/lists/${list.id}`)
  await page.getByRole('link', { name: '1 open' }).click()
  const row = page.getByRole('row', { name: /Set prices/ })
  await row.waitFor()
  t.match(await row.innerText(), /Retail[\s\S]*Spring[\s\S]*open\s+2\s+2\s+0\s+–/)
  await row.getByRole('link').click()
  await page.getByText('Largest rise').waitFor()
  t.match(await page.locator('.figures').innerText(), /Rows\s+3\s+Prices change\s+2\s+Rise\s+2/)
  const rows = page.getByRole('table', { name: /Rows of plan/ }).locator('tbody tr')
  t.match(await rows.first().innerText(), /B\s+UK, price[\s\S]+10\.00\s+15\.00\s+\+50%/)
  await page.getByLabel('Action').selectOption('none')
  await page.getByText('nothing: it is so already').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Apply this plan to Retail?').waitFor()
  t.strictSame(await pricesNow(), [10, 10, 10], 'nothing is written before the answer')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Made revision').waitFor()
  t.strictSame(await pricesNow(), [11, 15, 10])
  t.equal(await page.getByRole('button', { name: /Apply|Discard/ }).count(), 0)
})

t.test('a plan that removes products says which rows leave', async (t) => {
  const { shop, list, open } = await aPlan(t)
  const remove = { price_list_name: 'Retail', payload: [uk('A'), uk('B')] }
  const { body } = await shop.post('/api/v1/prices/bulk_remove_products/?plan=true', remove)
  const page = await open(`/#/plans/${body.id}`)
  await page.getByRole('heading', { name: /Remove products/ }).waitFor()
  t.match(await page.locator('.figures').innerText(), /Rows leave\s+2/)
  const rows = page.getByRole('table', { name: /Rows of plan/ }).locator('tbody tr')
  t.match(await rows.first().innerText(), /A\s+UK[\s\S]+removed/)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Made revision').waitFor()
  t.equal((await rowsOf(shop, list)).length, 1)
  const log = await open(`/#/lists/${list.id}`)
  await log.getByText('2 rows removed').first().waitFor()
})

t.test('stale rows are named, and left out on request', async (t) => {
  const { shop, plan, open, pricesNow } = await aPlan(t)
  await setPrices(shop, 'Retail', [{ ...uk('B'), price: 12 }])
  const page = await open(`/#/plans/${plan.id}`)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('B, UK, price').waitFor()
  t.strictSame(await pricesNow(), [10, 12, 10])
  await page.getByRole('button', { name: 'Apply without them' }).click()
  await page.getByText('Made revision').waitFor()
  t.strictSame(await pricesNow(), [11, 12, 10])
})

t.test(
  'a plan that a job was refused is explained and applied without the stale rows',
  async (t) => {
    const codes = Array.from({ length: 150 }, (_, index) => `P${index}`)
    const guardrails = { max_removed_percent: 10 }
    const { shop, list } = await aFilledList(t, service, { codes, name: 'Large', guardrails })
    const remove = { price_list_name: 'Large', payload: codes.slice(0, 149).map(uk) }
    const { body } = await shop.post('/api/v1/prices/bulk_remove_products/?plan=true', remove)
    await setPrices(shop, 'Large', [{ ...uk('P3'), price: 7 }])
    const page = await openPage(t, browser, {
      ...{ url, token: shop.token, path: `/#/plans/${body.id}` },
    })
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Changed since the plan was made', { exact: true }).waitFor()
    await page.getByText('P3, UK').waitFor()
    await page.getByRole('button', { name: 'Apply without them' }).click()
    await page.getByLabel('Why the guardrails do not hold').fill('season over')
    await page.getByRole('button', { name: 'Apply all the same' }).click()
    await page.getByRole('link', { name: '3', exact: true }).click()
    await page.getByText('Guardrails overridden').waitFor()
    await page.getByText('season over').waitFor()
    t.strictSame(
      (await rowsOf(shop, list)).map(({ code }) => code),
      ['P149', 'P3'],
    )
  },
)

t.test('a failed job is not asked for again', async (t) => {
  const { plan, open } = await aPlan(t)
  const page = await open(`/#/plans/${plan.id}`)
  const keys: (string | null)[] = []
  await page.route('**/apply/', async (route) => {
    keys.push(await route.request().headerValue('idempotency-key'))
    await route.fulfill({ status: 201, json: { id: 7, progress: { total: 1 } } })
  })
  await page.route('**/jobs/7/events/', (route) => route.fulfill({ body: '' }))
  const errors = [{ code: 'internal-error', message: 'Something went wrong here.' }]
  const failed = { id: 7, status: 'failed', errors, progress: { error: 0 } }
  await page.route('**/jobs/7/', (route) => route.fulfill({ json: failed }))
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Something went wrong here.').waitFor()
  const second = page.waitForRequest('**/apply/')
  await page.getByRole('button', { name: 'Try again' }).click()
  await second
  await page.getByText('Nothing was applied').waitFor()
  t.equal(new Set(keys).size, 2)
})

t.test('a plan whose time has passed leads back to it', async (t) => {
  const { plan, open } = await aPlan(t)
  const page = await open(`/#/plans/${plan.id}`)
  await page.route('**/apply/', (route) =>
    route.continue({ postData: JSON.stringify({ at: '2026-01-01T00:00:00Z' }) }),
  )
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('has passed').waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.getByRole('button', { name: 'Discard' }).waitFor()
})

t.test('violations are marked and filtered, left out or overridden', async (t) => {
  const { plan, open, pricesNow, shop, list } = await aPlan(t, { max_increase_percent: 20 })
  const page = await open(`/#/plans/${plan.id}`)
  await page.getByRole('link', { name: 'rises too much' }).click()
  await page.getByRole('heading', { name: '1 row' }).waitFor()
  const row = page.getByRole('table').locator('tbody tr')
  t.match(await row.innerText(), /^B[\s\S]*rises too much/)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('from 10 to 15: rises by more than 20 percent').waitFor()
  await page.getByRole('button', { name: 'Apply without them' }).waitFor()
  await page.getByLabel('Why the guardrails do not hold').fill('agreed ☀')
  await page.getByRole('button', { name: 'Apply all the same' }).click()
  await page.getByText('Made revision').waitFor()
  t.strictSame(await pricesNow(), [11, 15, 10])
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.equal(body.override, 'agreed ☀')
})

t.test('a plan is scheduled, then discarded', async (t) => {
  const { plan, open, pricesNow } = await aPlan(t)
  const page = await open(`/#/plans/${plan.id}`)
  await page.getByRole('button', { name: 'Apply' }).click()
  const year = new Date().getUTCFullYear() + 1
  await page.getByLabel('When').fill(`${year}-01-01T08:00`)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Scheduled for').waitFor()
  await page.getByText(`1 Jan ${year}, 08:00:00`).waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('It cannot be applied any more.').waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('discarded', { exact: true }).waitFor()
  t.strictSame(await pricesNow(), [10, 10, 10])
  await page.getByRole('link', { name: 'Plans' }).first().click()
  await page.getByLabel('Status').selectOption('open')
  await page.getByRole('main').getByText('There is no such plan.').waitFor()
})

t.test('a plan that is not there says so', async (t) => {
  const { open } = await aPlan(t)
  const page = await open('/#/plans/999999')
  await page.getByText('There is no such plan.').waitFor()
})

t.test('a filter of plans or their rows is changed by keyboard, and the focus stays', async (t) => {
  const { plan, open } = await aPlan(t)
  const page = await open('/#/plans')
  const focused = 'document.activeElement.closest("label")?.innerText.split("\\n")[0]'
  await page.getByRole('link', { name: /Set prices/ }).waitFor()
  await page.getByLabel('Status').focus()
  await page.keyboard.press('ArrowDown')
  await page.waitForURL(/status=open$/)
  await page.keyboard.press('ArrowDown')
  await page.waitForURL(/status=scheduled$/)
  await page.getByRole('main').getByText('There is no such plan.').waitFor()
  t.equal(await page.evaluate(focused), 'Status')
  await page.goBack()
  await page.getByRole('link', { name: /Set prices/ }).click()
  await page.getByRole('heading', { name: '3 rows' }).waitFor()
  await page.getByLabel('Action').focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('heading', { name: '2 rows' }).waitFor()
  await page.waitForFunction(`${focused} === 'Action'`)
  t.match(page.url(), new RegExp(`plans/${plan.id}\\?action=price$`))
  await page.keyboard.press('ArrowDown')
  await page.getByRole('main').getByText('No row matches.').waitFor()
  await page.waitForFunction(`${focused} === 'Action'`)
})

t.test('behind the last page of a plan is the last one', async (t) => {
  const { plan, open } = await aPlan(t)
  const page = await open(`/#/plans/${plan.id}?page=9`)
  await page.getByRole('row', { name: /^A/ }).waitFor()
  t.equal(await page.getByText(/Page 9/).count(), 0)
})

t.test(
  'the moment to apply a plan must be whole and ahead, and a refusal is explained',
  async (t) => {
    const { plan, open } = await aPlan(t)
    const page = await open(`/#/plans/${plan.id}`)
    const focused = 'document.activeElement.innerText'
    await page.getByRole('button', { name: 'Apply' }).click()
    t.match(await page.evaluate(focused), /^Apply this plan/)
    const moment = page.getByLabel('When')
    await moment.focus()
    await page.keyboard.type('11')
    await page.getByRole('button', { name: 'Apply' }).click()
    t.equal(await page.evaluate('document.activeElement.type'), 'datetime-local', 'half a moment')
    await moment.fill('2020-01-01T08:00')
    await page.getByRole('button', { name: 'Apply' }).click()
    t.ok(await moment.isVisible(), 'the past')
    await moment.fill('2099-01-01T08:00')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('at: must be at most 400 days ahead').waitFor()
    t.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'alert')
  },
)

t.test(
  'a question that is not answered gives the focus back; a plan that is applied, to its heading',
  async (t) => {
    const { open, plan } = await aPlan(t)
    const page = await open(`/#/plans/${plan.id}`)
    const focused = 'document.activeElement.innerText'
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    t.equal(await page.evaluate(focused), 'Apply')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Made revision').waitFor()
    t.match(await page.evaluate(focused), /^Plan \d+: Set prices/)
  },
)

t.test('a plan is discarded once, however often one clicks', async (t) => {
  const { open, plan } = await aPlan(t)
  const page = await open(`/#/plans/${plan.id}`)
  let sent = 0
  page.on('request', (request) => {
    if (request.method() === 'DELETE') sent++
  })
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('button', { name: 'Discard' }).dblclick()
  await page.getByText('discarded', { exact: true }).waitFor()
  t.equal(sent, 1)
})

t.test('a plan that failed says why in words, not in those of programs', async (t) => {
  const { open, plan } = await aPlan(t)
  const page = await open('/#/lists')
  await page.route(`**/plans/${plan.id}/`, (route) => {
    const detail = '1 row is stale. Nothing was written; `skip: ["stale"]` leaves them out.'
    const errors = [{ pointer: '', code: 'stale', message: 'was changed', cell: { code: 'A' } }]
    const problem = { type: 'plan-stale', title: 'The plan is stale', status: 409, detail, errors }
    return route.fulfill({ json: { ...plan, status: 'failed', error: problem } })
  })
  await page.goto(`${url}/#/plans/${plan.id}`)
  await page.getByText('The plan is stale').waitFor()
  await page.getByText('A: was changed').waitFor()
  t.notMatch(await page.locator('main').innerText(), /skip:/)
})

t.test('a planned promotion keeps all decimals of its percentage', async (t) => {
  const { shop, open } = await aPlan(t)
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const third = { name: 'Third', kind: 'percentage', value: 33.333, ...year }
  const path = '/api/v1/promotions/bulk_create_or_update/?plan=true'
  const { body } = await shop.post(path, [third, { ...third, name: 'Tiny', value: 0.04 }])
  const page = await open(`/#/plans/${body.id}`)
  await page.getByRole('row', { name: /Third.*-33\.333%/ }).waitFor()
  await page.getByRole('row', { name: /Tiny.*-0\.04%/ }).waitFor()
})
