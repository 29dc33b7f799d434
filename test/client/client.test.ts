import t, { type Test } from 'tap'
import { createClient, isJob, JobFailed, Problem, Unreachable } from '../../src/client/index.ts'
import { anApiKey } from '../helpers/api-keys.ts'
import { aBigJob, addAll, someCodes } from '../helpers/jobs.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList, aShop } from '../helpers/shop.ts'
import { nothingThere } from '../helpers/stand-in.ts'
import { aUser } from '../helpers/user.ts'

const service = await sharedService()
const baseUrl = service.app.listeningOrigin
const salesPath = '/api/v1/sales_history/bulk_create_or_update'
const sale = { transaction_id: 'T', code: 'C', extension: '', quantity: '1', revenue: '1' }

async function aClient(t: Test) {
  const { token } = await service.newAccount(t)
  return createClient({ baseUrl, token })
}

t.test('an operation answers its data, typed, and the response', async (t) => {
  const { POST, GET } = await aClient(t)
  const { data: ids } = await POST(salesPath, { body: [sale] })
  t.equal(ids.length, 1)
  const { data, response } = await GET('/api/v1/sales_history/', {
    params: { query: { code: 'C' } },
  })
  t.strictSame([data.count, data.results[0]?.quantity, response.status], [1, '1', 200])
})

t.test('what has a default may be left out', async (t) => {
  const { POST } = await aClient(t)
  const { data } = await POST('/api/v1/price_list/bulk_create/', {
    body: [{ name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }],
  })
  t.equal(data[0]?.name, 'L')
})

t.test('a text is the file of a feed', async (t) => {
  const { POST } = await aClient(t)
  const body = 'transaction_id,code,extension,quantity,revenue\nT,C,,1,1\nU,C,,1,1\n'
  const { data } = await POST(salesPath, { body, headers: { 'content-type': 'text/csv' } })
  if (isJob(data)) t.fail('a job')
  else t.strictSame([data.rows, data.created], [2, 2])
})

t.test('a note may have any characters', async (t) => {
  const shop = await aShop(t, service, { codes: ['C'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const { POST, GET } = createClient({ baseUrl, token: shop.token })
  const body = { price_list_name: 'L', payload: [{ code: 'C', country: 'UK' }] }
  const params = { header: { 'Change-Note': 'Grüße, 5 €' } }
  await POST('/api/v1/prices/bulk_add_products/', { params, body })
  const { data } = await GET('/api/v1/price_list/{id}/revisions/', { params: { path: { id } } })
  t.equal(data.results[0]?.note, 'Grüße, 5 €')
})

t.test('a file is read as a text; without saying so, the error says how', async (t) => {
  const { GET } = await aClient(t)
  const headers = { accept: 'text/csv' }
  const read = { headers, parseAs: 'text' } as const
  t.match((await GET('/api/v1/sales_history/', read)).data, /^id,transaction_id,/)
  await t.rejects(GET('/api/v1/sales_history/', { headers }), /text\/csv.*parseAs: 'text'/)
})

t.test('an operation that answers nothing has no data', async (t) => {
  const shop = await service.newAccount(t)
  const { id } = await aList(shop, { name: 'L' })
  const { DELETE } = createClient({ baseUrl, token: shop.token })
  const { data, response } = await DELETE('/api/v1/price_list/{id}', { params: { path: { id } } })
  t.strictSame([data, response.status], [undefined, 204])
})

t.test('a refusal is thrown as a problem with its rows', async (t) => {
  const { POST } = await aClient(t)
  const bad = { ...sale, quantity: 'many' }
  const problem = await POST(salesPath, { body: [sale, bad] }).catch((error) => error)
  t.ok(problem instanceof Problem)
  t.match(problem, {
    name: 'Problem',
    type: 'invalid-request',
    status: 400,
    errorCount: 1,
    title: 'The request does not match the contract',
    detail: '1 error. Nothing was written.',
    errors: [{ pointer: '/1/quantity', row: 1, field: 'quantity', code: 'format' }],
    message: /^1 error\. Nothing was written\. \/1\/quantity: /,
  })
  t.match(problem.instance, /^[0-9a-f-]{36}$/)
})

t.test('a token that is missing or wrong is a problem', async (t) => {
  for (const token of [undefined, 'a.b.c']) {
    const { GET } = createClient({ baseUrl, token })
    await t.rejects(GET('/api/v1/jobs/'), { name: 'Problem', type: 'unauthorized', status: 401 })
  }
})

t.test('a service that is not there is unreachable', async (t) => {
  const away = await nothingThere(t)
  const { GET } = createClient({ baseUrl: away, token: 'a.b.c', retries: 1 })
  const error = await GET('/api/v1/jobs/').catch((error) => error)
  t.ok(error instanceof Unreachable)
  t.equal(error.message, `${away} does not answer (ECONNREFUSED).`)
})

t.test('credentials log in when a token is needed first', async (t) => {
  const { GET } = createClient({ baseUrl, credentials: await aUser(service) })
  const [one, other] = await Promise.all([GET('/api/v1/jobs/'), GET('/api/v1/price_list/')])
  t.strictSame([one.data.count, other.data.count], [0, 0])
})

t.test('wrong credentials are a problem, each time', async (t) => {
  const { email } = await aUser(service)
  const { GET } = createClient({ baseUrl, credentials: { email, password: 'wrong' } })
  const refusal = { name: 'Problem', status: 401, detail: /no user with this e-mail/ }
  await t.rejects(GET('/api/v1/jobs/'), refusal)
  await t.rejects(GET('/api/v1/jobs/'), refusal)
})

t.test('a refused token is asked for again, once', async (t) => {
  const { token } = await service.newAccount(t)
  const answers = ['a.b.c', token]
  const { GET } = createClient({ baseUrl, token: () => answers.shift() ?? 'a.b.d' })
  await Promise.all([GET('/api/v1/jobs/'), GET('/api/v1/jobs/')])
  t.strictSame(answers, [])
  const hopeless = createClient({ baseUrl, token: () => 'a.b.c' })
  await t.rejects(hopeless.GET('/api/v1/jobs/'), { name: 'Problem', status: 401 })
})

t.test('calls that are refused at the same moment ask for one new token', async (t) => {
  let asked = 0
  const token = () => `t${++asked}`
  const fetch = async ({ headers }: Request) =>
    headers.get('authorization') === 'jwt t1'
      ? new Response('', { status: 401 })
      : Response.json({ count: 0, results: [] })
  const { GET } = createClient({ baseUrl, token, fetch })
  await Promise.all(Array.from({ length: 5 }, () => GET('/api/v1/jobs/')))
  t.equal(asked, 2)
})

t.test('a body is sent again with the new token', async (t) => {
  const { token } = await service.newAccount(t)
  const answers = ['a.b.c', token]
  const { POST } = createClient({ baseUrl, token: () => answers.shift() ?? '' })
  t.equal((await POST(salesPath, { body: [sale] })).data.length, 1)
})

t.test('a job is waited for, its progress told', async (t) => {
  const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const { POST, waitForJob } = createClient({ baseUrl, token: shop.token })
  const payload = someCodes(101).map((code) => ({ code, country: 'UK' }))
  const body = { price_list_name: 'L', payload }
  const { data } = await POST('/api/v1/prices/bulk_add_products/', { body })
  t.ok(isJob(data))
  const seen: number[] = []
  const onProgress = ({ finished }: { finished: number }) => void seen.push(finished)
  const job = await waitForJob('id' in data ? data.id : 0, { onProgress })
  t.strictSame([job.status, seen.at(-1)], ['done', 101])
  t.equal(Array.isArray(job.result) && job.result.length, 101)
  t.notOk(
    isJob(
      (
        await POST('/api/v1/prices/bulk_add_products/', {
          body: { ...body, payload: payload.slice(0, 1) },
        })
      ).data,
    ),
  )
})

t.test('a job that is cancelled or not there is no success', async (t) => {
  const { shop, list } = await aBigJob(t, service)
  const second = await addAll(shop, list.name)
  await shop.post(`/api/v1/jobs/${second.id}/cancel/`, undefined)
  const { waitForJob } = createClient({ baseUrl, token: shop.token })
  const failure = await waitForJob(second.id).catch((error) => error)
  if (failure instanceof JobFailed)
    t.match(failure, { job: { id: second.id, status: 'cancelled' } })
  else t.equal(failure.status, 'done', 'it had ended before')
  await t.rejects(waitForJob(999_999), { name: 'Problem', status: 404 })
})

t.test('PRICEWELL_API_KEY is sent where the options name nobody', async (t) => {
  const account = await service.newAccount(t)
  process.env.PRICEWELL_API_KEY = (await anApiKey(account)).key
  t.teardown(() => {
    delete process.env.PRICEWELL_API_KEY
  })
  const { GET, POST } = createClient({ baseUrl })
  t.equal((await GET('/api/v1/jobs/')).data.count, 0)
  await t.rejects(POST(salesPath, { body: [sale] }), { name: 'Problem', status: 403 })
  for (const options of [{ token: 'a.b.c' }, { token: '' }]) {
    const client = createClient({ baseUrl, ...options })
    await t.rejects(client.GET('/api/v1/jobs/'), { name: 'Problem', status: 401 })
  }
})
