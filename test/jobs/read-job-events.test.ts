import t from 'tap'
import type { Schemas } from '../../src/contract/operation.ts'
import { Problem } from '../../src/contract/problem.ts'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { jobEvents } from '../../src/jobs/read-job-events.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { expectProblem } from '../helpers/operations.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { anAttempt, openJobsDatabase, startTestWorkers, stopAfter } from '../helpers/workers.ts'

/** Accepts jobs and runs none. */
const service = await startTestService(t, { ROLE: 'api' })
const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
const eventsPath = (id: number | string) => `/api/v1/jobs/${id}/events/`

interface Event {
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: what the contract says of the two events.
  data: any
}

function parseEvents(text: string): Event[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'))
  return blocks.map((block) => {
    const match = /^event: (\w+)\ndata: (.*)$/.exec(block)
    return { event: match?.[1] ?? block, data: JSON.parse(match?.[2] ?? 'null') }
  })
}

/** The stream over a real connection. */
async function open(shop: TestAccount, base: string, id: number, signal?: AbortSignal) {
  const headers = { authorization: `jwt ${shop.token}`, accept: 'text/event-stream' }
  const response = await fetch(`${base}${eventsPath(id)}`, { headers, ...(signal && { signal }) })
  const chunks = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  return { response, next: async () => String((await chunks?.next())?.value) }
}

t.test('progress now and at each change, then the end with the whole job', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const { shop, job } = await aBigJob(t, own)
  // The events have a connection at hand.
  await shop.get('/api/v1/jobs/')
  const answer = shop.get(eventsPath(job.id))
  await startTestWorkers(t, own)
  const { status, headers, body } = await answer
  t.equal(status, 200)
  t.match(headers, { 'content-type': 'text/event-stream' })
  t.match(headers, { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' })
  const events = parseEvents(body)
  t.strictSame(events[0], { event: 'progress', data: job })
  const finished = events.map(({ data }) => data.progress.finished)
  t.strictSame(
    finished,
    finished.toSorted((a, b) => a - b),
    'never falls',
  )
  t.strictSame(events.at(-1), {
    event: 'end',
    data: (await shop.get(`/api/v1/jobs/${job.id}/`)).body,
  })
  t.equal(events.filter(({ event }) => event === 'end').length, 1)
})

t.test('a job that has ended gives its end at once', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  const { body } = await shop.get(eventsPath(job.id))
  const data = (await shop.get(`/api/v1/jobs/${job.id}/`)).body
  t.strictSame(parseEvents(body), [{ event: 'end', data }])
})

t.test('each change is seen while it happens, also the cancellation', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const { response, next } = await open(shop, base, job.id)
  t.equal(response.status, 200)
  t.match(await next(), /^event: progress\ndata: .*"finished":0,/)
  const attempt = anAttempt(openJobsDatabase(t, service), shop, job, 0, stopAfter(1))
  await t.rejects(runAddProducts(attempt, await startAttempt(attempt), 60))
  t.match(await next(), /^event: progress\ndata: .*"finished":60,/)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.match(await next(), /^event: end\ndata: .*"status":"cancelled"/)
  t.equal(await next(), 'undefined', 'then the stream closes')
})

t.test('more streams than connections keep no request waiting', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const watchers = await Promise.all(
    Array.from({ length: 40 }, () => open(shop, base, job.id).then(({ next }) => next)),
  )
  for (const next of watchers) t.match(await next(), /^event: progress/)
  t.equal((await shop.get('/api/v1/jobs/')).status, 200)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  for (const next of watchers) t.match(await next(), /^event: end/)
})

t.test('an account has 100 streams open, and no more; others have theirs', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const other = await aBigJob(t, service)
  const controllers = Array.from({ length: 100 }, () => new AbortController())
  for (const { signal } of controllers)
    t.equal((await open(shop, base, job.id, signal)).response.status, 200)
  const refused = await shop.get(eventsPath(job.id))
  expectProblem(t, refused, 429, 'too-many-requests', 'the next')
  t.match(refused.headers['retry-after'], /^\d+$/)
  const stranger = await open(other.shop, base, other.job.id)
  t.equal(stranger.response.status, 200)
  controllers[0]?.abort()
  const again = async () => (await open(shop, base, job.id, controllers[1]?.signal)).response.status
  let status = await again()
  while (status === 429) status = await again()
  t.equal(status, 200, 'when one is gone')
  for (const controller of controllers) controller.abort()
})

t.test('a stream that has ended is counted no more', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  const statuses = new Set<number>()
  for (let each = 0; each < 101; each++) statuses.add((await shop.get(eventsPath(job.id))).status)
  t.strictSame([...statuses], [200])
})

t.test('the stream closes without an end when the service stops', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const base = await own.app.listen({ port: 0, host: '127.0.0.1' })
  const { shop, job } = await aBigJob(t, own)
  const { next } = await open(shop, base, job.id)
  t.match(await next(), /^event: progress/)
  const closed = own.close()
  t.equal(await next(), 'undefined')
  await closed
})

t.test('a client that goes away ends the reads at its job', async (t) => {
  const controller = new AbortController()
  let reads = 0
  const look = async () => {
    if (++reads === 3) controller.abort()
    return running
  }
  const paces = { pollMs: 1, heartbeatMs: 60_000 }
  const events = jobEvents(running, look, controller.signal, paces)
  t.match((await events.next()).value, /^event: progress/)
  t.strictSame(await events.next(), { value: undefined, done: true })
  t.equal(reads, 3)
})

t.test(
  'a look that cannot be made for now is made again, any other fault is the end',
  async (t) => {
    const refusals = [
      new Problem('too-many-requests', 'Too many requests of this account wait already.'),
      new Problem('overloaded', 'The database is busy.'),
      Object.assign(new Error('terminating connection'), { code: '57P01' }),
    ]
    const ended: Schemas['Job'] = { ...running, status: 'done' }
    const follow = (faults: Error[]) => {
      const look = async () => {
        const fault = faults.shift()
        if (fault) throw fault
        return ended
      }
      const signal = new AbortController().signal
      return jobEvents(running, look, signal, { pollMs: 1, heartbeatMs: 60_000 })
    }
    const events = follow(refusals)
    t.match((await events.next()).value, /^event: progress/)
    t.match((await events.next()).value, /^event: end/)
    const broken = follow([new Problem('not-found', 'There is no such job.')])
    await broken.next()
    await t.rejects(broken.next(), /no such job/)
  },
)

t.test('a connection that breaks leaves the service as it is', async (t) => {
  const own = await startTestService(t, { ROLE: 'api' })
  const base = await own.app.listen({ port: 0, host: '127.0.0.1' })
  const ended = Promise.withResolvers<void>()
  own.app.server.prependListener('request', (_request, response) => {
    response.once('close', () => ended.resolve())
  })
  const { shop, job } = await aBigJob(t, own)
  const controller = new AbortController()
  const { next } = await open(shop, base, job.id, controller.signal)
  t.match(await next(), /^event: progress/)
  controller.abort()
  await ended.promise
  t.equal((await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)).status, 200)
})

t.test('a comment keeps the connection while nothing changes', async (t) => {
  const signal = new AbortController().signal
  const events = jobEvents(running, async () => running, signal, { pollMs: 1, heartbeatMs: 5 })
  t.match((await events.next()).value, /^event: progress/)
  t.match((await events.next()).value, /^: .*\n\n$/)
  t.match((await events.next()).value, /^: .*\n\n$/)
  await events.return(undefined)
})

t.test("an unknown job and another account's job are the same 404 problem", async (t) => {
  const { job } = await aBigJob(t, service)
  const stranger = await service.newAccount(t)
  const foreign = await stranger.get(eventsPath(job.id))
  const absent = await stranger.get(eventsPath(999_999))
  t.equal(foreign.status, 404)
  t.match(foreign.headers['content-type'], 'application/problem+json')
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
})

t.test('an id that is no id is 400; a client that takes no event stream is 406', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  for (const id of ['0', '-1', '1.5', 'x', '9007199254740992']) {
    t.equal((await shop.get(eventsPath(id))).status, 400, id)
  }
  const ask = (accept: string) =>
    shop.send('GET', eventsPath(job.id), undefined, { accept }).then(({ status }) => status)
  for (const accept of ['text/event-stream', 'text/*', '*/*', 'text/html, text/event-stream;q=0.9'])
    t.equal(await ask(accept), 200, accept)
  for (const accept of ['application/json', 'text/html', 'text/event-stream2'])
    t.equal(await ask(accept), 406, accept)
})

const running: Schemas['Job'] = {
  id: 1,
  status: 'progress',
  resource_type: 'published-price-list',
  errors: [],
  kind: 'add-products',
  price_list_id: 1,
  progress: { total: 200, finished: 0, error: 0 },
  created_at: '2026-01-01T00:00:00.000Z',
}

t.test('those who watch jobs of two accounts at once see each their own end', async (t) => {
  const two = [await aBigJob(t, service), await aBigJob(t, service)]
  const streams = await Promise.all(
    Array.from({ length: 10 }, () => two)
      .flat()
      .map(async ({ shop, job }) => {
        const headers = { authorization: `jwt ${shop.token}`, accept: 'text/event-stream' }
        return { id: job.id, answer: await fetch(`${base}${eventsPath(job.id)}`, { headers }) }
      }),
  )
  const texts = streams.map(({ answer }) => answer.text().catch(String))
  await new Promise((resolve) => setTimeout(resolve, 1500))
  for (const { shop, job } of two) await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  for (const [index, { id }] of streams.entries()) {
    const last = (await texts[index])?.trimEnd().split('\n\n').at(-1) ?? ''
    t.match(last, new RegExp(`^event: end\ndata: \\{"id":${id},`))
  }
})
