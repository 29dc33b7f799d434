import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { openPage, startPages } from '../helpers/browser.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { jwtSecret, startTestService } from '../helpers/service.ts'
import { aShop } from '../helpers/shop.ts'

/** Without a worker, jobs wait. */
const { service, url, browser } = await startPages(t, { ROLE: 'api' })

t.test('a job is seen waiting, then done, without a reload', async (t) => {
  const { shop, list, job } = await aBigJob(t, service)
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/jobs' })
  const row = page.getByRole('row', { name: /Add products to L/ })
  await row.getByText('running').waitFor()
  t.match(await row.innerText(), /0 of 101/)
  t.equal(
    await row.getByRole('progressbar').getAttribute('aria-label'),
    `Progress of job ${job.id}`,
  )
  const value = await row.getByRole('progressbar').getAttribute('value')
  t.equal(value, null, 'a bar that moves: nothing is done yet')
  await page.getByRole('status').getByText(`Job ${job.id}: 0 %`).waitFor({ state: 'attached' })
  const worker = await startService(
    readConfig({
      DATABASE_URL: service.url,
      JWT_SECRET: jwtSecret,
      ROLE: 'worker',
      LOG_LEVEL: 'error',
    }),
  )
  t.teardown(() => worker.close())
  await row.getByText('done').waitFor()
  await row.getByText('101 of 101').waitFor()
  await page.getByRole('status').getByText(`Job ${job.id}: done`).waitFor({ state: 'attached' })
  await row.getByRole('link', { name: 'L' }).click()
  await page.getByRole('heading', { name: '101 rows' }).waitFor()
  t.match(page.url(), new RegExp(`#/lists/${list.id}$`))
})

t.test('a waiting job is cancelled, and nothing was written', async (t) => {
  const { shop } = await aBigJob(t, service)
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/jobs' })
  const row = page.getByRole('row', { name: /Add products to L/ })
  await row.getByRole('button', { name: 'Cancel job' }).click()
  await row.getByRole('button', { name: 'Cancel', exact: true }).click()
  await row.getByRole('button', { name: 'Cancel job' }).click()
  await row.getByRole('button', { name: 'Stop it' }).click()
  await row.getByText('cancelled').waitFor()
  await row.getByText('Nothing was written.').waitFor()
  t.equal(await row.getByRole('button').count(), 0)
})

t.test('a failed job says why, by line and field', async (t) => {
  const worker = await startTestService(t)
  const shop = await aShop(t, worker, { codes: ['A'], countries: ['UK'] })
  const file =
    'transaction_id,code,extension,quantity,revenue,transaction_date\nt1,A,,x,1,2026-01-01\n'
  const path = '/api/v1/sales_history/bulk_create_or_update'
  await shop.send('POST', path, file, { 'content-type': 'text/csv', prefer: 'respond-async' })
  const address = await worker.app.listen({ port: 0 })
  const page = await openPage(t, browser, { url: address, token: shop.token, path: '/#/jobs' })
  const row = page.getByRole('row', { name: /Load sales/ })
  await row.getByText('failed').waitFor()
  await row.getByText('Nothing was written. Why?').click()
  await row.getByText('line 2, quantity').waitFor()
})

t.test('where not all jobs are shown, that is said', async (t) => {
  const { shop } = await aBigJob(t, service)
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/lists' })
  await page.route('**/api/v1/jobs/?*', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ json: { ...(await response.json()), count: 53 } })
  })
  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByText('53 in all, the last 50 are shown').waitFor()
})

t.test('a list of jobs says when the service does not answer', async (t) => {
  const { shop } = await aBigJob(t, service)
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/jobs' })
  await page.getByRole('row').nth(1).waitFor()
  await page.route('**/api/v1/jobs/?*', (route) => route.abort())
  await page.getByText('This may be old').waitFor()
  await page.unroute('**/api/v1/jobs/?*')
  await page.getByText('This may be old').waitFor({ state: 'detached' })
})
