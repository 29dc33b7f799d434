import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { query } from '../../helpers/database.ts'
import { expectProblem } from '../../helpers/operations.ts'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList } from '../../helpers/shop.ts'

const service = await sharedService()
const pricesPath = '/api/v1/prices/bulk_update_prices/'
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "L" of two products in two dimensions, published as revision 1. */
async function aPublishedList(t: Test, options: object = {}) {
  const settings = { price_dimensions: ['retail', 'trade'], ...options }
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], ...settings })
  return { shop, list, path: `/api/v1/price_list/${list.id}/revisions/` }
}

const setPrice = (shop: TestAccount, price: number, headers: Record<string, string> = {}) =>
  shop.send(
    'POST',
    pricesPath,
    { price_list_name: 'L', payload: [{ ...uk('A'), price_dimension: 'retail', price }] },
    headers,
  )

t.test('every change of a list is a revision that says who, how much and why', async (t) => {
  const { shop, path } = await aPublishedList(t)
  const note = Buffer.from('Frühling ☀').toString('latin1')
  const written = await setPrice(shop, 5, { 'change-note': note })
  t.equal(written.headers['price-list-revision'], '2')
  const { status, body, headers } = await shop.get(path)
  t.equal(status, 200)
  t.equal(headers['price-list-revision'], '2')
  t.match(body, {
    count: 2,
    results: [
      {
        revision: 2,
        kind: 'update_prices',
        actor: { type: 'user', id: '1', name: '1' },
        note: 'Frühling ☀',
        request_id: written.headers['x-request-id'],
        voided: false,
        priced: 1,
        added: 0,
        removed: 0,
      },
      { revision: 1, kind: 'add_products', priced: 0, added: 2, removed: 0 },
    ],
  })
})

t.test(
  'the moment of a revision, as it is shown, means this revision wherever it is sent',
  async (t) => {
    const { shop, list, path } = await aPublishedList(t)
    for (let price = 5; price <= 15; price++) await setPrice(shop, price)
    const { results } = (await shop.get(path)).body
    const cell = { ...uk('A'), price_dimension: 'retail' }
    for (const { revision, at } of results) {
      const body = { price_list_name: 'L', payload: [cell], as_of: at }
      const { headers } = await shop.post('/api/v1/prices/get_prices/', body)
      t.equal(headers['price-list-revision'], String(revision))
      const diff = await shop.get(`/api/v1/price_list/${list.id}/diff/?from=${at}&to=${revision}`)
      t.equal(diff.body.count, 0)
    }
    const [{ at }] = results
    const since = { price_list_name: 'L', payload: [cell], from: at }
    const [{ history }] = (await shop.post('/api/v1/prices/get_price_history/', since)).body
    t.equal(history.length, 1, 'what ended then is left out')
    t.equal((await shop.get(`/api/v1/price_list/?changed_after=${at}`)).body.count, 0)
    const seen = { price_list_name: 'L', observed_at: at, payload: [{ ...cell, price: 4 }] }
    t.equal((await shop.post(pricesPath, seen)).status, 201)
  },
)

t.test('a price that is sent again makes no revision', async (t) => {
  const { shop, list, path } = await aPublishedList(t)
  await setPrice(shop, 5)
  const again = await setPrice(shop, 5)
  t.equal(again.headers['price-list-revision'], '2')
  t.equal((await shop.get(path)).body.count, 2)
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.revision, 2)
})

t.test('a first price of 0 is a change, reading it is not', async (t) => {
  const { shop } = await aPublishedList(t)
  t.equal((await setPrice(shop, 0)).headers['price-list-revision'], '2')
  const read = await shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    payload: ['A', 'B'].map((code) => ({ ...uk(code), price_dimension: 'retail' })),
  })
  t.equal(read.headers['price-list-revision'], '2')
  t.strictSame(
    read.body.map(({ active_price }: { active_price: number }) => active_price),
    [0, 0],
  )
})

t.test('days of a calendar list count as cells', async (t) => {
  const { shop, path } = await aPublishedList(t, {
    is_calendar: true,
    price_dimensions: ['retail'],
  })
  const payload = [1, 2, 3].map((day) => ({ ...uk('A'), date: `2026-02-0${day}`, price: day }))
  for (const revision of ['2', '2']) {
    const { headers } = await shop.post(pricesPath, { price_list_name: 'L', payload })
    t.equal(headers['price-list-revision'], revision)
  }
  t.match((await shop.get(path)).body.results[0], { revision: 2, priced: 3 })
})

t.test(
  'rows that come and go are counted, and a sync that changes nothing makes none',
  async (t) => {
    const { shop, path } = await aPublishedList(t)
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
      { ...uk('B'), active: false },
    ])
    for (const revision of ['2', '2']) {
      const { headers } = await shop.post('/api/v1/prices/sync_with_catalog/', {
        price_list_name: 'L',
      })
      t.equal(headers['price-list-revision'], revision)
    }
    t.match((await shop.get(path)).body.results[0], { kind: 'sync', added: 0, removed: 1 })
  },
)

t.test('a file is one revision', async (t) => {
  const { shop, path } = await aPublishedList(t)
  const file = 'code,country,price_dimension,price\nA,UK,retail,1\nA,UK,trade,2\nB,UK,trade,3\n'
  const { headers } = await shop.send('POST', `${pricesPath}?price_list_name=L`, file, {
    'content-type': 'text/csv',
    'change-note': 'from the ERP',
  })
  t.equal(headers['price-list-revision'], '2')
  t.match((await shop.get(path)).body.results[0], { priced: 3, note: 'from the ERP' })
})

t.test('moments and kinds narrow the list', async (t) => {
  const { shop, path } = await aPublishedList(t)
  await setPrice(shop, 5)
  const { results } = (await shop.get(path)).body
  const numbers = async (query: string) => {
    const { body } = await shop.get(`${path}?${query}`)
    return body.results.map(({ revision }: { revision: number }) => revision)
  }
  t.strictSame(await numbers('kind=add_products'), [1])
  t.strictSame(await numbers('limit=1&offset=1'), [1])
  t.strictSame(await numbers('to=2020-01-01T00:00:00Z'), [])
  t.strictSame(await numbers(`from=${results[0].at}`).then((all) => all.length), 1)
  t.strictSame(await numbers(`to=${results[0].at}`), [1])
})

t.test('bad notes, kinds and lists are refused', async (t) => {
  const { shop, path } = await aPublishedList(t)
  for (const note of ['', 'x'.repeat(256), '\xff\xfe']) {
    const { status, body } = await setPrice(shop, 5, { 'change-note': note })
    t.equal(status, 400, note)
    t.match(body, { errors: [{ pointer: '/header/change-note' }] })
  }
  t.equal((await shop.get(path)).body.count, 1)
  expectProblem(t, await shop.get(`${path}?kind=other`), 400, 'invalid-request', 'invalid-request')
  const other = await service.newAccount(t)
  expectProblem(t, await other.get(path), 404, 'price-list-not-found', 'price-list-not-found')
})

t.test('a clock that was set back does not change the order of revisions', async (t) => {
  const { shop, list, path } = await aPublishedList(t)
  await setPrice(shop, 5)
  const ahead = new Date(Date.now() + 1500).toISOString()
  await query(
    service.url,
    `update list_revisions set at = '${ahead}' where price_list_id = ${list.id} and revision = 2`,
  )
  await setPrice(shop, 6)
  const { body } = await shop.get(path)
  t.strictSame(
    body.results.map(({ revision, at }: { revision: number; at: string }) => [revision, at]),
    [
      [3, ahead],
      [2, ahead],
      [1, body.results[2].at],
    ],
  )
  await sleep(1600)
  const read = { price_list_name: 'L', payload: [{ ...uk('A'), price_dimension: 'retail' }] }
  const then = await shop.post('/api/v1/prices/get_prices/', { ...read, as_of: ahead })
  t.match(then.body, [{ active_price: 6 }])
})
