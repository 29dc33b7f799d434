import t, { type Test } from 'tap'
import { expectAbsentLists } from '../helpers/absent-list.ts'
import { query } from '../helpers/database.ts'
import { expectAllFaults, expectProblem, type Faults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const start = {
  description: 'Shop prices',
  margin_formula: '= Price - D',
  product_filters: { country: ['UK'], code: ['A'] },
  currency: 'GBP',
  decimals: 2,
  hide_unpriced: true,
  guardrails: { min_price: 1, max_price: 10, no_zero: true },
}
const a = { code: 'A', country: 'UK' }

/** A list with every setting, and the means to change and read it. */
async function aSetList(t: Test, settings: Record<string, unknown> = start) {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
  const list = await aList(shop, { name: 'L', ...settings })
  const path = `/api/v1/price_list/${list.id}`
  const patch = (body: unknown, headers: Record<string, string> = {}) =>
    shop.send('PATCH', path, body, headers)
  return { shop, list, patch, read: () => shop.get(path) }
}

t.test('merges: what is left out stays, null gives the default', async (t) => {
  const { filters, limits } = { filters: start.product_filters, limits: start.guardrails }
  const formula = '= (Price - (D + E)) / Price * 100'
  const merges: [patch: object, changed: Record<string, unknown>][] = [
    [{}, {}],
    [{ description: 'New' }, { description: 'New' }],
    [{ description: '' }, { description: '' }],
    [{ description: null }, { description: undefined }],
    [{ valid_to: '2026-01-01' }, { valid_to: '2026-01-01', state: 'expired' }],
    [{ margin_formula: '= Price - "freight"' }, { margin_formula: '= Price - "freight"' }],
    [{ margin_formula: null }, { margin_formula: formula }],
    [{ product_filters: {} }, {}],
    [{ product_filters: { code: null, absent: null } }, { product_filters: { country: ['UK'] } }],
    [
      { product_filters: { description: ['x'], country: [] } },
      { product_filters: { ...filters, country: [], description: ['x'] } },
    ],
    [{ product_filters: null }, { product_filters: {} }],
    [{ currency: 'EUR' }, { currency: 'EUR' }],
    [{ currency: null }, { currency: undefined }],
    [{ hide_unpriced: false }, { hide_unpriced: false }],
    [{ hide_unpriced: null }, { hide_unpriced: false }],
    [{ decimals: 2 }, {}],
    [{ decimals: 3 }, { decimals: 3 }],
    [{ decimals: 6 }, { decimals: 6 }],
    [{ decimals: null }, { decimals: 6 }],
    [
      { guardrails: { min_price: null, max_price: 9.5, max_removed_percent: 0 } },
      { guardrails: { no_zero: true, max_price: 9.5, max_removed_percent: 0 } },
    ],
    [
      { guardrails: { no_zero: false, min_margin_percent: -5 } },
      { guardrails: { ...limits, no_zero: false, min_margin_percent: -5 } },
    ],
    [{ guardrails: { min_price: 10 } }, { guardrails: { ...limits, min_price: 10 } }],
    [{ guardrails: null }, { guardrails: {} }],
  ]
  for (const [body, changed] of merges) {
    const { patch, read } = await aSetList(t)
    const before = await read()
    const { status, body: answered, headers } = await patch(body)
    const expected = { ...before.body, ...changed }
    t.equal(status, 200)
    t.strictSame(answered, JSON.parse(JSON.stringify(expected)), JSON.stringify(body))
    const after = await read()
    t.strictSame([after.body, after.headers.etag], [answered, headers.etag])
  }
})

t.test('the body may be a merge patch by its media type', async (t) => {
  const { patch } = await aSetList(t)
  const headers = { 'content-type': 'application/merge-patch+json' }
  t.match(await patch({ currency: 'USD' }, headers), { status: 200, body: { currency: 'USD' } })
})

t.test('the ETag stands for the settings, not for prices and publications', async (t) => {
  const { shop, patch, read } = await aSetList(t)
  const { etag } = (await read()).headers
  await addProducts(shop, 'L', [a])
  await setPrices(shop, 'L', [{ ...a, price: 5 }])
  t.equal((await read()).body.revision, 2)
  t.equal((await read()).headers.etag, etag)
  t.equal((await patch(start)).headers.etag, etag)
  const seen = new Set([etag])
  for (const [index, body] of [
    { description: 'New' },
    { valid_to: '2026-06-30' },
    { margin_formula: null },
    { product_filters: { code: null } },
    { currency: null },
    { decimals: 4 },
    { hide_unpriced: false },
    { guardrails: { no_zero: null } },
  ].entries()) {
    seen.add((await patch(body)).headers.etag)
    t.equal(seen.size, index + 2, JSON.stringify(body))
  }
})

t.test('If-Match lets a change through only in a state that it names', async (t) => {
  const { patch, read } = await aSetList(t)
  const etag = String((await read()).headers.etag)
  for (const tag of ['"0"', 'x', `"${etag.slice(1, -1)}x"`])
    expectProblem(t, await patch({ currency: null }, { 'if-match': tag }), {
      status: 412,
      type: 'precondition-failed',
    })
  t.equal((await read()).headers.etag, etag)
  t.equal((await patch({ currency: 'USD' }, { 'if-match': `W/${etag}` })).status, 200)
  t.equal((await patch({ currency: 'CHF' }, { 'if-match': etag })).status, 412)
  t.equal((await patch({ currency: 'CHF' }, { 'if-match': '*' })).body.currency, 'CHF')
})

t.test('of two changes of one state only one gets through', async (t) => {
  const { patch, read } = await aSetList(t)
  const headers = { 'if-match': String((await read()).headers.etag) }
  const answers = await Promise.all(
    ['A', 'B', 'C'].map((description) => patch({ description }, headers)),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 412, 412])
})

t.test('filters act at the next sync, and no row comes or goes before', async (t) => {
  const { shop, list, patch } = await aSetList(t)
  const sync = () => shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
  const keys = async () => (await rowsOf(shop, list)).map(({ code, country }) => code + country)
  await sync()
  t.match(await patch({ product_filters: { country: ['FR'], code: null } }), {
    status: 200,
    body: { revision: 1 },
  })
  t.strictSame(await keys(), ['AUK'])
  await sync()
  t.strictSame((await keys()).sort(), ['AFR', 'BFR'])
})

t.test('filters wait for a job of the list; other settings do not', async (t) => {
  const { shop, list, patch } = await aSetList(t)
  await query(
    service.url,
    `insert into jobs (account_id, price_list_id, kind, status, total, attempt)
     values (${shop.id}, ${list.id}, 'sync-with-catalog', 'progress', 1, 0)`,
  )
  expectProblem(t, await patch({ product_filters: { code: ['B'] } }), {
    status: 503,
    type: 'unavailable',
  })
  for (const body of [{ description: 'New' }, { product_filters: start.product_filters }])
    t.equal((await patch(body)).status, 200)
  await query(service.url, `update jobs set status = 'failed' where price_list_id = ${list.id}`)
  t.equal((await patch({ product_filters: { code: ['B'] } })).status, 200)
})

t.test('reads notice a new formula at once', async (t) => {
  const { shop, patch } = await aSetList(t)
  await addProducts(shop, 'L', [a])
  await setPrices(shop, 'L', [{ ...a, price: 5 }])
  const margin = async () => {
    const body = { price_list_name: 'L', payload: [a], include: ['margin'] }
    return (await shop.post('/api/v1/prices/get_prices/', body)).body[0].margin
  }
  t.equal(await margin(), null)
  await patch({ margin_formula: '= Price * 2' })
  t.equal(await margin(), 10)
  await patch({ margin_formula: '= Price * 3' })
  t.equal(await margin(), 15)
})

t.test('bad patches are refused with every fault, and nothing changes', async (t) => {
  const { patch, read } = await aSetList(t)
  const before = await read()
  const percent = ['max_increase_percent', 'max_decrease_percent']
  const share = ['max_changed_percent', 'max_removed_percent']
  const bad: [body: unknown, faults: Faults][] = [
    [{ description: 5 }, [['/description', 'type']]],
    [{ description: 'x'.repeat(10_001) }, [['/description', 'length']]],
    [{ valid_to: null }, [['/valid_to', 'type']]],
    [{ valid_to: '2026-02-29' }, [['/valid_to', 'format']]],
    [{ valid_to: '2025-12-31' }, [['/valid_to', 'range']]],
    [{ margin_formula: '= Price - Z' }, [['/margin_formula', 'formula']]],
    [{ margin_formula: '' }, [['/margin_formula', 'formula']]],
    [{ product_filters: { color: ['red'] } }, [['/product_filters/color', 'unknown_column']]],
    [{ product_filters: { country: [5] } }, [['/product_filters/country/0', 'type']]],
    [{ product_filters: { country: 'UK' } }, [['/product_filters/country', 'type']]],
    [{ product_filters: [] }, [['/product_filters', 'type']]],
    ...['gbp', 'GB', 'GBPX', 'G1P', ''].map((currency): [unknown, Faults] => [
      { currency },
      [['/currency', 'format']],
    ]),
    [{ currency: 826 }, [['/currency', 'type']]],
    ...[-1, 7].map((decimals): [unknown, Faults] => [{ decimals }, [['/decimals', 'range']]]),
    ...[2.5, '3'].map((decimals): [unknown, Faults] => [{ decimals }, [['/decimals', 'type']]]),
    [{ hide_unpriced: 'true' }, [['/hide_unpriced', 'type']]],
    [{ decimals: 1, valid_to: '2025-12-31' }, [['/valid_to', 'range']]],
    [{ guardrails: [] }, [['/guardrails', 'type']]],
    [{ guardrails: { min: 1 } }, [['/guardrails/min', 'unknown_key']]],
    [{ guardrails: { min_price: 10.01 } }, [['/guardrails', 'range']]],
    [{ guardrails: { max_price: 0.5 } }, [['/guardrails', 'range']]],
    [{ guardrails: { no_zero: 1 } }, [['/guardrails/no_zero', 'type']]],
    [{ guardrails: { min_margin_percent: 1e-7 } }, [['/guardrails/min_margin_percent', 'format']]],
    ...['min_price', 'max_price', ...percent, ...share].flatMap((key): [unknown, Faults][] => [
      [{ guardrails: { [key]: '5' } }, [[`/guardrails/${key}`, 'type']]],
      [{ guardrails: { [key]: -1 } }, [[`/guardrails/${key}`, 'range']]],
    ]),
    ...['max_decrease_percent', ...share].map((key): [unknown, Faults] => [
      { guardrails: { [key]: 100.1 } },
      [[`/guardrails/${key}`, 'range']],
    ]),
    ...['name', 'valid_from', 'price_dimensions', 'is_calendar', 'revision', 'id'].map(
      (key): [unknown, Faults] => [{ [key]: null }, [[`/${key}`, 'unknown_key']]],
    ),
    [
      { valid_to: '2025-01-01', margin_formula: '=', product_filters: { color: [] } },
      [
        ['/valid_to', 'range'],
        ['/margin_formula', 'formula'],
        ['/product_filters/color', 'unknown_column'],
      ],
    ],
    [[], [['', 'type']]],
    ['null', [['', 'type']]],
  ]
  for (const [body, faults] of bad) expectAllFaults(t, await patch(body), faults)
  const after = await read()
  t.strictSame([after.body, after.headers.etag], [before.body, before.headers.etag])
})

t.test('a filter of a column that is gone does not keep other settings', async (t) => {
  const { shop, patch } = await aSetList(t, { product_filters: { description: ['x'] } })
  const rename = "update catalog_columns set name = 'about' where name = 'description'"
  await query(service.url, `${rename} and account_id = ${shop.id}`)
  t.equal((await patch({ currency: 'EUR' })).status, 200)
  expectAllFaults(t, await patch({ product_filters: { about: ['y'] } }), [
    ['/product_filters/description', 'unknown_column'],
  ])
  const { body } = await patch({ product_filters: { about: ['y'], description: null } })
  t.strictSame(body.product_filters, { about: ['y'] })
})

t.test('decimals only grow, and nothing of a patch that lowers them is written', async (t) => {
  const { patch, read } = await aSetList(t)
  const before = await read()
  for (const decimals of [1, 0]) {
    const answer = await patch({ decimals, currency: 'EUR' })
    expectProblem(t, answer, { status: 409, type: 'decimals-in-use' })
    t.match(answer.body.detail, /may have 2 decimals/)
  }
  t.strictSame((await read()).body, before.body)
  const outdated = await patch({ decimals: 1 }, { 'if-match': '"0"' })
  expectProblem(t, outdated, { status: 412, type: 'precondition-failed' })
  t.equal((await patch({ decimals: 4 })).body.decimals, 4)
  expectProblem(t, await patch({ decimals: 2 }), { status: 409, type: 'decimals-in-use' })
})

t.test('a list without decimals has 6, which cannot become fewer', async (t) => {
  const { patch, read } = await aSetList(t, {})
  t.equal((await read()).body.decimals, 6)
  expectProblem(t, await patch({ decimals: 5 }), { status: 409, type: 'decimals-in-use' })
})

t.test('a list that was made elsewhere is 409', async (t) => {
  const { list, patch } = await aSetList(t)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  expectProblem(t, await patch({ currency: 'EUR' }), {
    status: 409,
    type: 'price-list-not-managed',
  })
})

t.test('a foreign list is an absent one', async (t) => {
  await expectAbsentLists(t, service, (account, id) =>
    account.send('PATCH', `/api/v1/price_list/${id}`, { currency: 'EUR' }),
  )
})
