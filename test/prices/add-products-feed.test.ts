import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { aBigJob, someCodes } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList, aShop, aShopOf, rowsOf } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/prices/bulk_add_products/?price_list_name=list'
const service = await sharedService()
const csv = { 'content-type': 'text/csv' }

t.test('up to 100 products of a file are added at once', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, {})
  const first = await shop.send('POST', path, 'code,country\nB,UK\nB,UK\n', csv)
  t.match(first, { status: 201, body: { rows: 2, created: 1, updated: 0 } })
  const exported =
    'pk,extended_catalog_id,code,country,price_dimension,price,priced,margin\n,,A,UK,price,1,true,\n,,B,UK,,,false,'
  const second = await shop.send('POST', path, exported, csv)
  t.match(second, { status: 201, body: { rows: 2, created: 1, updated: 1, unchanged: 1 } })
  t.strictSame((await rowsOf(shop, list)).map(({ code }) => code).sort(), ['A', 'B'])
})

t.test('above 100 products a job adds them; the same key answers the same job', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, {})
  const fileOf = (codes: string[]) =>
    ['code,country', ...codes.map((code) => `${code},UK`)].join('\n')
  const hundred = codes.slice(0, 100)
  const atOnce = await shop.send('POST', path, fileOf([...hundred, 'P0']), csv)
  t.match(atOnce.body, { rows: 101, created: 100 }, '100 are added at once')
  const file = fileOf(codes)
  const key = { ...csv, 'idempotency-key': 'k' }
  const accepted = await shop.send('POST', path, file, key)
  t.match(accepted, { status: 201, body: { progress: { total: 101 } } })
  t.equal(accepted.headers.location, `/api/v1/jobs/${accepted.body.id}/`)
  const again = await shop.send('POST', path, file, key)
  t.strictSame(again.body, accepted.body)
  t.match(await shop.finished(accepted.body), { status: 'done', progress: { finished: 101 } })
  t.equal((await rowsOf(shop, list)).length, 101)
})

t.test('100 products, one of them twice, wait for the jobs of their list', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  const { shop } = await aBigJob(t, idle)
  const lines = [...someCodes(100), 'P000'].map((code) => `${code},UK`)
  const sent = shop.send(
    'POST',
    path.replace(/list$/, 'L'),
    ['code,country', ...lines].join('\n'),
    csv,
  )
  await sleep(500)
  await select(idle.url, 'delete from jobs')
  t.match(await sent, { status: 201, body: { rows: 101, created: 100 } })
})

t.test('the plan of a larger file waits for the jobs of its list, too', async (t) => {
  const idle = await startTestService(t, { ROLE: 'api' })
  const { shop } = await aBigJob(t, idle)
  const file = ['code,country', ...someCodes(101).map((code) => `${code},UK`)].join('\n')
  const planned = shop.send('POST', `${path.replace(/list$/, 'L')}&plan=true`, file, csv)
  await sleep(500)
  t.strictSame(await select(idle.url, 'select from plans'), [])
  await select(idle.url, 'delete from jobs')
  const { status, body } = await planned
  t.match([status, body.operation, body.summary.added], [201, 'add_products', 101])
})

t.test('products that cannot be added are named, and none is added', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
    { code: 'B', country: 'UK', active: false },
  ])
  const list = await aList(shop, { product_filters: { country: ['UK'] } })
  const file = 'country,code\nUK,A\nUK,X\nUK,B\nFR,A\nUK,X\n'
  const { status, body } = await shop.send('POST', path, file, csv)
  t.equal(status, 400)
  t.strictSame(
    body.errors.map(({ line, code }: Record<string, unknown>) => [line, code]),
    [
      [3, 'unknown_product'],
      [4, 'inactive_product'],
      [5, 'filtered_out'],
      [6, 'unknown_product'],
    ],
  )
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a product without the attribute that the list filters is excluded', async (t) => {
  const attributes = ['color', 'brand'].map((name) => ({ name, type: 'string' }))
  const products = [{ code: 'RED', color: 'red' }, { code: 'OTHER', brand: 'x' }, { code: 'BARE' }]
  const shop = await aShopOf(t, service, { attributes }, products)
  const list = await aList(shop, { product_filters: { color: ['red'] } })
  const { status, body } = await shop.send('POST', path, 'code\nRED\nOTHER\nBARE\n', csv)
  t.equal(status, 400)
  t.strictSame(
    body.errors.map(({ line, code }: Record<string, unknown>) => [line, code]),
    [
      [3, 'filtered_out'],
      [4, 'filtered_out'],
    ],
  )
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('the job of a file has the ids of its rows in the order of the file', async (t) => {
  const codes = Array.from({ length: 150 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, {})
  const sent = codes.map((_, index) => codes[(index * 77) % 150] as string)
  const file = ['code,country', ...sent.map((code) => `${code},UK`), `${sent[0]},UK`].join('\n')
  const { body } = await shop.send('POST', path, file, { 'content-type': 'text/csv' })
  const { result } = await shop.finished(body)
  const codeOf = new Map((await rowsOf(shop, list)).map(({ pk, code }) => [pk, code]))
  t.strictSame(
    result.map((pk: number) => codeOf.get(pk)),
    sent,
  )
})
