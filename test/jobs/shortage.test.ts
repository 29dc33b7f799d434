import t from 'tap'
import type { RunJob } from '../../src/jobs/run-job.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { query } from '../helpers/database.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { startTestService, type TestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'
import { startTestWorkers } from '../helpers/workers.ts'

const salesPath = '/api/v1/sales_history/bulk_create_or_update'
const csv = { 'content-type': 'text/csv', prefer: 'respond-async' }
const header = 'transaction_id,code,extension,quantity,revenue'
const full = Object.assign(new Error('No space left on device'), { code: '53100' })

const set = ({ url }: TestService, setting: string) =>
  query(url, `alter database ${new URL(url).pathname.slice(1)} set ${setting}`)

t.test('a file that needs more than the database allows fails, and says why', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 20_000 }, (_, index) => `T${index},A,,1,2.50`)
  const large = await account.send('POST', salesPath, [header, ...rows].join('\n'), csv)
  const small = await account.send('POST', salesPath, `${header}\nS,A,,1,2.50`, csv)
  await set(service, `temp_file_limit = '64kB'`)
  await set(service, `work_mem = '64kB'`)
  await startTestWorkers(t, service)
  const failed = await account.finished(large.body)
  t.equal(failed.status, 'failed')
  t.strictSame(failed.errors, [
    {
      code: 'internal-error',
      message:
        'The job could not be done: it needs more than a limit of the database allows, such as temp_file_limit. Nothing was published.',
    },
  ])
  const row = `select faults from jobs where id = ${large.body.id}`
  t.strictSame(await select(service.url, row), [{ faults: 10 }], 'after ten tries')
  t.equal((await account.finished(small.body)).status, 'done', 'the next file is loaded')
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 1)
})

t.test('a disk that was full for a while is no end of a job', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  let attempts = 0
  const failNineTimes: RunJob = async (attempt, job) => {
    if (++attempts <= 9) throw full
    await runAddProducts(attempt, job)
  }
  const { shop, job } = await aBigJob(t, service)
  await startTestWorkers(t, service, { 'add-products': failNineTimes })
  t.match(await shop.finished(job), { status: 'done', errors: [] })
})

t.test('pauses grow from try to try, up to their maximum, and end with the pause', async (t) => {
  const seconds = async (service: TestService, retryCount: number) => {
    const retried = `select retry_delay from pgboss.job
      where name = 'price-list' and state = 'retry' and retry_count = ${retryCount}`
    for (;;) {
      const [turn] = await select(service.url, retried)
      if (turn) return turn.retry_delay
    }
  }
  const turns = (service: TestService, change: string) =>
    select(service.url, `update pgboss.job set ${change} where name = 'price-list'`)
  const during: number[] = []
  for (const [tries, pause] of [
    [3, 8],
    [9, 60],
  ] as const) {
    const service = await startTestService(t, { ROLE: 'api' })
    await aBigJob(t, service)
    await turns(service, `retry_count = ${tries}`)
    const fail: RunJob = async () => {
      const [turn] = await select(
        service.url,
        `select retry_delay from pgboss.job where name = 'price-list'`,
      )
      during.push(turn.retry_delay)
      throw full
    }
    await startTestWorkers(t, service, { 'add-products': fail }, 60)
    t.equal(await seconds(service, tries), pause, `after ${tries} tries`)
    if (pause < 60) continue
    await turns(service, 'start_after = now()')
    t.equal(await seconds(service, tries + 1), pause)
    t.equal(during.at(-1), 1, 'a worker that dies meanwhile leaves no pause')
  }
})
