import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  catalogPath,
  products,
  productsPath,
  renameColumn,
  schemaPath,
  smallSchema,
} from '../helpers/catalog.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'
import { untilLockAwaited } from '../helpers/sql.ts'

const service = await sharedService()

t.test('answers the ids of new and of present rows, each in payload order', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const row = (code: string) => ({ code, country: 'UK' })
  const first = await account.post(productsPath, [row('C'), row('A')])
  t.equal(first.status, 200)
  t.equal(first.body.created.length, 2)
  t.strictSame(first.body.updated, [])
  const [c, a] = first.body.created
  const { body } = await account.post(productsPath, [row('D'), row('C'), row('B'), row('A')])
  t.strictSame(body.updated, [c, a])
  const { results } = (await account.get(catalogPath)).body
  const idOf = new Map(
    results.map((product: Record<string, unknown>) => [product.code, product.extended_catalog_id]),
  )
  t.strictSame(body.created, [idOf.get('D'), idOf.get('B')])
  t.strictSame([idOf.get('C'), idOf.get('A')], [c, a])
})

t.test('an empty array does nothing', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  t.strictSame((await account.post(productsPath, [])).body, { created: [], updated: [] })
})

t.test('code and all extensions together identify a row', async (t) => {
  const extensions = ['country', 'channel'].map((name) => ({ name, type: 'string' }))
  const account = await aShopOf(t, service, { extensions })
  const rows = ['a', 'b'].flatMap((country) =>
    ['a', 'b'].map((channel) => ({ code: 'A', country, channel })),
  )
  t.equal((await account.post(productsPath, rows)).body.created.length, 4)
  t.equal((await account.post(productsPath, rows)).body.updated.length, 4)
  t.strictSame(
    await products(account),
    rows.map((row) => ({ ...row, active: true })),
  )
})

t.test('what a row leaves out stays as it was, and a new row is active', async (t) => {
  const account = await aShopOf(t, service, {
    ...smallSchema,
    costs: [{ name: 'p' }, { name: 'f' }],
  })
  const key = { code: 'A', country: 'UK' }
  const steps: [object, object][] = [
    [{}, { active: true }],
    [
      { color: 'red', p: 1.5 },
      { color: 'red', p: 1.5, active: true },
    ],
    [{ active: false }, { color: 'red', p: 1.5, active: false }],
    [{ f: 0 }, { color: 'red', p: 1.5, f: 0, active: false }],
    [
      { color: 'blue', p: 2 },
      { color: 'blue', p: 2, f: 0, active: false },
    ],
    [{ active: true }, { color: 'blue', p: 2, f: 0, active: true }],
  ]
  for (const [given, expected] of steps) {
    t.equal((await account.post(productsPath, [{ ...key, ...given }])).status, 200)
    t.strictSame(await products(account), [{ ...key, ...expected }], JSON.stringify(given))
  }
})

t.test(
  'an attribute belongs to the code: it is set for every row of it, costs are not',
  async (t) => {
    const account = await aShopOf(t, service, smallSchema)
    await account.post(productsPath, [
      { code: 'A', country: 'UK', purchase: 1 },
      { code: 'A', country: 'FR', color: 'red' },
      { code: 'B', country: 'UK' },
    ])
    await account.post(productsPath, [{ code: 'A', country: 'UK' }])
    t.strictSame(
      new Set(await products(account)),
      new Set([
        { code: 'A', country: 'FR', color: 'red', active: true },
        { code: 'A', country: 'UK', color: 'red', purchase: 1, active: true },
        { code: 'B', country: 'UK', active: true },
      ]),
    )
  },
)

t.test('attributes of one code may stand in different rows of a payload', async (t) => {
  const attributes = ['color', 'brand'].map((name) => ({ name, type: 'string' }))
  const account = await aShopOf(t, service, { ...smallSchema, attributes })
  const rows = [{ country: 'UK', color: 'red' }, { country: 'FR', brand: 'x' }, { country: 'DE' }]
  await account.post(
    productsPath,
    rows.map((row) => ({ code: 'A', ...row })),
  )
  for (const product of await products(account)) t.match(product, { color: 'red', brand: 'x' })
})

t.test('rows whose code and extensions are alike when joined are different rows', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const rows = [
    { code: 'A', country: 'BC', purchase: 1 },
    { code: 'AB', country: 'C', purchase: 2 },
  ]
  t.equal((await account.post(productsPath, rows)).body.created.length, 2)
})

t.test('equal rows of one payload count once', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const body =
    '[{"code":"A","country":"UK","purchase":0},{"purchase":-0.0,"country":"UK","code":"A"}]'
  const answer = await account.post(productsPath, body)
  t.equal(answer.status, 200)
  t.equal(answer.body.created.length, 1)
})

t.test('accounts have catalogs of their own', async (t) => {
  const row = { code: 'A', country: 'UK', color: 'red' }
  const account = await aShopOf(t, service, smallSchema, [row])
  const other = await aShopOf(t, service, smallSchema)
  const { body } = await other.post(productsPath, [{ ...row, color: 'blue', active: false }])
  t.equal(body.created.length, 1)
  t.strictSame(await products(account), [{ ...row, active: true }])
})

t.test(
  'a load waits for a change of the columns and is checked against the new ones',
  async (t) => {
    const account = await aShopOf(t, service, smallSchema)
    const commit = await renameColumn(service.url, account.id, 'color')
    const loading = account.post(productsPath, [{ code: 'A', country: 'UK', color: 'red' }])
    await sleep(100)
    await commit()
    t.match(await loading, {
      status: 400,
      body: { errors: [{ field: 'color', code: 'unknown_key' }] },
    })
  },
)

t.test('a file whose columns change while it is read is to be sent again', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const commit = await renameColumn(service.url, account.id, 'color')
  const file = 'code,country,color\nA,UK,red\n'
  const loading = account.send('POST', productsPath, file, { 'content-type': 'text/csv' })
  await untilLockAwaited(service.url, 'pricewell streams', loading)
  await commit()
  t.match(await loading, { status: 503, body: { type: 'unavailable' } })
  t.strictSame(await products(account), [])
})

t.test('loads and schema changes at one moment never break a row', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const costs = [...smallSchema.costs, { name: 'freight' }]
  const answers = await Promise.all([
    ...[1, 2, 3].map((n) => account.post(productsPath, [{ code: `P${n}`, country: 'UK' }])),
    account.post(schemaPath, { ...smallSchema, costs }),
    account.post(schemaPath, { extensions: [] }),
  ])
  t.ok(answers.every(({ status }) => [200, 201, 400, 409].includes(status)))
})
