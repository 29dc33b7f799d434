import t, { type Test } from 'tap'
import { nextMoment } from '../../helpers/clocks.ts'
import { query } from '../../helpers/database.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList, setPrices } from '../../helpers/shop.ts'
import { aWrittenList, type ShownRows, shownBy } from '../../helpers/written-list.ts'

const service = await sharedService()

for (const is_calendar of [false, true])
  for (const [walk, cellsAtOnce] of [
    ['backward', 3],
    ['forward', 1000],
  ] as const)
    t.test(
      `a ${is_calendar ? 'calendar ' : ''}list is read as it was at each revision, ${walk}`,
      async (t) => {
        const written = { is_calendar, seed: cellsAtOnce, writes: 30, cellsAtOnce }
        const { shop, list, keys, shown } = await aWrittenList(t, service, written)
        t.ok(shown.size > 15)
        for (const [revision, seen] of shown) {
          const past = await shownBy(shop, list.id, { keys, asOf: Number(revision) })
          t.strictSame(withoutPromotions(past), withoutPromotions(seen), `revision ${revision}`)
        }
      },
    )

/** Promotions change without a revision: those of a revision are those of its moment. */
function withoutPromotions({ exact, open, ...shown }: ShownRows) {
  const plain = ({ body }: ShownRows['exact']) =>
    body.map(({ active_price: _, promotions: __, ...row }: Record<string, unknown>) => row)
  return { ...shown, exact: plain(exact), open: plain(open) }
}

const pricesPath = '/api/v1/prices/get_prices/'
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "L" with the row A, priced at 5 and then at 7, and how it is read. */
async function aPricedList(t: Test) {
  const { shop, list } = await aFilledList(t, service)
  for (const price of [5, 7]) await setPrices(shop, 'L', [{ ...uk('A'), price }])
  const read = (options: object) =>
    shop.post(pricesPath, { price_list_name: 'L', payload: [uk('A')], ...options })
  const rows = (query: string) => shop.get(`/api/v1/price_list/${list.id}/rows?${query}`)
  return { shop, list, read, rows }
}

t.test('a timestamp means the newest revision that is not after it', async (t) => {
  const { shop, list, read } = await aPricedList(t)
  const { results } = (await shop.get(`/api/v1/price_list/${list.id}/revisions/`)).body
  const { headers, body } = await read({ as_of: results[0].at.replace('Z', '+00:00') })
  // A revision is made within a millisecond of its shown moment.
  t.ok(['2', '3'].includes(String(headers['price-list-revision'])))
  t.equal(body[0].active_price, headers['price-list-revision'] === '3' ? 7 : 5)
  t.equal((await read({ as_of: 2 })).body[0].active_price, 5)
})

t.test('promotions are those of the moment, by default on its day', async (t) => {
  const { shop, read } = await aPricedList(t)
  const promotion = {
    name: 'p',
    kind: 'fixed_price',
    valid_from: '2026-01-01',
    valid_to: '2099-12-31',
  }
  const promote = (value: number) =>
    shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...promotion, value }])
  const [id] = (await promote(3)).body.created
  const moments = [await nextMoment()]
  await promote(2)
  moments.push(await nextMoment())
  await shop.send('DELETE', `/api/v1/promotions/${id}`)
  moments.push(await nextMoment())
  const prices = []
  for (const as_of of moments) prices.push((await read({ as_of })).body[0].active_price)
  t.strictSame(prices, [3, 2, 7])
  t.equal((await read({ as_of: 3 })).body[0].active_price, 7, 'before the promotion')
  t.strictSame(
    (await read({ as_of: moments[0], promotion_date: '2025-01-01' })).body[0].promotions,
    [],
  )
  const named = { payload: [{ ...uk('A'), promotion: 'p' }] }
  t.equal((await read({ ...named, as_of: moments[1] })).body[0].active_price, 2)
  t.match((await read({ ...named, as_of: 3 })).body, { errors: [{ code: 'unknown_promotion' }] })
})

t.test('the promotions are those of the UTC day, whatever the offset of the moment', async (t) => {
  const { shop, read } = await aPricedList(t)
  const today = new Date().toISOString().slice(0, 10)
  const promotion = { name: 'p', kind: 'fixed_price', value: 3 }
  const valid = { valid_from: today, valid_to: today }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...promotion, ...valid }])
  // One of them is another day.
  for (const hours of [14, -12]) {
    const local = new Date(Date.now() + hours * 3_600_000).toISOString()
    const as_of = local.replace('Z', hours > 0 ? '+14:00' : '-12:00')
    t.match((await read({ as_of })).body, [{ active_price: 3 }], as_of)
  }
})

t.test('moments that make no sense are refused', async (t) => {
  const { read, rows } = await aPricedList(t)
  const ahead = new Date(Date.now() + 60_000).toISOString()
  for (const as_of of [4, '4', -1, 1.5, ahead, '2026-01-01', 'yesterday', null])
    expectProblem(t, await read({ as_of }), 400, 'invalid-request', `${as_of}`)
  for (const query of [
    'as_of=4',
    `as_of=${ahead}`,
    'as_of=x',
    'as_of=2&version=draft',
    'as_of=2&lines=dynamic_attributes',
  ])
    expectProblem(t, await rows(query), 400, 'invalid-request', query)
  for (const field of ['margin', 'active_margin', 'dynamic_attributes'])
    expectProblem(t, await read({ as_of: 2, include: [field] }), 400, 'invalid-request', field)
  for (const as_of of [0, '2020-01-01T00:00:00Z']) {
    expectProblem(t, await read({ as_of }), 409, 'price-list-not-published', `${as_of}`)
    expectProblem(t, await rows(`as_of=${as_of}`), 409, 'price-list-not-published', `${as_of}`)
  }
})

t.test('a list that was there before history begins with the upgrade', async (t) => {
  const { shop, list, read, rows } = await aPricedList(t)
  const now = new Date().toISOString()
  const kept = `update price_lists set oldest_revision = 3, oldest_at = '${now}' where id = ${list.id}`
  await query(service.url, kept)
  await query(service.url, `delete from list_revisions where price_list_id = ${list.id}`)
  await setPrices(shop, 'L', [{ ...uk('A'), price: 9 }])
  t.equal((await read({ as_of: 3 })).body[0].active_price, 7)
  for (const as_of of [2, '2020-01-01T00:00:00Z']) {
    const refused = await read({ as_of })
    expectProblem(t, refused, 409, 'history-not-kept', `${as_of}`)
    t.ok(Date.parse(refused.body.oldest) > Date.now() - 60_000)
  }
  const diff = await shop.get(`/api/v1/price_list/${list.id}/diff/?from=0`)
  expectProblem(t, diff, 409, 'history-not-kept', 'diff')
  const changes = await shop.get(`/api/v1/price_list/${list.id}/changes/?after=2`)
  expectProblem(t, changes, 409, 'history-not-kept', 'changes')
  t.equal((await rows('as_of=3')).body.results[0].prices.price, 7)
})

t.test('a row that comes back is another one, and both are read', async (t) => {
  const { shop, read } = await aPricedList(t)
  for (const active of [false, true]) {
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('A'), active }])
    await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  }
  const at = async (as_of: number) =>
    (await read({ as_of })).body.map((row: Record<string, unknown>) => [row.pk, row.active_price])
  const [[first, price]] = await at(3)
  t.equal(price, 7)
  t.strictSame(await at(4), [])
  const [[second, now]] = await at(5)
  t.not(second, first)
  t.equal(now, 0)
})

t.test('a calendar row that a revert brought back shows the prices it had before', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'], is_calendar: true })
  const cell = (code: string, day: number) => ({ ...uk(code), date: `2026-12-0${day}` })
  for (const price of [5, 6]) await setPrices(shop, 'L', [{ ...cell('A', 1), price }])
  await shop.post('/api/v1/prices/bulk_remove_products/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision: 2 })
  await setPrices(
    shop,
    'L',
    [1, 2, 3, 4, 5, 6].map((day) => ({ ...cell('B', day), price: 9 })),
  )
  for (const [as_of, price] of [
    [2, 5],
    [3, 6],
    [5, 5],
  ] as const) {
    const { body } = await shop.post(pricesPath, {
      ...{ price_list_id: id, as_of, payload: [cell('A', 1)] },
    })
    t.match(body, [{ active_price: price }], `revision ${as_of}`)
    const page = await shop.get(
      `/api/v1/price_list/${id}/rows?as_of=${as_of}&date=2026-12-01&contains=A`,
    )
    t.match(page.body.results[0]?.prices, { price }, `revision ${as_of}, as a page`)
  }
})

t.test('a page of the past begins behind a row that left and was brought back', async (t) => {
  const { shop, list, rows } = await aPricedList(t)
  await shop.post('/api/v1/prices/bulk_remove_products/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 4 })
  const [{ pk }] = (await rows('as_of=5')).body.results
  for (const order of ['', '&order=code', '&order=-price']) {
    const { status, body } = await rows(`as_of=5&after=${pk}${order}`)
    t.equal(status, 200)
    t.strictSame(body.results, [])
  }
})

t.test('a read of the past explains a row whose product was deleted', async (t) => {
  const { shop, read } = await aPricedList(t)
  await shop.post('/api/v1/prices/bulk_remove_products/', {
    price_list_name: 'L',
    payload: [uk('A')],
  })
  const [{ extended_catalog_id }] = (await read({ as_of: 3 })).body
  const { status } = await shop.post('/api/v1/product_catalog/bulk_delete/', [extended_catalog_id])
  t.equal(status, 200)
  t.match((await read({ as_of: 3, include: ['explain'] })).body, [{ active_price: 7 }])
})

t.test('one row is read as it is among many', async (t) => {
  const codes = Array.from({ length: 120 }, (_, index) => `C${String(index).padStart(3, '0')}`)
  const price_dimensions = ['retail', 'trade']
  const { shop, id } = await aFilledList(t, service, { codes, price_dimensions })
  const cell = (code: string, price_dimension: string) => ({ ...uk(code), price_dimension })
  for (let write = 1; write <= 24; write++) {
    // The last row changes first and last: a thousand changes of others come between.
    const changed = codes.filter((_, index) =>
      index === 119 ? write === 1 || write === 24 : write % 2 === 0 || index % write === 0,
    )
    const dimension = write % 3 === 0 ? 'trade' : 'retail'
    const prices = changed.map((code, index) => ({
      ...cell(code, dimension),
      price: write + (index % 4),
    }))
    for (let from = 0; from < prices.length; from += 100)
      await setPrices(shop, 'L', prices.slice(from, from + 100))
  }
  const catalog = '/api/v1/product_catalog/bulk_create_or_update/'
  await shop.post(catalog, [{ ...uk('C003'), active: false }])
  await shop.finished(
    (await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })).body,
  )
  const payload = codes.flatMap((code) => [cell(code, 'retail'), cell(code, 'trade')])
  const { version } = await newest(id)
  for (let as_of = 1; as_of <= version; as_of++) {
    const read = async (rows: object[]) =>
      (await shop.post(pricesPath, { price_list_name: 'L', payload: rows, as_of })).body
    const all = await read(payload)
    t.ok(all.length >= 238)
    for (const one of [cell('C003', 'retail'), cell('C060', 'trade'), cell('C119', 'retail')]) {
      const among = all.filter(
        (row: typeof one) => row.code === one.code && row.price_dimension === one.price_dimension,
      )
      t.strictSame(await read([one]), among, `${one.code} as of ${as_of}`)
    }
  }

  async function newest(list: number) {
    const { count } = (await shop.get(`/api/v1/price_list/${list}/revisions/`)).body
    return { version: count as number }
  }
})

t.test('a revision that an earlier version wrote with two statements is read as one', async (t) => {
  const codes = ['A', 'B', 'C']
  const { shop, list } = await aFilledList(t, service, { codes })
  for (const price of [5, 7])
    await setPrices(
      shop,
      'L',
      codes.map((code) => ({ ...uk(code), price })),
    )
  await splitChanges(list, 3)
  const payload = codes.map(uk)
  const body = { price_list_name: 'L', payload }
  const prices = async (rows: object[]) =>
    (await shop.post(pricesPath, { ...body, payload: rows, as_of: 2 })).body.map(
      (row: { active_price: number }) => row.active_price,
    )
  t.strictSame(await prices(payload), [5, 5, 5])
  for (const code of codes) t.strictSame(await prices([uk(code)]), [5], code)
  const histories = (await shop.post('/api/v1/prices/get_price_history/', body)).body
  t.equal(histories.length, 3)
  for (const { history } of histories) t.match(history, [{ price: 0 }, { price: 5 }, { price: 7 }])
})

/** Gives the second row of a revision a place of its own among the changes, between those of the others. */
async function splitChanges({ id }: { id: number }, revision: number): Promise<void> {
  const arrays = ['row_ids', 'from_revisions', 'old_prices', 'new_prices']
  const ofRevision = `price_list_id = ${id} and revision = ${revision}`
  const key = 'account_id, price_list_id, revision, change'
  await query(
    service.url,
    `insert into list_changes (${key}, slice, first_row_id, ${arrays})
      select ${key}, 1, row_ids[2], ${arrays.map((name) => `${name}[2:2]`)} from list_changes where ${ofRevision}`,
  )
  const others = arrays.map((name) => `${name} = ${name}[1:1] || ${name}[3:3]`)
  await query(service.url, `update list_changes set ${others} where ${ofRevision} and slice = 0`)
  await query(service.url, `update list_revisions set slices = 2 where ${ofRevision}`)
}
