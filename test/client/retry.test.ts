import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { nothingThere, type StandInAnswer, standIn } from '../helpers/stand-in.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const salesPath = '/api/v1/sales_history/bulk_create_or_update'
const done = { status: 201, body: [1] }
const problem = (status: number, headers: Record<string, string> = {}): StandInAnswer => {
  const body = { type: 'unavailable', title: 'Title', status, detail: 'Later.', instance: 'i' }
  return { status, headers, body }
}
const again = { 'retry-after': '0' }
const unknown: StandInAnswer = {
  status: 503,
  headers: again,
  body: {
    type: 'outcome-unknown',
    title: 'Title',
    status: 503,
    detail: 'Who knows.',
    instance: 'i',
  },
}

t.test('a write is sent again, under one key, when a repetition can help', async (t) => {
  const cases: Record<string, StandInAnswer> = {
    busy: problem(503, again),
    'too many': problem(429, again),
    'no Retry-After': problem(503),
    'first one is running': problem(409, again),
    'gateway has no answer': problem(502),
    'connection breaks': 'destroy',
    'the outcome is unknown': unknown,
    'half an answer': { status: 201, body: [1], ends: 'cut' },
    'a status of a gateway': {
      status: 520,
      headers: { 'content-type': 'text/plain' },
      body: 'Unknown',
    },
    'a date': problem(503, { 'retry-after': new Date().toUTCString() }),
  }
  for (const [name, answer] of Object.entries(cases)) {
    const { url, requests } = await standIn(t, [answer, done])
    const { POST } = createClient({ baseUrl: url, token: 'a.b.c' })
    const { data } = await POST(salesPath, { body: [] })
    t.strictSame([data, requests.length], [[1], 2], name)
    const keys = new Set(requests.map(({ headers }) => headers['idempotency-key']))
    t.match([...keys], [/^[0-9a-f-]{36}$/], `${name}: one key`)
    t.strictSame(
      requests.map(({ text }) => text),
      ['[]', '[]'],
      `${name}: the same body`,
    )
  }
})

t.test('a login is sent again, too', async (t) => {
  const { url, requests } = await standIn(t, [
    'destroy',
    { status: 200, body: { token: 'a.b.c' } },
    { status: 200, body: { count: 0, results: [] } },
  ])
  const credentials = { email: 'ana@acme.example', password: 'p' }
  const { data } = await createClient({ baseUrl: url, credentials }).GET('/api/v1/jobs/')
  t.strictSame(
    [data.count, requests.map((request) => request.url)],
    [0, ['/login/', '/login/', '/api/v1/jobs/']],
  )
})

t.test('an answer that breaks off is no answer', async (t) => {
  const cut = { status: 200, body: '{"count": 0, "resu', ends: 'cut' } as const
  const { url } = await standIn(t, [cut])
  const { GET } = createClient({ baseUrl: url, token: 'a.b.c', retries: 0 })
  const message = `${url} broke off in the middle of its answer.`
  await t.rejects(GET('/api/v1/jobs/'), { name: 'Unreachable', message })
  const { data } = await GET('/api/v1/jobs/', { parseAs: 'stream' })
  await t.rejects(new Response(data as ReadableStream).text(), { name: 'Unreachable', message })
  const refused = await standIn(t, [{ ...cut, status: 400 }])
  const other = createClient({ baseUrl: refused.url, token: 'a.b.c', retries: 0 })
  await t.rejects(other.GET('/api/v1/jobs/'), { name: 'Unreachable' })
})

t.test('a key of the caller is kept', async (t) => {
  const { url, requests } = await standIn(t, [problem(503, again), done])
  const { POST } = createClient({ baseUrl: url, token: 'a.b.c' })
  await POST(salesPath, { body: [], params: { header: { 'Idempotency-Key': 'mine' } } })
  t.strictSame(
    requests.map(({ headers }) => headers['idempotency-key']),
    ['mine', 'mine'],
  )
})

t.test('what a repetition does not help is thrown at once', async (t) => {
  for (const status of [400, 403, 404, 409, 413, 422, 500]) {
    const { url, requests } = await standIn(t, [problem(status)])
    const { POST } = createClient({ baseUrl: url, token: 'a.b.c' })
    await t.rejects(POST(salesPath, { body: [] }), { name: 'Problem', status })
    t.equal(requests.length, 1, String(status))
  }
})

t.test('a change without a key is not repeated when its answer is lost', async (t) => {
  const cases: [StandInAnswer, { name: string; type?: string; status?: number }][] = [
    ['destroy', { name: 'Unreachable' }],
    [problem(502), { name: 'Problem', status: 502 }],
    [unknown, { name: 'Problem', type: 'outcome-unknown' }],
  ]
  for (const [answer, expected] of cases) {
    const { url, requests } = await standIn(t, [answer])
    const { PATCH } = createClient({ baseUrl: url, token: 'a.b.c' })
    const change = PATCH('/api/v1/agreement/{id}', { params: { path: { id: 1 } }, body: {} })
    await t.rejects(change, expected)
    t.equal(requests.length, 1)
  }
})

t.test('a change without a key is repeated when it was not carried out', async (t) => {
  const { url, requests } = await standIn(t, [problem(503, again), { status: 200, body: {} }])
  const { PATCH } = createClient({ baseUrl: url, token: 'a.b.c' })
  await PATCH('/api/v1/agreement/{id}', { params: { path: { id: 1 } }, body: {} })
  t.equal(requests.length, 2)
})

t.test('a new token leaves what is in doubt in doubt', async (t) => {
  const faultOf = async (answers: StandInAnswer[], renew: () => string) => {
    const { url } = await standIn(t, answers)
    let asked = 0
    const token = () => (asked++ === 0 ? 'a.b.c' : renew())
    const { POST } = createClient({ baseUrl: url, token, retries: 1 })
    return POST(salesPath, { body: [] }).catch((fault: unknown) => fault)
  }
  const refuse = () => {
    throw new Error('The password is wrong.')
  }
  const lost: StandInAnswer[] = ['destroy', problem(401)]
  const busy = await faultOf([...lost, problem(503, again)], () => 'd.e.f')
  t.match(busy, { status: 503, mayHaveActed: true })
  t.match(await faultOf(lost, refuse), { status: 401, mayHaveActed: true })
  t.match(await faultOf([problem(401)], refuse), { message: 'The password is wrong.' })
})

t.test('the retries have an end, and a long Retry-After is not waited for', async (t) => {
  const busy = await standIn(t, [problem(503, again)])
  const { GET } = createClient({ baseUrl: busy.url, token: 'a.b.c', retries: 2 })
  await t.rejects(GET('/api/v1/jobs/'), { name: 'Problem', status: 503 })
  t.equal(busy.requests.length, 3)
  const locked = await standIn(t, [problem(429, { 'retry-after': '60' })])
  const client = createClient({ baseUrl: locked.url, token: 'a.b.c' })
  await t.rejects(client.GET('/api/v1/jobs/'), {
    name: 'Problem',
    status: 429,
    retryAfterSeconds: 60,
  })
  t.equal(locked.requests.length, 1)
})

t.test('an error says whether the change may have been made all the same', async (t) => {
  const cases: [string, StandInAnswer[], object][] = [
    ['no answer, then busy', ['destroy', problem(503, again)], { status: 503, mayHaveActed: true }],
    ['outcome unknown', [unknown], { type: 'outcome-unknown', mayHaveActed: true }],
    ['a gateway', [problem(502)], { status: 502, mayHaveActed: true }],
    ['no answer', ['destroy'], { name: 'Unreachable', mayHaveActed: true }],
    ['half an answer', [{ ...done, ends: 'cut' }], { name: 'Unreachable', mayHaveActed: true }],
    ['no JSON', [{ ...done, body: '[1' }], { name: 'Unreachable', mayHaveActed: true }],
    ['busy', [problem(503, again)], { status: 503, mayHaveActed: false }],
    ['no answer, then too many', ['destroy', problem(429, again)], { mayHaveActed: true }],
    ['no answer, then no token', ['destroy', problem(401)], { status: 401, mayHaveActed: true }],
    ['no answer, then no right', ['destroy', problem(403)], { status: 403, mayHaveActed: true }],
    ['no answer, then a bug', ['destroy', problem(500)], { status: 500, mayHaveActed: true }],
    ['no answer, then refused', ['destroy', problem(400)], { status: 400, mayHaveActed: false }],
  ]
  const faultOf = (answer: Promise<unknown>) => answer.catch((fault: unknown) => fault)
  for (const [name, answers, expected] of cases) {
    const { url } = await standIn(t, answers)
    const { POST } = createClient({ baseUrl: url, token: 'a.b.c', retries: 1 })
    t.match(await faultOf(POST(salesPath, { body: [] })), expected, name)
  }
  const running = await standIn(t, ['destroy', problem(409, again)])
  const impatient = { runningSecondsMax: 0, retries: 1 }
  const client = createClient({ baseUrl: running.url, token: 'a.b.c', ...impatient })
  const first = await faultOf(client.POST(salesPath, { body: [] }))
  t.match(first, { status: 409, mayHaveActed: true }, 'the first attempt is running')
  const { url } = await standIn(t, ['destroy'])
  const reads = createClient({ baseUrl: url, token: 'a.b.c', retries: 0 })
  const none = { mayHaveActed: false }
  t.match(await faultOf(reads.GET('/api/v1/jobs/')), none, 'a read changes nothing')
  const posted = reads.POST('/api/v1/prices/get_prices/', { body: { payload: [] } })
  t.match(await faultOf(posted), none, 'also by POST')
  const { POST } = createClient({ baseUrl: await nothingThere(t), token: 'a.b.c', retries: 0 })
  t.match(await faultOf(POST(salesPath, { body: [] })), { mayHaveActed: false }, 'no connection')
})

t.test('a request that is still running is waited for beside the retries, to an end', async (t) => {
  const running: StandInAnswer[] = Array(7).fill(problem(409, again))
  const long = await standIn(t, ['destroy', ...running, 'destroy', done])
  const { POST } = createClient({ baseUrl: long.url, token: 'a.b.c', retries: 2 })
  t.strictSame((await POST(salesPath, { body: [] })).data, [1])
  t.equal(long.requests.length, 10)
  for (const patience of [{ runningSecondsMax: 0 }, { retries: 0 }]) {
    const { url, requests } = await standIn(t, running)
    const client = createClient({ baseUrl: url, token: 'a.b.c', ...patience })
    await t.rejects(client.POST(salesPath, { body: [] }), { name: 'Problem', status: 409 })
    t.equal(requests.length, 1)
  }
})

t.test('an abort ends the waiting', async (t) => {
  const { url } = await standIn(t, [problem(503, { 'retry-after': '20' })])
  const { GET } = createClient({ baseUrl: url, token: 'a.b.c' })
  const signal = AbortSignal.timeout(200)
  await t.rejects(GET('/api/v1/jobs/', { signal }), { name: 'TimeoutError' })
})

t.test('an abort is heard also when memory was cleaned up meanwhile', async (t) => {
  const half = { status: 200, headers: { 'content-type': 'text/event-stream' }, body: ': on\n\n' }
  const cases: Record<string, StandInAnswer> = {
    waiting: problem(503, { 'retry-after': '20' }),
    'no answer': 'silence',
    'half an answer': { ...half, ends: 'never' },
  }
  for (const [name, answer] of Object.entries(cases)) {
    const { url, requests } = await standIn(t, [answer])
    const { waitForJob } = createClient({ baseUrl: url, token: 'a.b.c' })
    const controller = new AbortController()
    const waiting = waitForJob(7, { signal: controller.signal })
    waiting.catch(() => undefined)
    while (requests.length === 0) await sleep(10)
    await sleep(100)
    collectGarbage()
    controller.abort(new Error('mine'))
    await t.rejects(waiting, { message: 'mine' }, name)
    t.equal(requests.length, 1, name)
  }
})

t.test('an answer that is no problem document is told as it is', async (t) => {
  const headers = { 'content-type': 'text/html' }
  const { url } = await standIn(t, [{ status: 404, headers, body: '<h1>nginx</h1>' }])
  const { GET } = createClient({ baseUrl: url, token: 'a.b.c' })
  await t.rejects(GET('/api/v1/jobs/'), {
    name: 'Problem',
    type: 'about:blank',
    status: 404,
    errors: [],
    message: 'HTTP 404 Not Found: <h1>nginx</h1>',
  })
})

t.test('a page in the place of an answer is told as it is', async (t) => {
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  const { url } = await standIn(t, [
    { status: 200, headers, body: '<h1>Sign in to the network</h1>' },
  ])
  const { GET } = createClient({ baseUrl: url, token: 'a.b.c' })
  await t.rejects(GET('/api/v1/jobs/'), {
    name: 'Problem',
    type: 'about:blank',
    status: 200,
    errors: [],
    message: 'HTTP 200 OK: <h1>Sign in to the network</h1>',
  })
})

t.test('an address that leads elsewhere is told, and nothing goes there', async (t) => {
  const other = await standIn(t, [done])
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `${other.url}${salesPath}`
    const { url } = await standIn(t, [{ status, headers: { location }, body: '' }])
    const { GET, POST } = createClient({ baseUrl: url, token: 'a.b.c' })
    const message = new RegExp(`^HTTP ${status} .*: go to ${location}$`)
    const refusal = { name: 'Problem', type: 'about:blank', status, message }
    await t.rejects(POST(salesPath, { body: [] }), refusal)
    await t.rejects(GET('/api/v1/jobs/'), refusal)
  }
  t.equal(other.requests.length, 0)
})

t.test('the end of a job is heard whatever texts it has', async (t) => {
  const headers = { 'content-type': 'text/event-stream' }
  const progress = { total: 1, finished: 1, error: 0 }
  const job = { id: 7, status: 'done', price_list_name: 'A\u2028B\u2029', progress, errors: [] }
  const { url } = await standIn(t, [
    { status: 200, headers, body: `event: end\ndata: ${JSON.stringify(job)}\n\n` },
  ])
  const { waitForJob } = createClient({ baseUrl: url, token: 'a.b.c' })
  t.strictSame(await waitForJob(7, { signal: AbortSignal.timeout(5000) }), job)
})

t.test('events that break off are taken up again', async (t) => {
  const headers = { 'content-type': 'text/event-stream' }
  const job = { id: 7, status: 'done', progress: { total: 2, finished: 2, error: 0 }, errors: [] }
  const start = 'event: progress\ndata: {"progress":{"total":2,"finished":1,"error":0}}\n\n: on'
  const end = `event: end\ndata: ${JSON.stringify(job)}\n\n`
  const { url, requests } = await standIn(t, [
    { status: 200, headers, body: start },
    { status: 200, headers, body: start, ends: 'cut' },
    'destroy',
    { status: 200, headers, body: end },
  ])
  const seen: number[] = []
  const onProgress = ({ finished }: { finished: number }) => void seen.push(finished)
  const { waitForJob } = createClient({ baseUrl: url, token: 'a.b.c' })
  t.strictSame(await waitForJob(7, { onProgress }), job)
  t.strictSame([seen, requests.length], [[1, 1, 2], 4])
})

t.test('a job is followed through an outage that is longer than the retries', async (t) => {
  const headers = { 'content-type': 'text/event-stream' }
  const progress = { total: 2, finished: 1, error: 0 }
  const job = { id: 7, status: 'done', progress, errors: [] }
  const start = { status: 200, headers, body: ': on\n\n', ends: 'cut' } as const
  const end = { status: 200, headers, body: `event: end\ndata: ${JSON.stringify(job)}\n\n` }
  const answers = [start, 'destroy', problem(502), problem(503), end] as const
  const { url } = await standIn(t, [...answers])
  const { waitForJob } = createClient({ baseUrl: url, token: 'a.b.c', retries: 0 })
  t.strictSame(await waitForJob(7), job)
  const refusing = await standIn(t, [start, problem(404)])
  const other = createClient({ baseUrl: refusing.url, token: 'a.b.c', retries: 0 })
  await t.rejects(other.waitForJob(7), { name: 'Problem', status: 404 })
  const away = await standIn(t, ['destroy', end])
  const unheard = createClient({ baseUrl: away.url, token: 'a.b.c', retries: 0 })
  await t.rejects(unheard.waitForJob(7), { name: 'Unreachable' })
})
