import t from 'tap'
import { AttemptFailed, type RunJob, type RunOptions, runJob } from '../../src/jobs/run-job.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { query } from '../helpers/database.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { startTestService, type TestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, startTestWorkers } from '../helpers/workers.ts'

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

t.test('what the database may never have for a job ends it at the tenth try', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  const db = openJobsDatabase(t, service)
  const account = await service.newAccount(t)
  const states = {
    '53100': /disk of the database is full/,
    '53200': /too little memory/,
    '53400': /more than a limit of the database allows/,
    '57014': /a statement of it takes longer than it may/,
    '25P04': /a transaction of it takes longer/,
    '40001': /others change the same rows/,
    '40P01': /others change the same rows/,
  }
  for (const [code, message] of Object.entries(states)) {
    const { body: job } = await account.send('POST', salesPath, `${header}\n`, csv)
    const fail: RunJob = () => Promise.reject(Object.assign(new Error('failed'), { code }))
    const runners = {
      'load-file': fail,
      'add-products': fail,
      'remove-products': fail,
      'sync-with-catalog': fail,
      revert: fail,
      'make-plan': fail,
      'apply-plan': fail,
    }
    const nothing = async () => {}
    const options = { runners, backoffMaxSeconds: 0, undo: nothing, log: () => undefined }
    const tryOnce = (number: number) => runJob(anAttempt(db, account, job, number), options)
    for (let number = 0; number < 9; number++)
      await t.rejects(tryOnce(number), { message: new RegExp(code) })
    t.equal((await account.get(`/api/v1/jobs/${job.id}/`)).body.status, 'progress', code)
    await tryOnce(9)
    t.match((await account.get(`/api/v1/jobs/${job.id}/`)).body, {
      status: 'failed',
      errors: [{ code: 'internal-error', message }],
    })
  }
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
  t.match(await shop.finished(job), { status: 'done', errors: { length: 0 } })
})

t.test('pauses grow from try to try, up to their maximum, and end with the pause', async (t) => {
  const seconds = async (service: TestService, retryCount: number) => {
    const retried = `select retry_delay from pgboss.job
      where name = 'price-list' and state = 'retry' and retry_count = ${retryCount}`
    for (;;) {
      const [slot] = await select(service.url, retried)
      if (slot) return slot.retry_delay
    }
  }
  const slots = (service: TestService, change: string) =>
    select(service.url, `update pgboss.job set ${change} where name = 'price-list'`)
  const during: number[] = []
  for (const [tries, pause] of [
    [3, 8],
    [9, 60],
  ] as const) {
    const service = await startTestService(t, { ROLE: 'api' })
    await aBigJob(t, service)
    await slots(service, `retry_count = ${tries}`)
    const fail: RunJob = async () => {
      const [slot] = await select(
        service.url,
        `select retry_delay from pgboss.job where name = 'price-list'`,
      )
      during.push(slot.retry_delay)
      throw full
    }
    await startTestWorkers(t, service, { 'add-products': fail }, 60)
    t.equal(await seconds(service, tries), pause, `after ${tries} tries`)
    if (pause < 60) continue
    await slots(service, 'start_after = now()')
    t.equal(await seconds(service, tries + 1), pause)
    t.equal(during.at(-1), 1, 'a worker that dies meanwhile leaves no pause')
  }
})

t.test('a job whose fault cannot be counted is handed out again', async (t) => {
  const service = await startTestService(t, { ROLE: 'api' })
  const { shop, job } = await aBigJob(t, service)
  await select(
    service.url,
    'alter table jobs add constraint no_faults check (faults = 0) not valid',
  )
  const fails = async () => {
    throw new Error('a fault of its own')
  }
  const options: RunOptions = {
    runners: {
      'add-products': fails,
      'remove-products': fails,
      'sync-with-catalog': fails,
      'load-file': fails,
      revert: fails,
      'make-plan': fails,
      'apply-plan': fails,
    },
    backoffMaxSeconds: 0,
    undo: async () => undefined,
    log: () => undefined,
  }
  const attempt = anAttempt(openJobsDatabase(t, service), shop, job, 0)
  const failure = await runJob(attempt, options).catch((error) => error)
  t.ok(failure instanceof AttemptFailed, 'the queue is told')
  t.match((await shop.get(`/api/v1/jobs/${job.id}/`)).body, { status: 'progress' })
})
