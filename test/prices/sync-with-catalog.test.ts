import t from 'tap'
import { startAttempt } from '../../src/jobs/attempt.ts'
import { runSync } from '../../src/price-lists/sync-job.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { anAttempt, openJobsDatabase, startTestWorkers, stopAfter } from '../helpers/workers.ts'

const path = '/api/v1/prices/sync_with_catalog/'
const upsertPath = '/api/v1/product_catalog/bulk_create_or_update/'
const pricesPath = '/api/v1/prices/bulk_update_prices/'
const service = await startTestService(t)
/** Accepts jobs and runs none. */
const idle = await startTestService(t, { ROLE: 'api' })

const codes = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `P${String(from + index).padStart(4, '0')}`)
const inUk = (names: string[]) => names.map((code) => ({ code, country: 'UK' }))
const sync = (shop: TestAccount, name = 'L') => shop.post(path, { price_list_name: name })

interface Row {
  pk: number
  code: string
  country: string
  prices: Record<string, number>
}

async function rowsOf(shop: TestAccount, list: { id: number }, version = 'published') {
  const { body } = await shop.get(
    `/api/v1/price_list/${list.id}/rows?limit=1000&version=${version}`,
  )
  return (body.results as Row[]).sort((a, b) => (a.code < b.code ? -1 : 1))
}
const pks = (rows: Row[]) => rows.map(({ pk }) => pk)
const names = (rows: Row[]) => rows.map(({ code }) => code)

t.test('keeps, removes, adds and leaves out, as the rule table says, and publishes', async (t) => {
  const shop = await aShop(t, service, { codes: ['D', 'B', 'A', 'C'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { code: ['A', 'B', 'C'] } })
  const [a, b] = await addProducts(shop, 'L', inUk(['A', 'B']))
  const price = { code: 'A', country: 'UK', price: 2.5 }
  await shop.post(pricesPath, { price_list_name: 'L', payload: [price] })
  await shop.post(upsertPath, [{ code: 'B', country: 'UK', active: false }])
  const { status, body } = await sync(shop)
  t.equal(status, 201)
  const rows = await rowsOf(shop, list)
  t.strictSame(names(rows), ['A', 'C'])
  t.strictSame(body, { added: [rows[1]?.pk], removed: [b], untouched: [a] })
  t.strictSame(
    rows.map(({ prices }) => prices),
    [{ price: 2.5 }, { price: 0 }],
    'what stays keeps its price, what is added has price 0',
  )
  t.strictSame(names(await rowsOf(shop, list, 'draft')), ['A', 'C'])
  const again = await sync(shop)
  t.strictSame(again.body, { added: [], removed: [], untouched: pks(rows) }, 'then nothing changes')
})

t.test('ids are in the order of code and extensions', async (t) => {
  const shop = await aShop(t, service, { codes: ['b', 'a', 'Z'], countries: ['UK', 'FR'] })
  const list = await aList(shop, { name: 'L' })
  const { body } = await sync(shop)
  const rows = await rowsOf(shop, list)
  const byKey = rows.sort((x, y) => (x.code + x.country < y.code + y.country ? -1 : 1))
  t.strictSame(body.added, pks(byKey))
  t.strictSame(
    byKey.map(({ code, country }) => `${code} ${country}`),
    ['Z FR', 'Z UK', 'a FR', 'a UK', 'b FR', 'b UK'],
  )
})

t.test(
  'all keys of a filter must match, any of their values, each of the column type',
  async (t) => {
    const shop = await service.newAccount(t)
    await shop.post('/api/v1/product_catalog/schema/create_schema/', {
      attributes: [
        { name: 'brand', type: 'string' },
        { name: 'weight', type: 'number' },
        { name: 'fragile', type: 'boolean' },
        { name: 'since', type: 'date' },
      ],
      extensions: [
        { name: 'size', type: 'integer' },
        { name: 'country', type: 'string' },
      ],
    })
    const heavy = { brand: 'acme', weight: 10.5, fragile: false, since: '2024-02-29' }
    const light = { brand: "O'Hara", weight: 0, fragile: true, since: '2025-01-01' }
    await shop.post(upsertPath, [
      { code: 'A', size: 1, country: 'UK', ...heavy },
      { code: 'A', size: 10, country: 'FR', ...heavy },
      { code: 'B', size: 1, country: 'FR', ...light },
      { code: 'C', size: 2, country: 'UK' },
      { code: 'D', size: 1, country: 'UK', ...light, active: false },
    ])
    const cases: [object, string[]][] = [
      [{}, ['A1UK', 'A10FR', 'B1FR', 'C2UK']],
      [{ code: ['A'] }, ['A1UK', 'A10FR']],
      [{ code: ['A', 'C', 'nothing'] }, ['A1UK', 'A10FR', 'C2UK']],
      [{ code: ['a'] }, []],
      [{ code: [] }, []],
      [{ size: [1] }, ['A1UK', 'B1FR']],
      [{ size: [1, 10] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ brand: ['acme'] }, ['A1UK', 'A10FR']],
      [{ brand: ["O'Hara", 'acme'] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ weight: [10.5] }, ['A1UK', 'A10FR']],
      [{ weight: [0] }, ['B1FR']],
      [{ fragile: [true] }, ['B1FR']],
      [{ fragile: [false, true] }, ['A1UK', 'A10FR', 'B1FR']],
      [{ since: ['2024-02-29'] }, ['A1UK', 'A10FR']],
      [{ brand: ['acme'], country: ['UK'] }, ['A1UK']],
      [{ country: ['FR'], size: [1], fragile: [true], code: ['A', 'B'] }, ['B1FR']],
      [{ country: ['FR'], size: [2] }, []],
    ]
    for (const [index, [product_filters, expected]] of cases.entries()) {
      const list = await aList(shop, { name: `L${index}`, product_filters })
      const { body } = await sync(shop, `L${index}`)
      const { results } = (await shop.get(`/api/v1/price_list/${list.id}/rows`)).body
      const label = (row: { code: string; size: number; country: string }) =>
        `${row.code}${row.size}${row.country}`
      t.strictSame(
        new Set(results.map(label)),
        new Set(expected),
        `filter ${JSON.stringify(product_filters)}`,
      )
      t.equal(body.added.length, expected.length)
    }
  },
)

t.test('an unpublished list is published, also when nothing matches', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { code: ['X'] } })
  const read = () =>
    shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [{}] })
  t.equal((await read()).status, 409)
  const { status, body } = await sync(shop)
  t.equal(status, 201)
  t.strictSame(body, { added: [], removed: [], untouched: [] })
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, true)
  const { status: readable, body: prices } = await read()
  t.equal(readable, 201)
  t.strictSame(prices, [])
})

t.test('a new attribute value or a new product counts from the next sync on', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', product_filters: { description: ['new'] } })
  t.strictSame((await sync(shop)).body.added, [])
  await shop.post(upsertPath, [
    { code: 'B', country: 'UK', description: 'new' },
    { code: 'C', country: 'UK', description: 'new' },
  ])
  t.equal((await sync(shop)).body.added.length, 2)
  t.strictSame(names(await rowsOf(shop, list)), ['B', 'C'])
})

t.test('a row that is removed and added again starts anew', async (t) => {
  const days = [{ is_calendar: false }, { is_calendar: true }]
  for (const { is_calendar } of days) {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
    const list = await aList(shop, { name: 'L', is_calendar })
    const { body: first } = await sync(shop)
    const date = is_calendar ? { date: '2026-01-01' } : {}
    await shop.post(pricesPath, {
      price_list_name: 'L',
      payload: inUk(['A', 'B']).map((row) => ({ ...row, ...date, price: 7 })),
    })
    await select(service.url, `update price_list_rows set dynamic_attributes = '{"a":1}'`)
    const setActive = (active: boolean) =>
      shop.post(upsertPath, [{ code: 'A', country: 'UK', active }])
    await setActive(false)
    t.strictSame((await sync(shop)).body.removed, [first.added[0]])
    await setActive(true)
    const { body } = await sync(shop)
    t.strictSame(body.untouched, [first.added[1]])
    t.equal(body.added.length, 1)
    const [a, b] = (await rowsOf(shop, list)) as (Row & { dynamic_attributes: object })[]
    t.match(a, { code: 'A', prices: { price: 0 }, dynamic_attributes: {} })
    t.match(b, { code: 'B', prices: { price: 7 }, dynamic_attributes: { a: 1 } })
  }
})

t.test('so does one whose removed row is not deleted yet', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L', is_calendar: true })
  await sync(shop)
  const payload = inUk(['A', 'B']).map((row) => ({ ...row, date: '2026-01-01', price: 7 }))
  await shop.post(pricesPath, { price_list_name: 'L', payload })
  await select(
    service.url,
    `update price_list_rows set removed_version = 1, dynamic_attributes = '{"a":1}'
     where price_list_id = $1 and code = 'A'`,
    [list.id],
  )
  t.strictSame(names(await rowsOf(shop, list)), ['B'])
  t.equal((await sync(shop)).body.added.length, 1)
  const [a, b] = await rowsOf(shop, list)
  t.match(a, { code: 'A', prices: { price: 0 }, dynamic_attributes: {} })
  t.match(b, { code: 'B', prices: { price: 7 } })
})

t.test('removed rows and their calendar prices are deleted, not only hidden', async (t) => {
  for (const count of [2, 150]) {
    const shop = await aShop(t, service, { codes: codes(0, count), countries: ['UK'] })
    const list = await aList(shop, { name: 'L', is_calendar: true })
    await addProducts(shop, 'L', inUk(codes(0, count)))
    const payload = [{ code: 'P0000', country: 'UK', date: '2026-01-01', price: 7 }]
    await shop.post(pricesPath, { price_list_name: 'L', payload })
    const inactive = inUk(codes(0, count - 1)).map((row) => ({ ...row, active: false }))
    await shop.post(upsertPath, inactive)
    const { body } = await sync(shop)
    const { removed } = body.removed ? body : (await shop.finished(body)).result
    t.equal(removed.length, count - 1)
    const stored = () =>
      select(
        service.url,
        `select (select count(*)::int from price_list_rows where price_list_id = $1) as rows,
           (select count(*)::int from calendar_months where price_list_id = $1) as months`,
        [list.id],
      )
    while ((await stored())[0].rows > 1) await new Promise((resolve) => setTimeout(resolve, 20))
    t.strictSame(await stored(), [{ rows: 1, months: 0 }])
  }
})

t.test('up to 100 products are handled at once; added, removed and untouched count', async (t) => {
  const shop = await aShop(t, service, { codes: codes(0, 101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', inUk(codes(0, 70)))
  const off = inUk([...codes(40, 70), 'P0100']).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const atOnce = await sync(shop)
  t.equal(atOnce.status, 201)
  t.equal(atOnce.headers.location, undefined)
  t.equal(atOnce.body.untouched.length, 40)
  t.equal(atOnce.body.removed.length, 30)
  t.equal(atOnce.body.added.length, 30)
  t.equal((await rowsOf(shop, list)).length, 70)
})

t.test('above 100 products answers a job, whose result is the same object', async (t) => {
  const shop = await aShop(t, service, { codes: codes(0, 101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const before = await addProducts(shop, 'L', inUk(codes(0, 70)))
  const price = { code: 'P0000', country: 'UK', price: 3 }
  await shop.post(pricesPath, { price_list_name: 'L', payload: [price] })
  const off = inUk(codes(40, 70)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const { status, headers, body } = await sync(shop)
  t.equal(status, 201)
  t.equal(headers.location, `/api/v1/jobs/${body.id}/`)
  t.strictSame(body, {
    id: body.id,
    status: 'progress',
    resource_type: 'published-price-list',
    progress: { total: 101, finished: 0, error: 0 },
  })
  const job = await shop.finished(body)
  t.match(job, { status: 'done', progress: { total: 101, finished: 101, error: 0 }, errors: [] })
  const rows = await rowsOf(shop, list)
  t.strictSame(job.result, {
    added: pks(rows).slice(40),
    removed: before.slice(40),
    untouched: before.slice(0, 40),
  })
  t.strictSame(names(rows), [...codes(0, 40), ...codes(70, 101)])
  t.strictSame(rows[0]?.prices, { price: 3 }, 'a row that stays keeps its price')
})

t.test('a job of which nothing matches any more empties the list', async (t) => {
  const shop = await aShop(t, service, { codes: codes(0, 120), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', inUk(codes(0, 120)))
  const off = inUk(codes(0, 120)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, off)
  const job = await shop.finished((await sync(shop)).body)
  t.equal(job.result.removed.length, 120)
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a job works on the catalog as it is when it runs', async (t) => {
  const late = await startTestService(t, { ROLE: 'api' })
  const shop = await aShop(t, late, { codes: codes(0, 150), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const { body } = await sync(shop)
  t.equal(body.progress.total, 150)
  const off = inUk(codes(0, 10)).map((row) => ({ ...row, active: false }))
  await shop.post(upsertPath, [...off, ...inUk(codes(150, 155))])
  await startTestWorkers(t, late)
  const job = await shop.finished(body)
  t.match(job, { status: 'done', progress: { total: 145, finished: 145, error: 0 } })
  t.strictSame(names(await rowsOf(shop, list)), codes(10, 155))
})

t.test(
  'a job that is taken up again takes effect once, and tells what it did in all',
  async (t) => {
    const db = openJobsDatabase(t, idle)
    for (const chunks of [0, 1, 2, 3, 4]) {
      const shop = await aShop(t, idle, { codes: codes(0, 110), countries: ['UK'] })
      const list = await aList(shop, { name: 'L', product_filters: { country: ['UK'] } })
      const before = (await sync(shop)).body
      await run(shop, before, 0)
      const [first] = pks(await rowsOf(shop, list))
      const off = inUk(codes(0, 30)).map((row) => ({ ...row, active: false }))
      await shop.post(upsertPath, [...off, ...inUk(codes(110, 130))])
      const { body } = await sync(shop)
      await t.rejects(run(shop, body, 0, chunks), { message: 'stopped' })
      t.strictSame(names(await rowsOf(shop, list)), codes(0, 110), 'readers see nothing of it')
      const { finished } = (await shop.get(`/api/v1/jobs/${body.id}/`)).body.progress
      const back = { code: 'P0000', country: 'UK', active: true }
      const gone = { code: 'P0129', country: 'UK', active: false }
      await shop.post(upsertPath, [back, gone])
      await run(shop, body, 1)
      const job = (await shop.get(`/api/v1/jobs/${body.id}/`)).body
      t.equal(job.status, 'done')
      t.ok(job.progress.finished >= finished, 'progress never falls')
      t.equal(job.progress.finished, job.progress.total)
      const rows = await rowsOf(shop, list)
      t.strictSame(names(rows), ['P0000', ...codes(30, 129)])
      t.equal(rows[0]?.pk, first, 'a row that stays after all keeps its id')
      t.strictSame(job.result.added, pks(rows.slice(-19)))
      t.equal(job.result.removed.length, 29)
      t.strictSame(job.result.untouched, pks(rows.slice(0, -19)))
    }
    async function run(shop: TestAccount, job: { id: number }, number: number, chunks = 1000) {
      const attempt = anAttempt(db, shop, job, number, stopAfter(chunks))
      await runSync(attempt, await startAttempt(attempt))
    }
  },
)

t.test('readers see the list before or after a sync, never between', async (t) => {
  for (const size of [40, 400]) {
    const shop = await aShop(t, service, { codes: codes(0, size), countries: ['UK'] })
    const list = await aList(shop, { name: 'L', product_filters: { description: ['in'] } })
    const describe = (country: string, active: boolean) =>
      codes(0, country === 'UK' ? size : size / 2).map((code) => {
        return { code, country, active, description: 'in' }
      })
    await shop.post(upsertPath, [...describe('UK', true), ...describe('FR', false)])
    await settle(shop)
    let isDone = false
    const seen = new Set<string>()
    const read = async () => {
      while (!isDone) {
        const query = { price_list_name: 'L', payload: [{}] }
        const { body } = await shop.post('/api/v1/prices/get_prices/', query)
        const countries = new Set(body.map((row: Row) => row.country))
        seen.add(`${body.length} of ${[...countries]}`)
        const page = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body
        const shown = new Set(page.results.map((row: Row) => row.country))
        seen.add(`${page.results.length} of ${[...shown]}`)
        seen.add(`${page.count} of ${[...shown]}`)
      }
    }
    const readers = [read(), read()]
    for (const round of [1, 2, 3, 4, 5, 6]) {
      const isEven = round % 2 === 0
      await shop.post(upsertPath, [...describe('UK', isEven), ...describe('FR', !isEven)])
      await settle(shop)
    }
    isDone = true
    await Promise.all(readers)
    t.strictSame([...seen].sort(), [`${size / 2} of FR`, `${size} of UK`].sort())
  }
  async function settle(shop: TestAccount) {
    const { body } = await sync(shop)
    if (body.id) await shop.finished(body)
  }
})

t.test('a call waits while a job of the list is under way, else answers 503', async (t) => {
  const shop = await aShop(t, idle, { codes: codes(0, 101), countries: ['UK'] })
  await aList(shop, { name: 'L' })
  await aList(shop, { name: 'other', product_filters: { code: ['P0001'] } })
  const { body: job } = await sync(shop)
  await shop.post(upsertPath, [{ code: 'P0000', country: 'UK', active: false }])
  const { status, headers, body } = await sync(shop)
  t.equal(status, 503)
  t.equal(headers['retry-after'], '2')
  t.equal(body.type, 'unavailable')
  t.equal((await sync(shop, 'other')).status, 201, 'other lists do not wait')
  const waiting = sync(shop)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  t.equal((await waiting).body.added.length, 100, 'it goes on when the job has ended')
})

t.test('syncs of one list at the same moment go one after the other', async (t) => {
  const shop = await aShop(t, service, { codes: codes(0, 50), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const answers = await Promise.all(Array.from({ length: 8 }, () => sync(shop)))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
  t.equal(answers.filter(({ body }) => body.added.length === 50).length, 1)
  t.equal(answers.filter(({ body }) => body.untouched.length === 50).length, 7)
  t.equal((await rowsOf(shop, list)).length, 50)
})

t.test('a body that is not as the contract says is 400, and nothing is written', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const type = 'invalid-request'
  const at = '/price_list_name'
  const cases: [unknown, string, [string, string][]][] = [
    [{}, type, [[at, 'required']]],
    [{ price_list_name: 5 }, type, [[at, 'type']]],
    [{ price_list_name: null }, type, [[at, 'type']]],
    [{ price_list_name: ['L'] }, type, [[at, 'type']]],
    [{ price_list_name: '' }, type, [[at, 'length']]],
    [{ price_list_name: 'L'.repeat(256) }, type, [[at, 'length']]],
    [{ price_list_name: 'L', name: 'L' }, type, [['/name', 'unknown_key']]],
    [{ price_list_name: 'L', payload: [] }, type, [['/payload', 'unknown_key']]],
    [
      { price_list_id: list.id },
      type,
      [
        [at, 'required'],
        ['/price_list_id', 'unknown_key'],
      ],
    ],
    [[], type, [['', 'type']]],
    ['"L"', type, [['', 'type']]],
    ['{"price_list_name":"L","price_list_name":"L"}', 'malformed-body', []],
    ['{"price_list_name":"L\\u0000"}', 'malformed-body', []],
    ['{"price_list_name":"\\ud800"}', 'malformed-body', []],
    ['{"__proto__":{}}', 'malformed-body', []],
    ['{', 'malformed-body', []],
    [undefined, 'malformed-body', []],
  ]
  for (const [payload, problem, expected] of cases) {
    const { status, body } = await shop.post(path, payload)
    const name = JSON.stringify(payload)?.slice(0, 60)
    t.equal(status, 400, name)
    t.equal(body.type, problem, name)
    const found = (body.errors ?? []).map((error: { pointer: string; code: string }) => [
      error.pointer,
      error.code,
    ])
    t.strictSame(new Set(found), new Set(expected), name)
  }
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test("an unknown list and another account's list are the same 404", async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const other = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(other, { name: 'theirs' })
  const { body: foreign, status } = await sync(shop, 'theirs')
  const { body: absent } = await sync(shop, 'nobodys')
  t.equal(status, 404)
  t.equal(foreign.type, 'price-list-not-found')
  t.strictSame({ ...foreign, instance: '' }, { ...absent, instance: '' })
  t.equal((await other.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test('a list that was made elsewhere is 409', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  await select(service.url, `update price_lists set origin = 'interface' where id = $1`, [list.id])
  const { status, body } = await sync(shop)
  t.equal(status, 409)
  t.equal(body.type, 'price-list-not-managed')
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.is_published, false)
})

t.test('products of other accounts do not come into the list', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  t.equal((await sync(shop)).body.added.length, 1)
  t.strictSame(names(await rowsOf(shop, list)), ['A'])
})
