import t from 'tap'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, aShopOf, setPrices } from '../../helpers/shop.ts'
import { select } from '../../helpers/sql.ts'
import { aWrittenList, type ShownRows } from '../../helpers/written-list.ts'

const service = await sharedService()

type Line = { code: string; price_dimension: string; date?: string; price: number }
type Cells = Map<string, number>

/** The priced cells of what a list showed, and the codes of its rows. */
function cellsOf({ file }: ShownRows): { codes: Set<string>; cells: Cells } {
  const lines: Line[] = file
  return {
    codes: new Set(lines.map(({ code }) => code)),
    cells: new Map(
      lines.map(({ code, price_dimension, date, price }) => [
        JSON.stringify([code, price_dimension, date ?? null]),
        price,
      ]),
    ),
  }
}

/** The diff of what a list showed at two moments, as texts. */
function expectedDiff(from: ShownRows | undefined, to: ShownRows, is_calendar: boolean): string[] {
  const none = { codes: new Set<string>(), cells: new Map<string, number>() }
  const [was, now] = [from ? cellsOf(from) : none, cellsOf(to)]
  const keys = new Set([...was.cells.keys(), ...now.cells.keys()])
  const found = [...keys].flatMap((key) => {
    const [code] = JSON.parse(key)
    const price = (side: typeof was) => (side.codes.has(code) ? (side.cells.get(key) ?? 0) : null)
    const [old, next] = [price(was), price(now)]
    // A row without prices has a line, which is no priced day.
    if (old === next || (is_calendar && (old ?? 0) === 0 && (next ?? 0) === 0)) return []
    const change = old === null ? 'added' : next === null ? 'removed' : 'priced'
    return JSON.stringify([key, change, old, next])
  })
  return found.sort()
}

for (const is_calendar of [false, true])
  t.test(`a ${is_calendar ? 'calendar ' : ''}list is compared at any two revisions`, async (t) => {
    const written = { is_calendar, seed: 7, writes: 30, cellsAtOnce: 6 }
    const { shop, list, shown } = await aWrittenList(t, service, written)
    const revisions = [...shown.keys()].map(Number)
    for (const from of [0, ...revisions.filter((revision) => revision % 3 === 0)])
      for (const to of revisions.filter((revision) => revision >= from && revision % 4 === 1)) {
        const path = `/api/v1/price_list/${list.id}/diff/?from=${from}&to=${to}&limit=1000`
        const { status, body } = await shop.get(path)
        t.equal(status, 200)
        const cells = body.results.map((cell: Record<string, unknown>) => {
          const key = JSON.stringify([cell.code, cell.price_dimension, cell.date ?? null])
          return JSON.stringify([key, cell.change, cell.old, cell.new])
        })
        const expected = expectedDiff(
          shown.get(`${from}`),
          shown.get(`${to}`) as ShownRows,
          is_calendar,
        )
        t.strictSame(cells.sort(), expected, `${from} to ${to}`)
        t.equal(body.count, expected.length)
      }
  })

t.test('a row that left is named by the id it had, also if it came and left again', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  const key = { code: 'A', country: 'UK' }
  const remove = () =>
    shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload: [key] })
  await setPrices(shop, 'L', [{ ...key, price: 5 }])
  await remove()
  await addProducts(shop, 'L', [key])
  await remove()
  const former = await shop.get(`/api/v1/price_list/${id}/rows?as_of=2`)
  const { body } = await shop.get(`/api/v1/price_list/${id}/diff/?from=2&to=5`)
  t.match(body.results, [{ change: 'removed', old: 5, pk: former.body.results[0].pk }])
})

t.test('a row that a revert brought back is one cell, also among many changes', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  const key = { code: 'A', country: 'UK' }
  await shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload: [key] })
  await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 2 })
  await setPrices(shop, 'L', [{ ...key, price: 5 }])
  const many = `update list_revisions set priced = 100001 where account_id = ${shop.id} and revision = 4`
  await select(service.url, many)
  const { body } = await shop.get(`/api/v1/price_list/${id}/diff/?from=3`)
  t.match(body, { count: 1, results: [{ code: 'A', old: 0, new: 5 }] })
  t.equal(body.results.length, 1)
})

t.test('a file has all cells, with the change in percent rounded half up', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  const keys = ['A', 'B'].map((code) => ({ code, country: 'UK' }))
  await setPrices(
    shop,
    'L',
    keys.map((key) => ({ ...key, price: 3 })),
  )
  await setPrices(shop, 'L', [
    { ...keys[0], price: 4 },
    { ...keys[1], price: 1 },
  ])
  const path = `/api/v1/price_list/${id}/diff/?from=2`
  const { results } = (await shop.get(path)).body
  t.match(results, [{ change_percent: 33.333333 }, { change_percent: -66.666667 }])
  const ndjson = await shop.send('GET', path, undefined, { accept: 'application/x-ndjson' })
  t.strictSame(ndjson.body.split('\n').filter(Boolean).map(JSON.parse), results)
  const csv = await shop.send('GET', `${path}&to=3`, undefined, { accept: 'text/csv' })
  t.match(csv.body, /A,UK,price,priced,3,4,33\.333333/)
})

t.test(
  'order=change puts the largest change first, behind cells without a percentage',
  async (t) => {
    const codes = ['A', 'B', 'C', 'D', 'E']
    const keys = codes.map((code) => ({ code, country: 'UK' }))
    const { shop, id } = await aFilledList(t, service, { codes, rows: keys.slice(0, 4) })
    const set = (...prices: number[]) =>
      setPrices(
        shop,
        'L',
        prices.map((price, index) => ({ ...keys[index], price })),
      )
    await set(10, 10, 10)
    await set(11, 5, 12, 1)
    await addProducts(shop, 'L', keys.slice(4))
    const path = `/api/v1/price_list/${id}/diff/?from=2`
    const read = async (query: string) => (await shop.get(`${path}${query}`)).body.results
    const order = (cells: { code: string }[]) => cells.map(({ code }) => code).join('')
    t.equal(order(await read('')), 'ABCDE')
    t.equal(order(await read('&order=change')), 'DEBCA')
    t.equal(order(await read('&order=change&limit=2&offset=2')), 'BC')
    const ndjson = await shop.send('GET', `${path}&order=change`, undefined, {
      accept: 'application/x-ndjson',
    })
    t.equal(order(ndjson.body.split('\n').filter(Boolean).map(JSON.parse)), 'DEBCA')
    expectProblem(t, await shop.get(`${path}&order=code`), 400, 'invalid-request', 'unknown')
  },
)

t.test('a change in percent rounds once, from the exact value', async (t) => {
  const { shop, id } = await aFilledList(t, service, { codes: ['A', 'B'] })
  const [a, b] = ['A', 'B'].map((code) => ({ code, country: 'UK' }))
  const set = (ofA: number, ofB: number) =>
    setPrices(shop, 'L', [
      { ...a, price: ofA },
      { ...b, price: ofB },
    ])
  await set(0.000201, 8)
  await set(1005.000394, 7.999999)
  // 500000096.01990049… and -0.0000125
  const exact = [{ change_percent: 500_000_096.0199 }, { change_percent: -0.000012 }]
  t.match((await shop.get(`/api/v1/price_list/${id}/diff/?from=2`)).body.results, exact)
  t.match((await shop.get(`/api/v1/price_list/${id}/changes/?after=2`)).body.results, exact)
})

t.test('a page of more than 1,500,000 changes is too costly, a file is not', async (t) => {
  const { shop, id } = await aFilledList(t, service)
  await setPrices(shop, 'L', [{ code: 'A', country: 'UK', price: 5 }])
  const count = (changes: number) =>
    select(
      service.url,
      `update list_revisions set priced = ${changes} where account_id = ${shop.id} and revision = 2`,
    )
  const path = `/api/v1/price_list/${id}/diff/?from=1`
  await count(1_500_000)
  t.match((await shop.get(path)).body, { count: 1 })
  await count(1_500_001)
  expectProblem(t, await shop.get(path), 400, 'too-costly', 'too-costly')
  const file = await shop.send('GET', path, undefined, { accept: 'text/csv' })
  t.match(file.body, /\r\n\d+,\d+,A,UK,price,priced,0,5,/)
})

t.test('moments that make no sense are refused', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const diff = (query: string) => shop.get(`/api/v1/price_list/${id}/diff/?${query}`)
  expectProblem(t, await diff('from=0'), 409, 'price-list-not-published', 'draft')
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  for (const query of ['', 'from=x', 'from=2', 'from=1&to=0.5', 'from=0&to=2', 'from=2026-01-01'])
    expectProblem(t, await diff(query), 400, 'invalid-request', query)
  t.match((await diff('from=1&to=1')).body, { count: 0, results: { length: 0 } })
  t.match((await diff('from=0')).body, { results: [{ change: 'added', old: null, new: 0 }] })
  const other = await service.newAccount(t)
  const foreign = await other.get(`/api/v1/price_list/${id}/diff/?from=0`)
  expectProblem(t, foreign, 404, 'price-list-not-found', 'foreign')
})

t.test('what shows changes leaves out extensions that are named like its own keys', async (t) => {
  const names = ['new', 'old', 'change', 'revision', 'at', 'history', 'reason', 'inputs', 'action']
  const extensions = names.map((name) => ({ name, type: 'string' }))
  const row = { code: 'A', ...Object.fromEntries(names.map((name) => [name, `x${name}`])) }
  const shop = await aShopOf(t, service, { extensions }, [row])
  const { id } = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [row])
  await setPrices(shop, 'L', [{ ...row, price: 3 }])
  const diff = `/api/v1/price_list/${id}/diff/?from=1`
  t.match((await shop.get(diff)).body.results, [{ change: 'priced', old: 0, new: 3, reason: /x/ }])
  const csv = await shop.send('GET', diff, undefined, { accept: 'text/csv' })
  const [head] = csv.body.split('\r\n')
  t.equal(
    head,
    'pk,extended_catalog_id,code,history,reason,inputs,action,price_dimension,change,old,new,change_percent',
  )
  const changes = await shop.get(`/api/v1/price_list/${id}/changes/?after=1`)
  t.match(changes.body.results, [{ revision: 2, at: /Z$/, change: 'priced', new: 3 }])
  const body = { price_list_name: 'L', payload: [row] }
  const history = await shop.post('/api/v1/prices/get_price_history/', body)
  t.match(history.body, [{ new: 'xnew', history: [{ price: 0 }, { price: 3, revision: 2 }] }])
  const call = { price_list_name: 'L', formula: '= 4' }
  const { body: plan } = await shop.post('/api/v1/prices/reprice/', call)
  const rows = await shop.get(`/api/v1/plans/${plan.id}/rows/`)
  t.match(rows.body.results, [
    { action: 'price', old: 3, new: 4, change: 'xchange', reason: undefined, inputs: {} },
  ])
})
