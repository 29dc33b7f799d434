import t from 'tap'
import { aBigJob } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('answers the state of a job, and its result when it is done', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const { status, body } = await shop.get(`/api/v1/jobs/${job.id}/`)
  t.equal(status, 200)
  t.match(body, { id: job.id, resource_type: 'published-price-list', errors: { length: 0 } })
  const done = await shop.finished(job)
  t.match(done, {
    status: 'done',
    progress: { total: 101, finished: 101, error: 0 },
    errors: { length: 0 },
  })
  t.equal(done.result.length, 101)
  t.ok(done.finished_at >= done.created_at)
})

t.test('a job that has not ended has no result and no end', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  const { shop, job } = await aBigJob(t, idle)
  const { body } = await shop.get(`/api/v1/jobs/${job.id}/`)
  t.equal(body.status, 'progress')
  for (const key of ['finished_at', 'result']) t.notOk(Object.hasOwn(body, key), key)
})

t.test("an unknown job and another account's job are the same 404", async (t) => {
  const { job } = await aBigJob(t, service)
  const stranger = await service.newAccount(t)
  const foreign = await stranger.get(`/api/v1/jobs/${job.id}/`)
  const absent = await stranger.get('/api/v1/jobs/999999/')
  t.equal(foreign.status, 404)
  t.equal(foreign.body.type, 'not-found')
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
})

t.test('an id that is no id is 400', async (t) => {
  const shop = await service.newAccount(t)
  for (const id of ['0', '-1', '1.5', 'x', '9007199254740992', '1e3x', 'null', '0x1', '1.0']) {
    const { status, body } = await shop.get(`/api/v1/jobs/${id}/`)
    t.equal(status, 400, id)
    t.equal(body.errors[0].pointer, '/path/id', id)
  }
})
