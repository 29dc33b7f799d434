import t from 'tap'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { someCodes } from '../helpers/jobs.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, aList, aShop, rowsOf } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_remove_products/?price_list_name=L'
const service = await sharedService()
const csv = { 'content-type': 'text/csv' }
const fileOf = (codes: string[]) =>
  ['code,country', ...codes.map((code) => `${code},UK`)].join('\n')

t.test('up to 100 products of a file are removed at once', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const first = await shop.send('POST', path, fileOf(['nowhere', 'A', 'A']), csv)
  t.strictSame(first.body, { rows: 3, created: 0, updated: 0, removed: 1 })
  t.equal(first.headers['price-list-revision'], '3')
  t.strictSame(
    (await rowsOf(shop, list)).map(({ code }) => code),
    ['B', 'C'],
  )
})

t.test('an export of a list says what leaves', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const exported = await shop.send('GET', `/api/v1/price_list/${list.id}/rows`, undefined, {
    accept: 'text/csv',
  })
  const { body } = await shop.send('POST', path, exported.body, csv)
  t.match(body, { removed: 3 })
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('an export of products says what leaves', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const exported = await shop.send('GET', '/api/v1/product_catalog/', undefined, {
    accept: 'text/csv',
  })
  const { body } = await shop.send('POST', path, exported.body, csv)
  t.match(body, { removed: 3 })
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('above 100 products a job removes them', async (t) => {
  const codes = someCodes(101)
  const { shop, list, pks } = await aFilledList(t, service, { codes })
  const { status, body } = await shop.send('POST', path, fileOf(codes), csv)
  t.equal(status, 201)
  t.match(body, { status: 'progress', progress: { total: 101 } })
  t.match(await shop.finished(body), { kind: 'remove-products', status: 'done', result: pks })
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a job that loads the file removes its products itself', async (t) => {
  const codes = someCodes(101)
  const { shop, list } = await aFilledList(t, service, { codes })
  const prefer = { ...csv, prefer: 'respond-async' }
  const { status, body } = await shop.send('POST', path, fileOf(codes.slice(1)), prefer)
  t.equal(status, 202)
  const job = await shop.finished(body)
  t.match(job, { kind: 'load-file', status: 'done', operation: 'removeProducts', revision: 2 })
  t.strictSame(job.result, { rows: 100, created: 0, updated: 0, removed: 100 })
  t.equal((await rowsOf(shop, list)).length, 1)
})

t.test('plan=true makes a plan of a file', async (t) => {
  const { shop, list, apply } = await aPricedList(t, service)
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const file = `${JSON.stringify(uk('B'))}\n${JSON.stringify(uk('A'))}\n`
  const { status, body } = await shop.send('POST', `${path}&plan=true`, file, ndjson)
  t.equal(status, 201)
  t.match(body, { operation: 'remove_products', summary: { rows: 2, removed: 2 } })
  t.equal((await rowsOf(shop, list)).length, 3)
  t.equal((await apply(body.id)).body.length, 2)
})

t.test('bad lines are named, and nothing is removed', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const answer = await shop.send('POST', path, 'code,country\nA,UK\n,UK\nB,\n', csv)
  expectFaults(t, answer, ['/1/code required', '/2/country required'])
  const otherId = `pk,code,country\n${(await rowsOf(shop, list))[1].pk},A,UK\n`
  expectFaults(t, await shop.send('POST', path, otherId, csv), ['/0/pk key_changed'])
  t.equal((await rowsOf(shop, list)).length, 3)
})

t.test('a guardrail refuses a file, at once and in a job', async (t) => {
  const { shop, list } = await aPricedList(t, service, { guardrails: { max_removed_percent: 10 } })
  const expected = { status: 422, type: 'guardrail-violated' }
  expectProblem(t, await shop.send('POST', path, fileOf(['A']), csv), expected)
  const prefer = { ...csv, prefer: 'respond-async' }
  const job = await shop.finished((await shop.send('POST', path, fileOf(['A']), prefer)).body)
  t.match(job, { status: 'failed', errors: [{ code: 'guardrail-violated' }, {}] })
  t.equal((await rowsOf(shop, list)).length, 3)
})

t.test('a list that was never published is 409 before the file is read', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const expected = { status: 409, type: 'price-list-not-published' }
  expectProblem(t, await shop.send('POST', path, 'code,country\n,\n', csv), expected)
})
