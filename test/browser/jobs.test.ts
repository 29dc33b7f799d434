import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { openBrowser, openPage } from '../helpers/browser.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { jwtSecret, startTestService } from '../helpers/service.ts'

/** Without a worker, jobs wait. */
const service = await startTestService(t, { ROLE: 'api' })
const url = await service.app.listen({ port: 0 })
const browser = await openBrowser(t)

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
