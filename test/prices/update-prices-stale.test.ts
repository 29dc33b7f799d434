import t, { type Test } from 'tap'
import { query } from '../helpers/database.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_prices/'
const service = await sharedService()
const key = { code: 'A', country: 'UK' }
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

async function aListOf(t: Test, overrides: object = {}) {
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'], ...overrides })
  const set = (payload: object[], more: object = {}) =>
    shop.post(path, { price_list_name: 'L', payload, ...more })
  return { shop, list, set }
}

const csv = (shop: TestAccount, query: string, file: string) =>
  shop.send('POST', `${path}?price_list_name=L&${query}`, file, { 'content-type': 'text/csv' })

const isStale = { status: 409, body: { type: 'stale-rows', error_count: 1 } }

t.test('a price that was seen later is not overwritten', async (t) => {
  const { set } = await aListOf(t)
  t.match(await set([{ ...key, price: 5 }], { observed_at: ago(10) }), { status: 201 })
  const { status, body } = await set([{ ...key, price: 6 }], { observed_at: ago(11) })
  t.match({ status, body }, isStale)
  t.match(body.errors, [{ pointer: '/payload/0', row: 0, code: 'stale' }])
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(9) }), { status: 201 })
})

t.test('a change without observed_at was seen when it was made', async (t) => {
  const { set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(1) }), isStale)
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(-1) }), { status: 201 })
  t.match(await set([{ ...key, price: 7 }]), { status: 201 }, 'a call that saw nothing')
})

t.test('a revision shows observed_at', async (t) => {
  const { shop, list, set } = await aListOf(t)
  const moment = '2026-01-02T03:04:05.678Z'
  await set([{ ...key, price: 5 }], { observed_at: moment })
  const revisions = await shop.get(`/api/v1/price_list/${list.id}/revisions/`)
  t.match(revisions.body.results, [{ revision: 2, observed_at: moment }, {}])
  const file = await shop.send('GET', `/api/v1/price_list/${list.id}/revisions/`, undefined, {
    accept: 'text/csv',
  })
  t.match(String(file.body), /observed_at[\s\S]*2026-01-02T03:04:05.678Z/)
})

t.test('a file records its observed_at', async (t) => {
  const { shop, list, set } = await aListOf(t)
  const observed_at = ago(60)
  await csv(shop, `observed_at=${observed_at}`, 'code,country,price\nA,UK,5\n')
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(30) }), { status: 201 })
  t.match((await shop.get(`/api/v1/price_list/${list.id}/revisions/2`)).body, { observed_at })
})

t.test('a price that is sent as it is was seen again, without a revision', async (t) => {
  const { set } = await aListOf(t)
  await set([{ ...key, price: 5 }], { observed_at: ago(60) })
  const again = await set([{ ...key, price: 5 }], { observed_at: ago(30) })
  t.match(again, { status: 201, headers: { 'price-list-revision': '2' } })
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(40) }), isStale)
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(20) }), { status: 201 })
})

t.test('a plan confirms no price, and tells how many rows it leaves out', async (t) => {
  const { shop, set } = await aListOf(t)
  await set([{ ...key, price: 5 }], { observed_at: ago(60) })
  const plan = (price: number, observed_at: string) =>
    shop.post(`${path}?plan=true`, {
      ...{ price_list_name: 'L', payload: [{ ...key, price }], observed_at, on_stale: 'skip' },
    })
  t.match(await plan(5, ago(30)), { status: 201, headers: { 'skipped-rows': '0' } })
  t.match(await set([{ ...key, price: 6 }], { observed_at: ago(40) }), { status: 201 })
  t.match(await plan(7, ago(50)), { status: 201, headers: { 'skipped-rows': '1' } })
  const query = `plan=true&on_stale=skip&observed_at=${ago(50)}`
  const file = await csv(shop, query, 'code,country,price\nA,UK,7\n')
  t.match(file, { status: 201, headers: { 'skipped-rows': '1' }, body: { summary: { rows: 0 } } })
})

t.test('a price that was never set is not stale, nor one that would not change', async (t) => {
  const { set } = await aListOf(t)
  t.match(await set([{ ...key, price: 5, expected_price: 4 }], { observed_at: ago(60) }), {
    status: 201,
  })
  t.match(await set([{ ...key, price: 5, expected_price: 4 }], { observed_at: ago(90) }), {
    status: 201,
  })
})

t.test('a price that was reverted to none since is stale', async (t) => {
  for (const is_calendar of [false, true])
    await t.test(is_calendar ? 'calendar' : 'plain', async (t) => {
      const { shop, list, set } = await aListOf(t, { is_calendar })
      const cell = { ...key, ...(is_calendar && { date: '2026-07-01' }) }
      await set([{ ...cell, price: 5 }], { observed_at: ago(60) })
      await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 2 })
      const { status, body } = await set([{ ...cell, price: 6 }], { observed_at: ago(30) })
      t.match({ status, body }, isStale)
      t.match(body.errors, [{ message: /^the price was reverted to none at / }])
      t.match(await set([{ ...cell, price: 6 }], { observed_at: ago(-1) }), { status: 201 })
    })
})

t.test(
  'a price that was set before the kept history is newer than what was seen before it',
  async (t) => {
    for (const is_calendar of [false, true])
      await t.test(is_calendar ? 'calendar' : 'plain', async (t) => {
        const { list, set } = await aListOf(t, { is_calendar })
        const cell = { ...key, ...(is_calendar && { date: '2026-07-01' }) }
        await set([{ ...cell, price: 5 }])
        await query(
          service.url,
          `update list_revisions set at = now() - interval '500 days' where price_list_id = ${list.id};
         select expire_history(400); select delete_expired_history(400)`,
        )
        const seen = (days: number, row = cell) =>
          set([{ ...row, price: 6 }], { observed_at: ago(days * 1440) })
        t.match(await seen(410), isStale)
        t.match(await seen(410, { ...cell, code: 'B' }), { status: 201 }, 'it was never set')
        t.match(await seen(390), { status: 201 })
      })
  },
)

t.test('a row that expects another price is stale', async (t) => {
  const { set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  const { status, body } = await set([{ ...key, price: 6, expected_price: 4 }])
  t.match({ status, body }, isStale)
  t.match(body.errors, [{ pointer: '/payload/0', message: 'the price is 5, not 4' }])
  t.match(await set([{ ...key, price: 6, expected_price: 5 }]), { status: 201 })
})

t.test('a price that was reverted to none is not the expected one', async (t) => {
  for (const is_calendar of [false, true])
    await t.test(is_calendar ? 'calendar' : 'plain', async (t) => {
      const { shop, list, set } = await aListOf(t, { is_calendar })
      const cell = { ...key, ...(is_calendar && { date: '2026-07-01' }) }
      await set([{ ...cell, price: 5 }])
      await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 2 })
      const { status, body } = await set([{ ...cell, price: 6, expected_price: 5 }])
      t.match({ status, body }, isStale)
      t.match(body.errors, [{ message: 'the price is not set, not 5' }])
      t.match(await set([{ ...cell, price: 6, expected_price: 0 }]), { status: 201 })
    })
})

t.test('a confirmation ends with the price that it confirmed', async (t) => {
  for (const overrides of [{}, { price_dimensions: ['x', 'y'] }, { is_calendar: true }])
    await t.test(JSON.stringify(overrides), async (t) => {
      const { set } = await aListOf(t, overrides)
      const cell = {
        ...key,
        ...('is_calendar' in overrides && { date: '2026-07-01' }),
        ...('price_dimensions' in overrides && { price_dimension: 'x' }),
      }
      await set([{ ...cell, price: 1 }])
      await set([{ ...cell, price: 1 }], { observed_at: ago(-4) })
      t.match(await set([{ ...cell, price: 2 }], { observed_at: ago(-2) }), isStale)
      await set([{ ...cell, price: 2 }])
      t.match(await set([{ ...cell, price: 3 }], { observed_at: ago(-1) }), { status: 201 })
    })
})

t.test('stale rows are left out of the answer and the revision with skip', async (t) => {
  const { shop, list, set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  const b = { ...key, code: 'B', price: 7 }
  const rows = [{ ...key, price: 6, expected_price: 4 }, b]
  const answer = await set(rows, { on_stale: 'skip' })
  t.match(answer, { status: 201, headers: { 'skipped-rows': '1', 'price-list-revision': '3' } })
  t.equal(answer.body.length, 1)
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/3`)
  t.match(body, { priced: 1 })
  const none = await set([b], { on_stale: 'skip' })
  t.match(none, { status: 201, headers: { 'skipped-rows': '0' } })
  const file = 'code,country,price,expected_price\nA,UK,6,4\nB,UK,8,7\n'
  const loaded = await csv(shop, 'on_stale=skip', file)
  t.match(loaded, { status: 201, body: { rows: 2, updated: 1, skipped: 1 } })
  t.equal(loaded.headers['skipped-rows'], '1')
})

t.test('stale rows of a file are named by line', async (t) => {
  const { shop, set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  const file = 'code,country,price\nB,UK,1\nA,UK,6\n'
  const { status, body } = await csv(shop, `observed_at=${ago(5)}`, file)
  t.match({ status, body }, isStale)
  t.match(body.errors, [{ pointer: '/1', row: 1, line: 3, code: 'stale' }])
})

t.test('rows of a file may expect the prices of days', async (t) => {
  const { shop, set } = await aListOf(t, { is_calendar: true })
  await set([{ ...key, date: '2026-01-01', price: 5 }])
  const file = (expected: number) =>
    `code,country,date,price,expected_price\nA,UK,2026-01-02,7,0\nA,UK,2026-01-01,6,${expected}\n`
  t.match((await csv(shop, '', file(4))).body.errors, [{ pointer: '/1', line: 3, code: 'stale' }])
  t.match(await csv(shop, '', file(5)), { status: 201, body: { rows: 2 } })
})

t.test('a job that loads a file knows what the call has seen', async (t) => {
  const { shop, set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  const query = `price_list_name=L&on_stale=skip&observed_at=${ago(5)}`
  const { body } = await shop.send('POST', `${path}?${query}`, 'code,country,price\nA,UK,6\n', {
    'content-type': 'text/csv',
    prefer: 'respond-async',
  })
  t.match(await shop.finished(body), {
    status: 'done',
    result: { rows: 1, updated: 0, skipped: 1 },
  })
})

t.test('bad rows come before stale rows', async (t) => {
  const { set } = await aListOf(t)
  await set([{ ...key, price: 5 }])
  const rows = [
    { ...key, price: 6, expected_price: 4 },
    { ...key, code: 'C', price: 1 },
  ]
  t.match(await set(rows), { status: 400, body: { type: 'invalid-request' } })
})

t.test('one row with two expectations contradicts itself', async (t) => {
  const { set } = await aListOf(t)
  const rows = [1, 2].map((expected_price) => ({ ...key, price: 6, expected_price }))
  t.match(await set(rows), { status: 400, body: { errors: [{ code: 'duplicate_row' }] } })
})

t.test('what is wrong with observed_at and on_stale is said of them', async (t) => {
  const { shop, set } = await aListOf(t)
  const rows = [{ ...key, price: 6 }]
  const cases = [
    [{ observed_at: ago(-6) }, 'observed_at', 'too_far_ahead'],
    [{ observed_at: 'yesterday' }, 'observed_at', 'format'],
    [{ on_stale: 'write' }, 'on_stale', 'not_allowed'],
  ] as const
  for (const [more, name, code] of cases) {
    t.match(await set(rows, more), {
      status: 400,
      body: { errors: [{ pointer: `/${name}`, code }] },
    })
    const query = new URLSearchParams(more as Record<string, string>)
    const file = await csv(shop, String(query), 'code,country,price\nA,UK,6\n')
    const body = { price_list_name: 'L', payload: rows }
    for (const answer of [file, await shop.post(`${path}?${query}`, body)])
      t.match(answer, { status: 400, body: { errors: [{ pointer: `/query/${name}`, code }] } })
  }
  const body = { price_list_name: 'L', payload: rows, on_stale: 'reject' }
  t.match(await shop.post(`${path}?on_stale=skip`, body), {
    status: 400,
    body: { errors: [{ pointer: '/query/on_stale', code: 'conflicting_keys' }] },
  })
  t.equal((await shop.post(`${path}?on_stale=reject`, body)).status, 201)
})

t.test('a file that others overtake is written after them', async (t) => {
  const { shop, set } = await aListOf(t)
  const { port } = service.app.server.address() as { port: number }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const loading = fetch(`http://127.0.0.1:${port}${path}?price_list_name=L`, {
    method: 'POST',
    duplex: 'half',
    body: readable,
    headers: { authorization: `jwt ${shop.token}`, 'content-type': 'text/csv' },
  } as RequestInit)
  await writer.write(Buffer.from('code,country,price\nA,UK,7\n'))
  while ((await service.feedsUnderWay()) === 0) await new Promise((next) => setTimeout(next, 10))
  t.match(await set([{ ...key, price: 6 }]), { headers: { 'price-list-revision': '2' } })
  await writer.close()
  const answer = await loading
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('price-list-revision'), '3')
})

const kinds: Record<string, [overrides: object, places: object[]]> = {
  'one dimension': [{}, [{}]],
  'two dimensions': [
    { price_dimensions: ['x', 'y'] },
    [{ price_dimension: 'x' }, { price_dimension: 'y' }],
  ],
  days: [
    { is_calendar: true, valid_from: '2027-01-01', valid_to: '2027-12-31' },
    [{ date: '2027-01-01' }, { date: '2027-01-02' }, { date: '2027-02-01' }],
  ],
}
for (const [kind, [overrides, places]] of Object.entries(kinds))
  t.test(`random observations of ${kind} are judged like those of a model`, async (t) => {
    const { shop, list, set } = await aListOf(t, overrides)
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    const cells = places.flatMap((place) => ['A', 'B'].map((code) => ({ ...key, code, ...place })))
    const known = cells.map((): { price?: number; seen: number } => ({ seen: 0 }))
    const placeOf = (cell: { code: string; date?: string }) =>
      `${cell.code} ${cell.date?.slice(0, 7)}`
    const hadPrice = (at: number) =>
      cells.some(
        (cell, other) =>
          known[other]?.price !== undefined && placeOf(cell) === placeOf(cells[at] ?? cell),
      )
    for (let step = 0; step < 60; step++) {
      const seen = random(3) === 0 ? undefined : Date.now() + (random(12) - 8) * 30_000
      const on_stale = random(2) === 0 ? 'skip' : 'reject'
      const sent = cells.flatMap((cell, at) => {
        const expected = random(5) === 0 ? { expected_price: random(3) } : {}
        return random(2) === 0 ? [] : [{ at, row: { ...cell, price: random(3), ...expected } }]
      })
      const observed = seen === undefined ? {} : { observed_at: new Date(seen).toISOString() }
      const isStale = ({
        at,
        row,
      }: (typeof sent)[number] & { row: { expected_price?: number } }) => {
        const { price, seen: last } = known[at] ?? { seen: 0 }
        const { expected_price: expected = price ?? 0 } = row
        if (price === row.price || !hadPrice(at)) return false
        return expected !== (price ?? 0) || (seen !== undefined && last > seen)
      }
      const fresh = sent.filter((one) => !isStale(one))
      const answer = await set(
        sent.map(({ row }) => row),
        { ...observed, on_stale },
      )
      if (fresh.length < sent.length && on_stale === 'reject') {
        t.match(
          answer,
          { status: 409, body: { error_count: sent.length - fresh.length } },
          `${step}`,
        )
        continue
      }
      t.equal(answer.status, 201, `${step}`)
      if (on_stale === 'skip')
        t.equal(answer.headers['skipped-rows'], String(sent.length - fresh.length), `${step}`)
      const revision = answer.headers['price-list-revision']
      const { body } = await shop.get(`/api/v1/price_list/${list.id}/revisions/${revision}`)
      for (const { at, row } of fresh) {
        const isSame = known[at]?.price === row.price
        const confirmed = Math.max(known[at]?.seen ?? 0, seen ?? 0)
        known[at] = {
          price: row.price,
          seen: isSame ? confirmed : (seen ?? Date.parse(body.at)),
        }
      }
    }
  })
