import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  listsPath,
  renameColumn,
  schemaPath,
  smallSchema,
  typedColumns,
} from '../helpers/catalog.ts'
import { astral, hostileTexts } from '../helpers/hostile.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const defaults = {
  price_dimensions: ['price'],
  margin_formula: '= (Price - 0) / Price * 100',
  product_filters: {},
  is_calendar: false,
  decimals: 6,
  hide_unpriced: false,
  guardrails: {},
  origin: 'api',
  is_published: false,
  revision: 0,
}

t.test('answers id and name of each list in payload order', async (t) => {
  const account = await service.newAccount(t)
  const names = ['c', 'a', 'b']
  const { status, body } = await account.post(
    listsPath,
    names.map((name) => ({ name, ...year })),
  )
  t.equal(status, 201)
  t.strictSame(
    body.map((list: { name: string }) => list.name),
    names,
  )
  t.ok(body[0].id < body[1].id && body[1].id < body[2].id)
  t.strictSame(Object.keys(body[0]).sort(), ['id', 'name'])
})

t.test('a new list is empty, not published, and has the defaults of the contract', async (t) => {
  const account = await service.newAccount(t)
  const [{ id }] = (await account.post(listsPath, [{ name: 'L', ...year }])).body
  const { state: _, ...read } = (await account.get(`/api/v1/price_list/${id}`)).body
  t.strictSame(read, {
    id,
    name: 'L',
    ...year,
    ...defaults,
  })
  for (const version of ['published', 'draft']) {
    const rows = await account.get(`/api/v1/price_list/${id}/rows?version=${version}`)
    t.strictSame(rows.body, { count: 0, results: [] }, version)
  }
})

t.test('every field is kept as it was sent', async (t) => {
  const account = await aShopOf(t, service, { ...smallSchema, attributes: typedColumns('a') })
  const list = {
    name: 'L',
    description: '',
    valid_from: '2024-02-29',
    valid_to: '2024-02-29',
    price_dimensions: ['b', 'a', 'B'],
    margin_formula: '=Price-"purchase"',
    is_calendar: true,
    product_filters: {
      code: ['A', '{"x"}', 'NULL'],
      country: [],
      astring: ['a'],
      ainteger: [0, -5],
      anumber: [0.000001, 1e20],
      aboolean: [false],
      adate: ['2024-02-29'],
    },
    currency: 'EUR',
    decimals: 0,
    hide_unpriced: true,
    guardrails: {
      min_price: 0.01,
      max_price: 0.01,
      max_increase_percent: 1000,
      max_decrease_percent: 100,
      min_margin_percent: -0.5,
      no_zero: false,
      max_changed_percent: 0,
      max_removed_percent: 12.345678,
    },
  }
  const [{ id }] = (await account.post(listsPath, [list])).body
  const {
    origin: _,
    is_published: __,
    revision: ___,
    state: ____,
    last_date,
    ...read
  } = (await account.get(`/api/v1/price_list/${id}/`)).body
  t.strictSame(read, { id, ...list })
  t.equal(last_date, '2025-02-27')
})

t.test('an empty array does nothing', async (t) => {
  const account = await service.newAccount(t)
  const { status, body } = await account.post(listsPath, [])
  t.strictSame([status, body], [201, []])
})

t.test('equal lists of one payload are one list, with defaults written out or not', async (t) => {
  const account = await service.newAccount(t)
  const list = { name: 'L', ...year }
  const written = { product_filters: {}, price_dimensions: ['price'], is_calendar: false, ...list }
  const { status, body } = await account.post(listsPath, [list, { name: 'M', ...year }, written])
  t.equal(status, 201)
  t.strictSame(
    body.map(({ name }: { name: string }) => name),
    ['L', 'M'],
  )
})

t.test(
  'a name that is taken is 409, names it, and nothing of the payload is written',
  async (t) => {
    const account = await service.newAccount(t)
    await account.post(listsPath, [{ name: 'L', ...year }])
    const before = (await account.get('/api/v1/price_list/')).body
    const { status, body } = await account.post(
      listsPath,
      ['K', 'L', 'M'].map((name) => ({ name, ...year })),
    )
    t.strictSame([status, body.type], [409, 'name-taken'])
    t.match(body.detail, /"L"/)
    t.notMatch(body.detail, /"K"|"M"/)
    t.strictSame((await account.get('/api/v1/price_list/')).body, before)
  },
)

t.test('names are unique in the account only, and free again after a deletion', async (t) => {
  const [one, other] = [await service.newAccount(t), await service.newAccount(t)]
  const [{ id }] = (await one.post(listsPath, [{ name: 'L', ...year }])).body
  t.equal((await other.post(listsPath, [{ name: 'L', ...year }])).status, 201)
  await one.send('DELETE', `/api/v1/price_list/${id}`)
  t.equal((await one.post(listsPath, [{ name: 'L', ...year }])).status, 201)
})

t.test('of two that create one name at one moment one succeeds', async (t) => {
  const account = await service.newAccount(t)
  const names = ['a', 'b', 'c'].map((name) => ({ name, ...year }))
  const answers = await Promise.all([
    account.post(listsPath, names),
    account.post(listsPath, [...names].reverse()),
  ])
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 409])
  t.equal((await account.get('/api/v1/price_list/')).body.count, 3)
})

t.test('hostile names and dimensions are texts: kept as sent and told apart', async (t) => {
  const account = await service.newAccount(t)
  const names = [...hostileTexts, '__proto__', astral(255)]
  const lists = names.map((name) => ({ name, ...year, price_dimensions: names }))
  const { status, body } = await account.post(listsPath, lists)
  t.equal(status, 201)
  t.strictSame(
    body.map(({ name }: { name: string }) => name),
    names,
  )
  const { results } = (await account.get('/api/v1/price_list/?limit=1000')).body
  t.strictSame(
    results.map(({ name }: { name: string }) => name),
    names,
  )
  t.ok(results.every((list: typeof defaults) => t.strictSame(list.price_dimensions, names)))
})

t.test('the default formula has the cost columns of the moment, by letter', async (t) => {
  const account = await aShopOf(t, service, { costs: [{ name: 'purchase' }] })
  const formulaOf = async (name: string) => {
    const [{ id }] = (await account.post(listsPath, [{ name, ...year }])).body
    return async () => (await account.get(`/api/v1/price_list/${id}`)).body.margin_formula
  }
  const one = await formulaOf('one')
  t.equal(await one(), '= (Price - (B)) / Price * 100')
  const costs = [{ name: 'purchase' }, { name: 'freight' }]
  await account.post(schemaPath, { attributes: [{ name: 'color', type: 'string' }], costs })
  const two = await formulaOf('two')
  t.equal(await two(), '= (Price - (B + D)) / Price * 100', 'appended: after the attribute')
  t.equal(await one(), '= (Price - (B)) / Price * 100', 'a list keeps its formula')
})

t.test('100 price dimensions and a description of 10,000 characters are taken', async (t) => {
  const account = await service.newAccount(t)
  const price_dimensions = Array.from({ length: 100 }, (_, index) => `d${index}`)
  const list = { name: 'L', ...year, price_dimensions, description: '😀'.repeat(10_000) }
  t.equal((await account.post(listsPath, [list])).status, 201)
})

t.test(
  'a list waits for a change of the columns and is checked against the new ones',
  async (t) => {
    const account = await aShopOf(t, service, smallSchema)
    const commit = await renameColumn(service.url, account.id, 'color')
    const list = { name: 'L', ...year, product_filters: { color: ['red'] } }
    const creating = account.post(listsPath, [list])
    await sleep(100)
    await commit()
    t.match(await creating, { status: 400, body: { errors: [{ code: 'unknown_column' }] } })
  },
)

t.test('a formula of 1,000 characters is taken', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const margin_formula = `=${'('.repeat(499)}D${')'.repeat(499)}`
  const [{ id }] = (await account.post(listsPath, [{ name: 'L', ...year, margin_formula }])).body
  t.equal((await account.get(`/api/v1/price_list/${id}`)).body.margin_formula, margin_formula)
})
