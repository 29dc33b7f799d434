import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { catalogPath, productsPath, schemaPath, smallSchema } from '../helpers/catalog.ts'
import { emptyDatabase } from '../helpers/database.ts'
import { astral, hostileTexts } from '../helpers/hostile.ts'
import { startServiceOn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList, aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const readPath = '/api/v1/product_catalog/schema/'
const string = (name: string) => ({ name, type: 'string' })

t.test('code is A; attributes, extensions and costs follow in declaration order', async (t) => {
  const account = await service.newAccount(t)
  const values = ['red', 'blue']
  const { status, body } = await account.post(schemaPath, {
    attributes: [{ ...string('color'), values }, string('brand')],
    extensions: [{ name: 'size', type: 'integer' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  })
  t.equal(status, 201)
  const expected = {
    attributes: [
      { ...string('color'), values, letter: 'B' },
      { ...string('brand'), letter: 'C' },
    ],
    extensions: [{ name: 'size', type: 'integer', letter: 'D' }],
    costs: [
      { name: 'purchase', letter: 'E' },
      { name: 'freight', letter: 'F' },
    ],
  }
  t.strictSame(body, expected)
  t.strictSame((await account.get(readPath)).body, expected)
})

t.test('letters go on after Z as in a spreadsheet', async (t) => {
  const account = await service.newAccount(t)
  const costs = Array.from({ length: 100 }, (_, index) => ({ name: `c${index}` }))
  const { body } = await account.post(schemaPath, { attributes: [string('color')], costs })
  const letters = body.costs.map(({ letter }: { letter: string }) => letter)
  t.equal(letters[23], 'Z')
  t.equal(letters[24], 'AA')
  t.equal(letters[49], 'AZ')
  t.equal(letters[50], 'BA')
  t.equal(letters[99], 'CX')
  t.strictSame((await account.get(readPath)).body, body, 'and are read in this order')
})

t.test('so they do where the language of the database orders letters otherwise', async (t) => {
  for (const language of ['lt-LT', 'da-DK']) {
    const options = `locale_provider icu icu_locale '${language}' locale 'C' encoding 'UTF8'`
    const account = await (await startServiceOn(t, await emptyDatabase(options))).newAccount(t)
    const costs = Array.from({ length: 60 }, (_, index) => ({ name: `c${index}` }))
    const { body } = await account.post(schemaPath, { costs })
    t.strictSame((await account.get(readPath)).body, body, language)
    const values = Object.fromEntries(costs.map(({ name }, index) => [name, index + 1]))
    await account.post(productsPath, [{ code: 'A', ...values }])
    const { results } = (await account.get(catalogPath)).body
    t.match(results[0], values, `${language}: each cost is its column's`)
  }
})

t.test('100 attributes, 30 extensions and 100 costs are taken', async (t) => {
  const account = await service.newAccount(t)
  const names = (kind: string, length: number) => Array.from({ length }, (_, i) => `${kind}${i}`)
  const { status, body } = await account.post(schemaPath, {
    attributes: names('a', 100).map(string),
    extensions: names('e', 30).map(string),
    costs: names('c', 100).map((name) => ({ name })),
  })
  t.equal(status, 201)
  const { attributes, extensions, costs } = body
  t.strictSame([attributes.length, extensions.length, costs.length], [100, 30, 100])
})

t.test('a catalog of codes alone has an empty schema', async (t) => {
  const account = await service.newAccount(t)
  const { status, body } = await account.post(schemaPath, {})
  t.equal(status, 201)
  t.strictSame(body, { attributes: [], extensions: [], costs: [] })
  t.equal((await account.post(productsPath, [{ code: 'A' }])).status, 200)
})

t.test('the same schema again changes nothing, also when there are products', async (t) => {
  const account = await aShopOf(t, service, smallSchema, [{ code: 'A', country: 'UK' }])
  const before = (await account.get(readPath)).body
  const { status, body } = await account.post(schemaPath, smallSchema)
  t.equal(status, 201)
  t.strictSame(body, before)
})

t.test(
  'appended columns get the letters after the last one, present ones keep theirs',
  async (t) => {
    const account = await aShopOf(t, service, smallSchema)
    const { status, body } = await account.post(schemaPath, {
      attributes: [...smallSchema.attributes, string('brand')],
      extensions: [...smallSchema.extensions, string('channel')],
      costs: [...smallSchema.costs, { name: 'freight' }],
    })
    t.equal(status, 201)
    const letters = [body.attributes, body.extensions, body.costs].map((columns) =>
      columns.map(({ letter }: { letter: string }) => letter).join(),
    )
    t.strictSame(letters, ['B,E', 'C,F', 'D,G'])
  },
)

t.test('the schema is replaced while there are no products and no price lists', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const { status, body } = await account.post(schemaPath, { costs: [{ name: 'freight' }] })
  t.equal(status, 201)
  t.strictSame(body, { attributes: [], extensions: [], costs: [{ name: 'freight', letter: 'B' }] })
})

t.test('attributes and costs appended to products are absent until they are loaded', async (t) => {
  const account = await aShopOf(t, service, smallSchema, [{ code: 'A', country: 'UK' }])
  const { status } = await account.post(schemaPath, {
    ...smallSchema,
    attributes: [...smallSchema.attributes, string('brand')],
    costs: [...smallSchema.costs, { name: 'freight' }],
  })
  t.equal(status, 201)
  const product = async () => (await account.get(catalogPath)).body.results[0]
  const { extended_catalog_id } = await product()
  t.strictSame(await product(), { extended_catalog_id, code: 'A', country: 'UK', active: true })
  await account.post(productsPath, [{ code: 'A', country: 'UK', brand: 'x', freight: 2 }])
  t.match(await product(), { extended_catalog_id, brand: 'x', freight: 2 })
})

const { attributes, extensions, costs } = smallSchema
const changes: [string, object][] = [
  ['a column left out', { extensions, costs }],
  ['all columns left out', {}],
  ['a cost left out', { attributes, extensions }],
  ['an attribute renamed', { ...smallSchema, attributes: [string('colour')] }],
  ['a type changed', { ...smallSchema, attributes: [{ name: 'color', type: 'integer' }] }],
  ['values limited', { ...smallSchema, attributes: [{ ...string('color'), values: ['red'] }] }],
  ['a column of another kind', { attributes: [...attributes, ...extensions], costs }],
  ["two columns of each other's kind", { attributes: extensions, extensions: attributes, costs }],
  ['a column put first', { ...smallSchema, costs: [{ name: 'freight' }, ...costs] }],
]

t.test('once products exist, changing or leaving out a column is 409 schema-in-use', async (t) => {
  const account = await aShopOf(t, service, smallSchema, [{ code: 'A', country: 'UK' }])
  const before = (await account.get(readPath)).body
  const append = { ...smallSchema, extensions: [...extensions, string('channel')] }
  for (const [rule, schema] of [...changes, ['an extension appended', append] as const]) {
    const { status, body } = await account.post(schemaPath, schema)
    t.strictSame([status, body.type], [409, 'schema-in-use'], rule)
  }
  t.strictSame((await account.get(readPath)).body, before)
})

t.test('a declaration waits for a load that relies on the columns', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  await client.query('begin')
  await client.query('select from accounts where id = $1 for key share', [account.id])
  const columns = 'account_id, code, extensions, extension_key, costs'
  const text = `insert into products (${columns}) values ($1, 'A', '{UK}', '["UK"]', '{}')`
  await client.query(text, [account.id])
  const declaring = account.post(schemaPath, {})
  await sleep(100)
  await client.query('commit')
  await client.end()
  t.match(await declaring, { status: 409, body: { type: 'schema-in-use' } })
})

t.test('price lists hold the letters and columns that they name; appending goes on', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  await aList(account, {
    margin_formula: '= Price - D',
    product_filters: { color: ['red'], country: ['UK'] },
  })
  for (const [rule, schema] of changes) {
    const { status, body } = await account.post(schemaPath, schema)
    t.strictSame([status, body.type], [409, 'schema-in-use'], rule)
  }
  const append = { ...smallSchema, extensions: [...extensions, string('channel')] }
  t.equal((await account.post(schemaPath, append)).status, 201)
})

t.test('hostile names are names: kept as sent, told apart, and usable', async (t) => {
  const account = await service.newAccount(t)
  const names = [...hostileTexts, astral(255)]
  const { status, body } = await account.post(schemaPath, { attributes: names.map(string) })
  t.equal(status, 201)
  t.strictSame(
    body.attributes.map(({ name }: { name: string }) => name),
    names,
  )
  const values = Object.fromEntries(names.map((name, index) => [name, `value ${index}`]))
  t.equal((await account.post(productsPath, [{ code: 'A', ...values }])).status, 200)
  const { extended_catalog_id: _, ...product } = (await account.get(catalogPath)).body.results[0]
  t.strictSame(product, { code: 'A', ...values, active: true })
})
