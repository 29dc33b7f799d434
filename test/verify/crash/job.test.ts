import { setTimeout as sleep } from 'node:timers/promises'
import root, { type Test } from 'tap'
import {
  type Call,
  freshDataDir,
  logInFirst,
  type ServiceProcess,
  startProcess,
} from '../../helpers/process.ts'

/** TEST_LONG=1: more data, more moments to crash at. */
const isLong = process.env.TEST_LONG === '1'
const size = isLong ? 60_000 : 30_000
const longOnly = { skip: isLong ? false : 'with TEST_LONG=1' }
const codes = Array.from({ length: size }, (_, index) => `P${index}`)
const rows = codes.map((code) => ({ code, country: 'UK' }))
const rowsPath = (id: number) => `/api/v1/price_list/${id}/rows?limit=1`

const settings = { DATA_DIR: freshDataDir(root), LOG_LEVEL: 'info' }
let service: ServiceProcess = await startProcess(root, settings)
const call = await logInFirst(service, () => service.url)
await load(call)

root.test('a job that is killed in the middle is finished once by the next process', async (t) => {
  await killDuring(t, 'middle', ({ finished }) => finished > 0)
})

root.test(
  'a job that is killed as soon as it is accepted is finished once',
  longOnly,
  async (t) => {
    await killDuring(t, 'start', () => true)
  },
)

root.test('a job that is killed again and again is finished once', longOnly, async (t) => {
  await killDuring(t, 'twice', ({ finished }) => finished > 0, 2)
})

async function load(call: Call): Promise<void> {
  const schema = { extensions: [{ name: 'country', type: 'string' }] }
  await call('POST', '/api/v1/product_catalog/schema/create_schema/', schema)
  const { status } = await call('POST', '/api/v1/product_catalog/bulk_create_or_update/', rows)
  if (status !== 200) throw new Error('the catalog was not loaded')
}

interface Progress {
  finished: number
  total: number
}

/** Kills the service at a point of a job, starts it again and watches the job to its end. */
async function killDuring(
  t: Test,
  name: string,
  isTime: (progress: Progress) => boolean,
  kills = 1,
): Promise<void> {
  const list = { name, valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const { body: lists } = await call('POST', '/api/v1/price_list/bulk_create/', [list])
  const id: number = lists[0].id
  const accepted = Date.now()
  const { status, body: job } = await call('POST', '/api/v1/prices/bulk_add_products/', {
    price_list_name: name,
    payload: rows,
  })
  t.equal(status, 201)
  t.equal(job.status, 'progress')
  const seen = { finished: 0 }
  for (let kill = 0; kill < kills; kill++) {
    const before = seen.finished
    while (
      !isTime({ ...(await watch(t, id, job.id, seen)).progress, finished: seen.finished - before })
    )
      await sleep(5)
    await service.kill()
    const killed = Date.now()
    service = await startProcess(root, settings)
    const again = await watch(t, id, job.id, seen)
    t.comment(
      `${name}: killed at ${seen.finished}, ${again.status}, up again in ${Date.now() - killed} ms`,
    )
  }
  const restarted = Date.now()
  const atRestart = seen.finished
  let resumed = 0
  let end = await watch(t, id, job.id, seen)
  while (end.status === 'progress') {
    if (resumed === 0 && seen.finished > atRestart) resumed = Date.now() - restarted
    await sleep(5)
    end = await watch(t, id, job.id, seen)
  }
  t.comment(
    `${name}: went on ${resumed} ms after the restart, ended ${Date.now() - accepted} ms after acceptance`,
  )
  t.match(end, {
    status: 'done',
    progress: { total: size, finished: size, error: 0 },
    errors: { length: 0 },
  })
  t.equal(end.result.length, size)
  t.equal(new Set(end.result).size, size, 'every id once')
  t.equal((await call('GET', rowsPath(id))).body.count, size)
  const read = { price_list_id: id, payload: rows.slice(0, 1000) }
  const prices = await call('POST', '/api/v1/prices/get_prices/', read)
  t.strictSame(
    prices.body.map(({ pk }: { pk: number }) => pk),
    end.result.slice(0, 1000),
    'the result has the ids of the rows in payload order',
  )
  const published = (await call('GET', `/api/v1/price_list/${id}`)).body
  t.ok(published.published_at, 'the list is published')
}

/** What a reader may see at any moment: no row or all rows, and progress that never falls. */
async function watch(t: Test, list: number, job: number, seen: { finished: number }) {
  const { body } = await call('GET', `/api/v1/jobs/${job}/`)
  if (body.progress.finished < seen.finished)
    t.fail(`progress fell from ${seen.finished} to ${body.progress.finished}`)
  if (body.progress.finished > body.progress.total) t.fail('progress is over its total')
  seen.finished = body.progress.finished
  const { count } = (await call('GET', rowsPath(list))).body
  if (count !== 0 && count !== size) t.fail(`a reader sees ${count} rows of ${size}`)
  if (body.status === 'done' && count !== size) t.fail('the job is done and readers see no rows')
  return body
}
