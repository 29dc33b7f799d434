import t from 'tap'
import { query } from '../helpers/database.ts'
import { aBigJob, addAll } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'

/** Accepts jobs and runs none. */
const service = await startTestService(t, { ROLE: 'api' })

t.test('pages of jobs in the order they were accepted, all or those of one status', async (t) => {
  const { shop, job: first } = await aBigJob(t, service)
  const second = await addAll(shop, 'L')
  const third = await addAll(shop, 'L')
  await shop.post(`/api/v1/jobs/${second.id}/cancel/`, undefined)
  const list = async (query: string) => {
    const { status, body } = await shop.get(`/api/v1/jobs/${query}`)
    t.equal(status, 200)
    return [body.count, body.results.map(({ id }: { id: number }) => id)]
  }
  t.strictSame(await list(''), [3, [first.id, second.id, third.id]])
  t.strictSame(await list('?offset=1&limit=1'), [3, [second.id]])
  t.strictSame(await list('?offset=9'), [3, []])
  t.strictSame(await list('?status=progress'), [2, [first.id, third.id]])
  t.strictSame(await list('?status=cancelled'), [1, [second.id]])
  t.strictSame(await list('?status=done'), [0, []])
})

t.test('the newest come first on request', async (t) => {
  const { shop, job: first } = await aBigJob(t, service)
  const second = await addAll(shop, 'L')
  const list = async (query: string) =>
    (await shop.get(`/api/v1/jobs/${query}`)).body.results.map(({ id }: { id: number }) => id)
  t.strictSame(await list('?order=newest'), [second.id, first.id])
  t.strictSame(await list('?order=newest&limit=1&offset=1'), [first.id])
  t.strictSame(await list('?order=oldest'), [first.id, second.id])
})

t.test('each tells which call started it and on which list', async (t) => {
  const { shop, list } = await aBigJob(t, service)
  const named = { kind: 'add-products', price_list_id: list.id }
  t.match((await shop.get('/api/v1/jobs/')).body.results, [{ ...named, price_list_name: 'L' }])
  await query(service.url, `delete from price_lists where id = ${list.id}`)
  const [ofDeleted] = (await shop.get('/api/v1/jobs/')).body.results
  t.match(ofDeleted, named)
  t.notOk('price_list_name' in ofDeleted, 'a list that is gone has no name')
})

t.test('an account sees its own jobs only', async (t) => {
  await aBigJob(t, service)
  const stranger = await service.newAccount(t)
  t.strictSame((await stranger.get('/api/v1/jobs/')).body, { count: 0, results: [] })
})

t.test('a faulty query is 400', async (t) => {
  const shop = await service.newAccount(t)
  const cases: [string, string][] = [
    ['offset=-1', 'offset'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=x', 'limit'],
    ['status=over', 'status'],
    ['status=', 'status'],
    ['order=id', 'order'],
  ]
  for (const [query, name] of cases) {
    const { status, body } = await shop.get(`/api/v1/jobs/?${query}`)
    t.equal(status, 400, query)
    t.equal(body.errors[0].pointer, `/query/${name}`, query)
  }
})
