import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { renameColumn } from '../helpers/catalog.ts'
import { query } from '../helpers/database.ts'
import { expectAllFaults, type Faults } from '../helpers/faults.ts'
import {
  aMarket,
  anEntry,
  catalog,
  listPath,
  loadPath,
  schemaPath,
  uncommitted,
} from '../helpers/market.ts'
import { sharedService } from '../helpers/shared-service.ts'

const readPath = '/api/v1/competitor_prices/schema/'
const catalogPath = '/api/v1/product_catalog/schema/create_schema/'
const service = await sharedService()
const today = () => new Date().toISOString().slice(0, 10)

t.test('answers the names in the order given, no entries and the day it was made', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const names = ['size', 'code', 'brand']
  const before = today()
  const { status, body } = await market.post(schemaPath, { attributes_config: names })
  t.equal(status, 201)
  t.strictSame(body.input, { dimensions: names })
  t.equal(body.output.total, 0)
  t.ok([before, today()].includes(body.output.latest_update))
})

t.test('a schema that replaces another was made on its own day', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  await query(service.url, `update competitor_schemas set created_at = '2020-02-29T23:59:59Z'`)
  t.equal((await market.get(readPath)).body.output.latest_update, '2020-02-29')
  const before = today()
  const { body } = await market.post(schemaPath, { attributes_config: ['size'] })
  t.ok([before, today()].includes(body.output.latest_update))
})

t.test('the same schema sent again was made when it was made first', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  await query(service.url, `update competitor_schemas set created_at = '2020-02-29T23:59:59Z'`)
  const { body } = await market.post(schemaPath, { attributes_config: ['code'] })
  t.equal(body.output.latest_update, '2020-02-29')
})

t.test(
  'a schema waits for a change of the columns and is checked against the new ones',
  async (t) => {
    const market = await aMarket(t, service, { attributes_config: ['code'] })
    const commit = await renameColumn(service.url, market.id, 'brand')
    const making = market.post(schemaPath, { attributes_config: ['brand'] })
    await sleep(100)
    await commit()
    expectAllFaults(t, await making, [['/attributes_config/0', 'unknown_column']])
  },
)

t.test('another schema waits for a load under the present one, and is a conflict', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const commit = await uncommitted(
    service.url,
    market.id,
    'select from competitor_schemas where account_id = $1 for key share',
    `insert into competitor_prices
      (account_id, hash, code, dimensions, competitor_name, competitor_price, latest_update)
      values ($1, '\\x00', 'A', '{A}', 'Rival', 1, now())`,
  )
  const making = market.post(schemaPath, { attributes_config: ['size'] })
  await sleep(100)
  await commit()
  t.match(await making, { status: 409, body: { type: 'schema-in-use' } })
})

t.test('code alone needs no catalog', async (t) => {
  const account = await service.newAccount(t)
  t.equal((await account.post(schemaPath, { attributes_config: ['code'] })).status, 201)
})

t.test('code, 100 attributes and 30 extensions together identify an entry', async (t) => {
  const account = await service.newAccount(t)
  const columns = (kind: string, length: number) =>
    Array.from({ length }, (_, index) => ({ name: `${kind}${index}`, type: 'string' }))
  const [attributes, extensions] = [columns('a', 100), columns('e', 30)]
  await account.post(catalogPath, { attributes, extensions })
  const names = ['code', ...[...attributes, ...extensions].map(({ name }) => name)]
  t.equal((await account.post(schemaPath, { attributes_config: names })).status, 201)
  const entry = anEntry(Object.fromEntries(names.map((name) => [name, `of ${name}`])))
  t.equal((await account.post(loadPath, [entry])).status, 201)
  t.match((await account.get(listPath)).body.results, [entry])
})

t.test('attributes and extensions need no code', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['brand', 'since'] })
  t.strictSame((await market.get(readPath)).body.input, { dimensions: ['brand', 'since'] })
})

t.test('the same schema again changes nothing, with and without entries', async (t) => {
  const schema = { attributes_config: ['code', 'size'], is_dated: true }
  const market = await aMarket(t, service, schema)
  t.equal((await market.post(schemaPath, schema)).status, 201)
  await market.post(loadPath, [anEntry({ size: '1', latest_update: '2026-03-01T23:30:00-02:00' })])
  const { status, body } = await market.post(schemaPath, schema)
  t.equal(status, 201)
  t.strictSame(body, {
    input: { dimensions: ['code', 'size'] },
    output: { total: 1, latest_update: '2026-03-02' },
  })
})

t.test('another schema replaces the present one while there are no entries', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  await market.post(schemaPath, { attributes_config: ['brand'], is_dated: true })
  const { body } = await market.get(readPath)
  t.strictSame(body.input, { dimensions: ['brand'] })
  t.equal(body.is_dated, true)
})

t.test('the same columns with or without days are another schema', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const dated = anEntry({ departure_date: '2026-07-01' })
  for (const is_dated of [true, false, true]) {
    await market.post(schemaPath, { attributes_config: ['code'], is_dated })
    t.equal((await market.get(readPath)).body.is_dated, is_dated)
    if (!is_dated) t.equal((await market.post(loadPath, [dated])).status, 400)
  }
  t.equal((await market.post(loadPath, [dated])).status, 201)
})

t.test('another schema is a conflict once there are entries, and changes nothing', async (t) => {
  const present = { attributes_config: ['code', 'brand'] }
  const market = await aMarket(t, service, present)
  await market.post(loadPath, [anEntry({ brand: 'B' })])
  const before = (await market.get(readPath)).body
  const others = [
    { attributes_config: ['brand', 'code'] },
    { attributes_config: ['code'] },
    { attributes_config: ['code', 'brand', 'size'] },
    { ...present, is_dated: true },
  ]
  for (const other of others) {
    const { status, body } = await market.post(schemaPath, other)
    t.equal(status, 409)
    t.equal(body.type, 'schema-in-use')
  }
  t.strictSame((await market.get(readPath)).body, before)
})

t.test('a later catalog leaves the schema and its entries as they are', async (t) => {
  const schema = { attributes_config: ['code', 'size'] }
  const market = await aMarket(t, service, schema)
  await market.post(loadPath, [anEntry({ size: '42' })])
  const { status } = await market.post(catalogPath, {
    ...catalog,
    extensions: [...catalog.extensions, { name: 'other', type: 'date' }],
  })
  t.equal(status, 201)
  t.match((await market.get(listPath)).body, { count: 1, results: [{ code: 'A', size: '42' }] })
  const again = await market.post(loadPath, [anEntry({ size: '42', competitor_price: 3 })])
  t.equal(again.body.updated.length, 1)
  t.equal((await market.post(schemaPath, schema)).status, 201)
})

t.test('sent again without entries, it takes the types of the present catalog', async (t) => {
  const schema = { attributes_config: ['size'] }
  const market = await aMarket(t, service, schema)
  const retyped = { ...catalog, extensions: [{ name: 'size', type: 'string' }] }
  t.equal((await market.post(catalogPath, retyped)).body.type, 'schema-in-use')
  await market.post(schemaPath, { attributes_config: ['code'] })
  t.equal((await market.post(catalogPath, retyped)).status, 201)
  await market.post(schemaPath, schema)
  const entry = { size: 'large', competitor_name: 'Rival', competitor_price: 1 }
  t.equal((await market.post(loadPath, [entry])).status, 201)
})

t.test('concurrent schemas: one after the other, and one of them holds', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['organic'] })
  const names = ['code', 'brand', 'size', 'weight', 'since']
  const answers = await Promise.all(
    names.map((name) => market.post(schemaPath, { attributes_config: [name] })),
  )
  t.strictSame(
    answers.map(({ status }) => status),
    names.map(() => 201),
  )
  const { dimensions } = (await market.get(readPath)).body.input
  t.ok(names.includes(dimensions.join()))
})

t.test('bad schemas are refused with every fault, and the present one stays', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const before = (await market.get(readPath)).body
  const bad: [body: unknown, faults: Faults][] = [
    [{}, [['/attributes_config', 'required']]],
    [{ attributes_config: [] }, [['/attributes_config', 'length']]],
    [{ attributes_config: null }, [['/attributes_config', 'type']]],
    [{ attributes_config: 'code' }, [['/attributes_config', 'type']]],
    [{ attributes_config: { 0: 'code' } }, [['/attributes_config', 'type']]],
    [{ attributes_config: ['code', 'code'] }, [['/attributes_config', 'not_allowed']]],
    [{ attributes_config: ['code', 5] }, [['/attributes_config/1', 'type']]],
    [{ attributes_config: ['code', null] }, [['/attributes_config/1', 'type']]],
    [{ attributes_config: [''] }, [['/attributes_config/0', 'length']]],
    [{ attributes_config: ['x'.repeat(256)] }, [['/attributes_config/0', 'length']]],
    [
      { attributes_config: Array.from({ length: 132 }, (_, index) => `c${index}`) },
      [['/attributes_config', 'length']],
    ],
    [{ attributes_config: ['freight'] }, [['/attributes_config/0', 'unknown_column']]],
    [{ attributes_config: ['competitor_name'] }, [['/attributes_config/0', 'unknown_column']]],
    [
      {
        attributes_config: ['Brand', 'code', 'constructor', '__proto__', "'; drop table accounts"],
      },
      [0, 2, 3, 4].map((index) => [`/attributes_config/${index}`, 'unknown_column']),
    ],
    [{ attributes_config: ['code'], is_dated: 'true' }, [['/is_dated', 'type']]],
    [{ attributes_config: ['code'], is_dated: 1 }, [['/is_dated', 'type']]],
    [{ attributes_config: ['code'], is_dated: null }, [['/is_dated', 'type']]],
    [{ attributes_config: ['code'], dated: true }, [['/dated', 'unknown_key']]],
    [[], [['', 'type']]],
    ['null', [['', 'type']]],
  ]
  for (const [body, faults] of bad) expectAllFaults(t, await market.post(schemaPath, body), faults)
  t.strictSame((await market.get(readPath)).body, before)
})
