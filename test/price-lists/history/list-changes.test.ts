import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { query } from '../../helpers/database.ts'
import { expectProblem } from '../../helpers/operations.ts'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, setPrices } from '../../helpers/shop.ts'
import { aWrittenList, type ShownRows } from '../../helpers/written-list.ts'

const service = await sharedService()

interface Change {
  revision: number
  code: string
  price_dimension: string
  date?: string
  change: string
  old: number | null
  new: number | null
}

/** All changes of a list, read by pages with these limits in turn. */
async function allChanges(shop: TestAccount, id: number, ...limits: number[]): Promise<Change[]> {
  const all: Change[] = []
  let after = '0'
  for (let page = 0; ; page++) {
    const limit = limits[page % limits.length]
    const path = `/api/v1/price_list/${id}/changes/?after=${after}&limit=${limit}`
    const { body } = await shop.get(path)
    all.push(...body.results)
    after = body.next
    if (!body.has_more) return all
  }
}

/** The priced cells that a list showed. */
const pricesOf = ({ file }: ShownRows): Record<string, number> =>
  Object.fromEntries(
    file
      .filter(({ price }: { price: number }) => price > 0)
      .map((line: Change & { price: number }) => [cellOf(line), line.price]),
  )

const cellOf = ({ code, price_dimension, date }: Change) =>
  JSON.stringify([code, price_dimension, date ?? null])

for (const is_calendar of [false, true])
  t.test(
    `a reader of a ${is_calendar ? 'calendar ' : ''}list has each revision in turn`,
    async (t) => {
      const written = { is_calendar, seed: 11, writes: 25, cellsAtOnce: 6 }
      const { shop, list, shown } = await aWrittenList(t, service, written)
      const changes = await allChanges(shop, list.id, 1000)
      t.strictSame(await allChanges(shop, list.id, 3), changes)
      const prices = new Map<string, number>()
      for (const [revision, seen] of shown) {
        for (const change of changes.filter((change) => change.revision === Number(revision))) {
          const cell = cellOf(change)
          t.equal(change.old ?? 0, prices.get(cell) ?? 0)
          if (change.new) prices.set(cell, change.new)
          else prices.delete(cell)
        }
        t.strictSame(
          Object.fromEntries([...prices].sort()),
          Object.fromEntries(Object.entries(pricesOf(seen)).sort()),
        )
      }
    },
  )

t.test('a list that hides unpriced cells says whether a price is set', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'], hide_unpriced: true })
  const [a, b] = ['A', 'B'].map((code) => ({ code, country: 'UK' }))
  await setPrices(shop, 'L', [{ ...a, price: 0 }])
  await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 2 })
  await setPrices(shop, 'L', [{ ...b, price: 0 }])
  const remove = { price_list_name: 'L', payload: [b] }
  await shop.post('/api/v1/prices/bulk_remove_products/', remove)
  const keysOf = (change: Change & { priced?: boolean }) =>
    [change.code, change.change, change.new, change.priced] as const
  t.strictSame((await allChanges(shop, id, 1000)).map(keysOf), [
    ['A', 'added', 0, false],
    ['B', 'added', 0, false],
    ['A', 'priced', 0, true],
    ['A', 'priced', 0, false],
    ['B', 'priced', 0, true],
    ['B', 'removed', null, false],
  ])
  const diff = `/api/v1/price_list/${id}/diff/`
  t.strictSame((await shop.get(`${diff}?from=1&to=2`)).body.results.map(keysOf), [
    ['A', 'priced', 0, true],
  ])
  const file = await shop.send('GET', `${diff}?from=1&to=2`, undefined, { accept: 'text/csv' })
  t.match(file.body, /,change_percent,priced\r?\n.*,priced,0,0,,true\r?\n/)
  await shop.send('PATCH', `/api/v1/price_list/${id}/`, { hide_unpriced: false })
  t.notMatch((await allChanges(shop, id, 1000))[0], { priced: false })
})

t.test('a revision without changes of prices does not end a reading', async (t) => {
  const codes = ['A', 'B', 'C']
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L', is_calendar: true })
  const uk = (code: string) => ({ code, country: 'UK' })
  const day = (code: string, date: string, price: number) => ({ ...uk(code), date, price })
  await addProducts(shop, 'L', ['A', 'C'].map(uk))
  await setPrices(shop, 'L', [day('A', '2026-01-01', 1), day('A', '2026-01-02', 1)])
  const removal = { price_list_name: 'L', payload: [uk('A')] }
  await shop.post('/api/v1/prices/bulk_remove_products/', removal)
  await addProducts(shop, 'L', [uk('B')])
  await setPrices(shop, 'L', [day('C', '2026-01-01', 2)])
  const changes = await allChanges(shop, id, 1000)
  t.match(changes.at(-1), { revision: 5, new: 2 })
  for (const limit of [1, 2, 3]) t.strictSame(await allChanges(shop, id, limit), changes)
})

/** Expects so many changes of each kind, and the same ones in pages of any size. */
async function expectPagesAlike(
  t: Test,
  shop: TestAccount,
  id: number,
  expected: Record<string, number>,
): Promise<void> {
  const changes = await allChanges(shop, id, 10_000)
  const counts = [...Map.groupBy(changes, ({ change }) => change)]
  t.strictSame(Object.fromEntries(counts.map(([change, { length }]) => [change, length])), expected)
  for (const limit of [1, 2, 7, 31])
    t.strictSame(await allChanges(shop, id, limit), changes, `${limit}`)
  t.strictSame(await allChanges(shop, id, 1, 1000, 3, 15), changes, 'with other limits in turn')
}

t.test('a large revision is read in pages of any size, each change once', async (t) => {
  const codes = Array.from(
    { length: 40 },
    (_, index) => `${index % 7}${'é'.repeat(index % 3)}${index}`,
  )
  // A long code makes a long `next`.
  codes[3] = '😀'.repeat(240)
  const countries = ['UK', 'FR']
  const price_dimensions = ['retail', 'wholesale']
  const { shop, id } = await aFilledList(t, service, { codes, countries, price_dimensions })
  const rows = codes.flatMap((code) => countries.map((country) => ({ code, country })))
  const priced = (price: number) =>
    rows.flatMap((row) =>
      price_dimensions.map((price_dimension) => ({ ...row, price_dimension, price })),
    )
  await setPrices(shop, 'L', priced(1))
  await setPrices(shop, 'L', priced(2).slice(0, 3))
  const removal = { price_list_name: 'L', payload: rows.slice(20) }
  await shop.post('/api/v1/prices/bulk_remove_products/', removal)
  await addProducts(shop, 'L', rows.slice(50))
  await setPrices(shop, 'L', priced(3).slice(0, 30))
  await expectPagesAlike(t, shop, id, { added: 220, priced: 193, removed: 120 })
})

t.test('a row that a revert brought back has each change once, in pages of any size', async (t) => {
  const codes = Array.from({ length: 12 }, (_, index) => `${index}`)
  const { shop, id } = await aFilledList(t, service, { codes })
  const payload = codes.map((code) => ({ code, country: 'UK' }))
  for (const revision of [2, 4]) {
    await shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload })
    await shop.post(`/api/v1/price_list/${id}/revert/`, { revision })
  }
  await setPrices(
    shop,
    'L',
    payload.map((row) => ({ ...row, price: 5 })),
  )
  await expectPagesAlike(t, shop, id, { added: 36, removed: 24, priced: 12 })
})

t.test('a large revision of a calendar list is read in pages of any size', async (t) => {
  const codes = Array.from({ length: 12 }, (_, index) => `${index % 5}-${index}`)
  const { shop, id } = await aFilledList(t, service, { codes, is_calendar: true })
  const rows = codes.map((code) => ({ code, country: 'UK' }))
  const days = ['2026-01-31', '2026-02-01', '2026-05-05', '2026-12-31']
  const priced = (price: number) =>
    rows.flatMap((row) => days.map((date) => ({ ...row, date, price })))
  await setPrices(shop, 'L', priced(1))
  await shop.post('/api/v1/prices/bulk_remove_products/', {
    price_list_name: 'L',
    payload: rows.slice(3),
  })
  await addProducts(shop, 'L', rows.slice(6))
  await setPrices(shop, 'L', priced(2).slice(0, 11))
  await expectPagesAlike(t, shop, id, { priced: 59, removed: 36 })
})

/** A list "L" with one row, published as revision 1. */
async function aListOfOne(t: Parameters<typeof aShop>[0]) {
  const { shop, list } = await aFilledList(t, service)
  const changes = (query: string) => shop.get(`/api/v1/price_list/${list.id}/changes/?${query}`)
  return { shop, list, changes }
}

t.test('a read that waits has the change when it comes, and none after its time', async (t) => {
  const { shop, changes } = await aListOfOne(t)
  t.match((await changes('after=1&wait=1')).body, {
    results: { length: 0 },
    revision: 1,
    has_more: false,
  })
  const waiting = changes('after=1&wait=30')
  await sleep(100)
  await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 5 }])
  const { body } = await waiting
  t.match(body, { revision: 2, results: [{ revision: 2, change: 'priced', old: 0, new: 5 }] })
  t.match((await changes(`after=${body.next}`)).body, { results: { length: 0 }, next: body.next })
})

t.test('a read goes on waiting although the list cannot be read for a while', async (t) => {
  const { shop, changes } = await aListOfOne(t)
  const waiting = changes('after=1&wait=30')
  await sleep(100)
  // Longer than a read waits for a lock.
  await query(service.url, 'begin; lock table price_lists; select pg_sleep(2.5); commit')
  await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 5 }])
  t.match(await waiting, { status: 200, body: { results: [{ revision: 2, new: 5 }] } })
})

t.test('files of a list name their revision, from which a reading of changes begins', async (t) => {
  const { shop, list, changes } = await aListOfOne(t)
  const row = { code: 'A', country: 'UK' }
  await setPrices(shop, 'L', [{ ...row, price: 5 }])
  const path = `/api/v1/price_list/${list.id}`
  const reads: [path: string, revision: string][] = [
    ...['', '?version=draft', '?lines=dynamic_attributes'].map((query): [string, string] => [
      `/rows${query}`,
      '2',
    ]),
    ['/rows?as_of=1', '1'],
    ['/revisions/', '2'],
    ['/diff/?from=0&to=1', '1'],
  ]
  for (const [read, revision] of reads)
    for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
      const { headers } = await shop.send('GET', path + read, undefined, { accept })
      t.equal(headers['price-list-revision'], revision, `${read} ${accept}`)
    }
  await setPrices(shop, 'L', [{ ...row, price: 6 }])
  t.match((await changes('after=2')).body.results, [{ revision: 3, old: 5, new: 6 }])
})

t.test('until ends before later revisions', async (t) => {
  const { shop, changes } = await aListOfOne(t)
  for (const price of [5, 6, 7]) await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price }])
  const { body } = await changes('after=1&until=3')
  t.strictSame(
    body.results.map((change: Change) => change.new),
    [5, 6],
  )
  t.match(body, { revision: 4, has_more: false })
  // None of them waits, so there may be more than 20.
  const past = Array.from({ length: 21 }, () => changes(`after=${body.next}&until=3&wait=2`))
  for (const read of await Promise.all(past))
    t.match(read, { status: 200, body: { results: { length: 0 } } })
})

t.test(
  'a list that is not published has no changes, and its first ones are waited for',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const changes = (query: string) => shop.get(`/api/v1/price_list/${list.id}/changes/?${query}`)
    t.match((await changes('after=0')).body, { results: { length: 0 }, revision: 0 })
    const waiting = changes('after=0&wait=30')
    await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
    t.match((await waiting).body, {
      results: [{ change: 'added', old: null, new: 0 }],
      revision: 1,
    })
  },
)

const placeOf = (text: string) => Buffer.from(text).toString('base64url')

t.test('a place that is missing, ahead, forged, or of another list is refused', async (t) => {
  const { shop, changes } = await aListOfOne(t)
  const { id } = await aList(shop, { name: 'M' })
  const { next } = (await shop.get(`/api/v1/price_list/${id}/changes/?after=0`)).body
  for (const query of [
    '',
    'after=2',
    'after=x',
    `after=${placeOf(`${id}.1.${'9'.repeat(20)}`)}`,
    `after=${placeOf(`${id}.${'9'.repeat(20)}.0`)}`,
    `after=${placeOf(`${id}.1.0.\0`)}`,
    `after=${next}`,
    'after=1&limit=10001',
    'after=1&wait=31',
  ])
    expectProblem(t, await changes(query), 400, 'invalid-request', 'invalid-request')
  const other = await service.newAccount(t)
  const foreign = await other.get(`/api/v1/price_list/${id}/changes/?after=0`)
  expectProblem(t, foreign, 404, 'price-list-not-found', 'price-list-not-found')
})

t.test('20 reads of an account wait, one more is refused', async (t) => {
  const { shop, changes } = await aListOfOne(t)
  const waiting = Array.from({ length: 20 }, () => changes('after=1&wait=30'))
  let refused = await changes('after=1&wait=1')
  while (refused.status === 200) refused = await changes('after=1&wait=1')
  expectProblem(t, refused, 429, 'too-many-requests', 'one more')
  await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 5 }])
  for (const { body } of await Promise.all(waiting)) t.equal(body.revision, 2)
  t.equal((await changes('after=2&wait=1')).status, 200, 'their places are free again')
})

t.test('a page of a revision that set a hundred thousand days is not too costly', async (t) => {
  const codes = Array.from({ length: 290 }, (_, index) => `P${index}`)
  const { shop, id } = await aFilledList(t, service, { codes, is_calendar: true })
  const days = Array.from({ length: 365 }, (_, day) =>
    new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
  )
  const lines = codes.flatMap((code) => days.map((day) => `${code},UK,${day},5`))
  const file = ['code,country,date,price', ...lines].join('\n')
  const path = '/api/v1/prices/bulk_update_prices/?price_list_name=L'
  await shop.send('POST', path, file, { 'content-type': 'text/csv' })
  const changes = (await shop.get(`/api/v1/price_list/${id}/changes/?after=1&limit=2`)).body
  t.match(changes, { results: [{ date: '2026-01-01' }, { date: '2026-01-02' }], has_more: true })
  const diff = (await shop.get(`/api/v1/price_list/${id}/diff/?from=1&limit=1`)).body
  t.match(diff, { count: 105_850, results: [{ code: 'P0', change: 'priced', new: 5 }] })
})
