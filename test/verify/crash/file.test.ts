import { setTimeout as sleep } from 'node:timers/promises'
import root, { type Test } from 'tap'
import {
  freshDataDir,
  logInFirst,
  type ServiceProcess,
  startProcess,
} from '../../helpers/process.ts'

/** TEST_LONG=1: more data, more crashes. */
const isLong = process.env.TEST_LONG === '1'
const size = isLong ? 500_000 : 100_000
const crashes = isLong ? 3 : 1
const path = '/api/v1/sales_history/bulk_create_or_update'
const settings = { DATA_DIR: freshDataDir(root), LOG_LEVEL: 'error' }
let service: ServiceProcess = await startProcess(root, settings)
const call = await logInFirst(service, () => service.url)
const file = [
  'transaction_id,code,extension,quantity,revenue',
  ...Array.from({ length: size }, (_, index) => `T${index},A,UK,1,2.50`),
].join('\n')

root.test('a file that was accepted is loaded once, whatever dies meanwhile', async (t) => {
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async', 'idempotency-key': 'k' }
  const { status, body: job } = await call('POST', path, file, headers)
  t.equal(status, 202)
  let finished = 0
  const look = async () => {
    const { body } = await call('GET', `/api/v1/jobs/${job.id}/`)
    if (body.progress.finished < finished) t.fail('progress fell')
    finished = body.progress.finished
    await expectAllOrNone(t, body.status)
    return body
  }
  for (let crash = 0; crash < crashes; crash++) {
    const before = finished
    while ((await look()).progress.finished <= before) await sleep(5)
    await service.kill()
    service = await startProcess(t, settings)
    t.comment(`killed at ${finished} of ${size} rows`)
  }
  let end = await look()
  while (end.status === 'progress') {
    await sleep(20)
    end = await look()
  }
  t.match(end, { status: 'done', result: { rows: size, created: size, updated: 0 } })
  const again = await call('POST', path, file, headers)
  t.match(again, { status: 202, body: { id: job.id }, headers: { 'idempotent-replayed': 'true' } })
})

/** What a reader may see at any moment. */
async function expectAllOrNone(t: Test, status: string): Promise<void> {
  const { count } = (await call('GET', '/api/v1/sales_history/?limit=1')).body
  if (count !== 0 && count !== size) t.fail(`a reader sees ${count} rows of ${size}`)
  if (status === 'done' && count !== size) t.fail('the job is done and readers see no rows')
}
