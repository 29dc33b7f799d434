import t from 'tap'
import { expectFaults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_dynamic_attributes/?price_list_name=list'
const service = await sharedService()
const head = 'code,country,dynamic_attribute_name,dynamic_attribute_value'

t.test(
  'dynamic attributes of a file are JSON where they can be read as JSON, else texts',
  async (t) => {
    const { shop, list } = await aFilledList(t, service, { countries: ['UK', 'FR'], name: 'list' })
    const rows = [
      'A,UK,shelf,"{""aisle"":4}"',
      'A,UK,on,TRUE',
      'A,UK,side,left',
      'A,UK,text,"""4"""',
    ]
    const answer = await shop.send('POST', path, [head, ...rows, 'A,FR,n,4'].join('\n'), {
      'content-type': 'text/csv',
    })
    t.match(answer, { status: 201, body: { rows: 5, created: 0, updated: 2 } })
    t.equal(answer.headers['price-list-revision'], '1')
    const [uk, fr] = (await rowsOf(shop, list)).sort((a, b) => (a.country > b.country ? -1 : 1))
    t.strictSame(uk.dynamic_attributes, { on: true, side: 'left', text: '4', shelf: { aisle: 4 } })
    t.strictSame(fr.dynamic_attributes, { n: 4 })
  },
)

t.test('a cell that says null removes the attribute; a text may say so, too', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK', 'FR'] })
  const list = await aList(shop, {})
  const countries = ['FR', 'UK']
  const ids = await addProducts(
    shop,
    'list',
    countries.map((country) => ({ code: 'A', country })),
  )
  const send = (...rows: string[]) =>
    shop.send('POST', path, [head, ...rows].join('\n'), { 'content-type': 'text/csv' })
  const kept = async () => {
    const rows = await rowsOf(shop, list)
    return ids.map((id) => rows.find(({ pk }) => pk === id)?.dynamic_attributes)
  }
  await send('A,UK,n,4', 'A,UK,m,5', 'A,FR,n,6')
  const removed = await send('A,UK,n,null', 'A,FR,none,null', 'A,UK,o,7', 'A,UK,n,null')
  t.match(removed, { status: 201, body: { rows: 4, created: 0, updated: 2 } })
  t.strictSame(await kept(), [{ n: 6 }, { m: 5, o: 7 }])
  t.match(await send('A,FR,n, null ', 'A,UK,m,"""null"""', 'A,UK,o,NULL'), { status: 201 })
  t.strictSame(await kept(), [{}, { m: 'null', o: 'NULL' }])
  const fault = { line: 2, pointer: '/0/dynamic_attribute_value', code: 'required' }
  t.match(await send('A,UK,m,'), { status: 400, body: { errors: [fault] } })
  const differing = await send('A,UK,m,null', 'A,UK,m,1')
  t.match(differing, { status: 400, body: { errors: [{ pointer: '/1', code: 'duplicate_row' }] } })
  t.strictSame(await kept(), [{}, { m: 'null', o: 'NULL' }])
})

t.test('null in a line of NDJSON removes the attribute, and so it does in a job', async (t) => {
  const { shop, list } = await aFilledList(t, service, { name: 'list' })
  const line = (name: string, value: unknown) =>
    `${JSON.stringify({ code: 'A', country: 'UK', dynamic_attribute_name: name, dynamic_attribute_value: value })}\n`
  const type = { 'content-type': 'application/x-ndjson' }
  const all = line('a', 1) + line('b', { c: null }) + line('d', 3)
  await shop.send('POST', path, all, type)
  t.match(await shop.send('POST', path, line('a', null), type), { body: { updated: 1 } })
  const later = { ...type, prefer: 'respond-async' }
  const { body: job } = await shop.send('POST', path, line('d', null), later)
  t.match(await shop.finished(job), {
    ...{ status: 'done', revision: 1, result: { rows: 1, created: 0, updated: 1 } },
  })
  t.strictSame((await rowsOf(shop, list))[0].dynamic_attributes, { b: { c: null } })
})

const values = [
  false,
  true,
  0,
  -1.5,
  1e-7,
  123456789012345,
  '',
  ' ',
  'left',
  'a, "b"\n',
  ' left',
  'true',
  'FALSE',
  'null',
  'true ',
  'Nullable',
  'NaN',
  'Infinity',
  '12',
  '-1',
  '1e400',
  '+1',
  '{}',
  '[1,2]',
  '"',
  '""',
  '"a"',
  "'=x",
  '=1+1',
  '@x',
  '\t',
  'é',
  'Ω=',
  '١٢',
  '2026-01-01',
  [],
  [null, 'a', [1]],
  {},
  { a: { b: null, '=c': '=d' } },
  'x'.repeat(4094),
]

for (const type of ['text/csv', 'application/x-ndjson']) {
  t.test(
    `dynamic attributes, exported as ${type} and loaded into another list, are the same`,
    async (t) => {
      const shop = await aShop(t, service, { codes: ['=A', 'B', 'C'], countries: ['UK'] })
      const from = await aList(shop, { name: 'from' })
      const to = await aList(shop, { name: 'list', is_calendar: true })
      const keys = ['=A', 'B'].map((code) => ({ code, country: 'UK' }))
      for (const name of ['from', 'list'])
        await addProducts(shop, name, [...keys, { code: 'C', country: 'UK' }])
      const attributes = values.map((dynamic_attribute_value, index) => ({
        dynamic_attribute_name: ['=n', 'n,"', 'true', ' '][index] ?? `n${index}`,
        dynamic_attribute_value,
      }))
      const payload = keys.flatMap((key) => attributes.map((one) => ({ ...key, ...one })))
      const names = { price_list_name: 'from' }
      await shop.post(path.replace(/\?.*/, ''), { ...names, payload })
      const rows = `/api/v1/price_list/${from.id}/rows?lines=dynamic_attributes`
      const file = await shop.send('GET', rows, undefined, { accept: type })
      const { status, body } = await shop.send('POST', path, file.body, { 'content-type': type })
      t.match({ status, body }, { status: 201, body: { rows: 2 * values.length, updated: 2 } })
      const [expected, loaded] = [await rowsOf(shop, from), await rowsOf(shop, to)]
      t.strictSame(Object.values(expected[0].dynamic_attributes).length, values.length)
      t.strictSame(
        loaded.map(({ dynamic_attributes }) => dynamic_attributes),
        expected.map(({ dynamic_attributes }) => dynamic_attributes),
      )
    },
  )
}

t.test('each row of a list takes 100 names of a file, however often they are there', async (t) => {
  const { shop, list } = await aFilledList(t, service, { countries: ['UK', 'FR'], name: 'list' })
  const keys = ['UK', 'FR'].map((country) => ({ code: 'A', country }))
  const lines = keys.flatMap(({ country }) =>
    Array.from({ length: 100 }, (_, index) => `A,${country},n${index},1`),
  )
  const answer = await shop.send('POST', path, [head, ...lines, ...lines].join('\n'), {
    'content-type': 'text/csv',
  })
  t.match(answer, { status: 201, body: { rows: 400, updated: 2 } })
  for (const { dynamic_attributes } of await rowsOf(shop, list))
    t.equal(Object.keys(dynamic_attributes).length, 100)
})

t.test('a full row takes new values for its names from a file, but no other name', async (t) => {
  const { shop, list } = await aFilledList(t, service, { name: 'list' })
  const send = (from: number, until: number, value: number) => {
    const rows = Array.from({ length: until - from }, (_, at) => `A,UK,n${from + at},${value}`)
    return shop.send('POST', path, [head, ...rows].join('\n'), { 'content-type': 'text/csv' })
  }
  for (const value of [1, 2]) t.equal((await send(0, 100, value)).status, 201)
  expectFaults(t, await send(99, 102, 3), [
    '/1/dynamic_attribute_name length',
    '/2/dynamic_attribute_name length',
  ])
  const values = Object.values((await rowsOf(shop, list))[0].dynamic_attributes)
  t.strictSame(values, Array(100).fill(2))
})

t.test('names that are removed make room for others, in a file as in JSON', async (t) => {
  const { shop } = await aFilledList(t, service, { countries: ['UK', 'FR'], name: 'list' })
  const keys = ['UK', 'FR'].map((country) => ({ code: 'A', country }))
  const [address] = path.split('?') as [string]
  const inJson = (rows: [name: string, value: unknown][]) =>
    shop.post(address, {
      price_list_name: 'list',
      payload: rows.map(([dynamic_attribute_name, dynamic_attribute_value]) => ({
        ...keys[0],
        dynamic_attribute_name,
        dynamic_attribute_value,
      })),
    })
  const inFile = (rows: [name: string, value: unknown][]) => {
    const lines = rows.map(([name, value]) => `A,UK,${name},${value}`)
    return shop.send('POST', path, [head, ...lines].join('\n'), { 'content-type': 'text/csv' })
  }
  for (const send of [inJson, inFile]) {
    const full = Array.from({ length: 100 }, (_, index): [string, unknown] => [`n${index}`, 1])
    t.equal((await send(full)).status, 201, 'a full row')
    const others: [string, unknown][] = [
      ['o1', 1],
      ['n0', null],
      ['o2', 1],
      ['n1', null],
    ]
    t.equal((await send(others)).status, 201, 'wherever they are in the payload')
    const absent: [string, unknown][] = [
      ['n0', null],
      ['o3', 1],
      ['n2', 2],
    ]
    const refused = await send(absent)
    t.match(refused, { status: 400 }, 'a name that is not there makes no room')
    t.match(refused.body.errors, [{ row: 1, field: 'dynamic_attribute_name', code: 'length' }])
    t.equal(refused.body.errors.length, 1)
    const one: [string, unknown][] = [
      ['n2', null],
      ['o3', 1],
      ['o4', 1],
    ]
    t.match((await send(one)).body.errors, [{ row: 2, code: 'length' }])
    const names = [...full.map(([name]) => name), 'o1', 'o2']
    t.equal((await send(names.map((name) => [name, null]))).status, 201, 'all of them')
  }
})

t.test('bad rows of a file are named, and nothing is set', async (t) => {
  const { shop, list } = await aFilledList(t, service, { name: 'list' })
  const names = Array.from({ length: 101 }, (_, index) => `A,UK,n${index},1`)
  const cases: [string[], ...[number, string, string][]][] = [
    [['X,UK,n,1'], [2, '/0/code', 'row_not_in_list']],
    [
      ['A,UK,n,1', 'A,UK,n,2'],
      [3, '/1', 'duplicate_row'],
    ],
    [['A,UK,__proto__,1'], [2, '/0/dynamic_attribute_name', 'not_allowed']],
    [[`A,UK,n,${'x'.repeat(5000)}`], [2, '/0/dynamic_attribute_value', 'length']],
    [['A,UK,n,'], [2, '/0/dynamic_attribute_value', 'required']],
    [['A,UK,n,"""\\u0000"""'], [2, '/0', 'malformed_row']],
    [['A,UK,n,"{""a"":1,""a"":2}"'], [2, '/0', 'malformed_row']],
    [[`A,UK,n,${'['.repeat(20_000)}${']'.repeat(20_000)}`], [2, '/0', 'malformed_row']],
    [
      ['X,UK,n,1', 'A,UK,n,1', 'X,UK,n,1'],
      [2, '/0/code', 'row_not_in_list'],
      [4, '/2/code', 'row_not_in_list'],
    ],
    [names, [102, '/100/dynamic_attribute_name', 'length']],
    [
      [...names.slice(1), ...names],
      [102, '/100/dynamic_attribute_name', 'length'],
    ],
  ]
  for (const [rows, ...faults] of cases) {
    const { status, body } = await shop.send('POST', path, [head, ...rows].join('\n'), {
      'content-type': 'text/csv',
    })
    t.equal(status, 400, rows[0] as string)
    t.strictSame(
      body.errors.map(({ line, pointer, code }: Record<string, unknown>) => [line, pointer, code]),
      faults,
      rows[0] as string,
    )
  }
  t.strictSame((await rowsOf(shop, list))[0].dynamic_attributes, {})
})
