import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { CopyingClient } from '../../src/database/copy.ts'
import { hasRows } from '../../src/database/planner.ts'
import { openDatabase } from '../../src/database/pool.ts'
import { inAccount } from '../../src/database/tenant-transaction.ts'
import { archiveRemovedChunk } from '../../src/price-lists/publication.ts'
import { findPriceList } from '../../src/price-lists/queries.ts'
import type { TestResponse } from '../helpers/conformant.ts'
import { openReadingDatabase } from '../helpers/reading.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import {
  lastingPlanOf,
  openPlanner,
  type PlanNode,
  planOf,
  type Statement,
  statementsOf,
} from '../helpers/statements.ts'

/** Tables that grow with the business: a statement that reads one of them whole gets slower with every row. */
const largeTables = new Set([
  'sales',
  'products',
  'product_attributes',
  'price_list_rows',
  'calendar_months',
  'competitor_prices',
  'agreements',
])

// Reads that may have more are counted, which shows how their rows are matched.
const service = await startTestService(t, { READ_ROWS_MAX: '1500' })
const planner = await openPlanner(service.url)
t.teardown(() => planner.end())
const shop = await aLargeShop()
const listId = await idOf(
  `select id from price_lists where name = 'L3' and account_id = ${shop.id}`,
)
const calendarId = await idOf(
  `select id from price_lists where name = 'C' and account_id = ${shop.id}`,
)
const agreementId = await idOf(
  `select id from agreements where account_id = ${shop.id} order by id offset 9999 limit 1`,
)

async function idOf(text: string): Promise<number> {
  return Number((await select(service.url, text))[0].id)
}

/** Two accounts with 20,000 rows in every large table; ten lists. */
async function aLargeShop(): Promise<TestAccount> {
  const shops = [await service.newAccount(t), await service.newAccount(t)] as const
  for (const { id, post } of shops) {
    await post('/api/v1/product_catalog/schema/create_schema/', {
      attributes: [{ name: 'brand', type: 'string' }],
      extensions: [{ name: 'country', type: 'string' }],
      costs: [{ name: 'purchase' }],
    })
    await post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config: ['code'] })
    const period = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
    const lists = Array.from({ length: 10 }, (_, index) => ({ name: `L${index}`, ...period }))
    const calendar = { name: 'C', is_calendar: true, ...period }
    await post('/api/v1/price_list/bulk_create/', [...lists, calendar])
    for (const text of fillStatements(id)) await select(service.url, text)
  }
  for (const table of largeTables) await select(service.url, `vacuum analyze ${table}`)
  return shops[0]
}

function fillStatements(account: number): string[] {
  const range = 'generate_series(1, 20000) i'
  return [
    `insert into products (account_id, code, extensions, extension_key, costs, active)
     select ${account}, 'P' || i / 2, array['X' || i % 2], '["X' || i % 2 || '"]', '{1}', true from ${range}`,
    `insert into product_attributes select ${account}, 'P' || i, array['B' || i % 100] from ${range} where i <= 10000`,
    `update price_lists set version = 1, published_at = now() where account_id = ${account}`,
    `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select ${account}, l.id, p.id, p.code, p.extensions, p.extension_key, '{1}', 1
     from products p join price_lists l using (account_id)
     where account_id = ${account} and p.id % 10 = l.id % 10`,
    `insert into calendar_months select ${account}, r.price_list_id, r.id, 1, m::date, array_fill(1, array[31])
     from price_list_rows r join price_lists l on l.id = r.price_list_id,
       generate_series('2026-01-01'::timestamp, '2026-12-01', '1 month') m
     where l.is_calendar and l.account_id = ${account}`,
    `insert into sales (account_id, transaction_id, code, extension, quantity, revenue, transaction_date, client_code)
     select ${account}, 'T' || i, 'P' || i / 2, 'X', 1, 1, '2020-01-01'::timestamptz + i * interval '1 hour',
       repeat('c', 50)
     from ${range}`,
    `insert into competitor_prices (account_id, hash, code, dimensions, competitor_name, competitor_price, latest_update)
     select ${account}, sha256(i::text::bytea), 'P' || i, array['P' || i], 'Rival ' || i % 100, 1, now() from ${range}`,
    `insert into agreements (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
     select ${account}, sha256(i::text::bytea), 'A' || i % 500, 'C' || i % 500, 'L' || i % 500,
       jsonb_build_object('product_code', 'P' || i), '{"price": 1}' from ${range}`,
  ]
}

/** What the plans of some statements do that takes longer with every row of the account. */
async function faultsOf(
  statements: Statement[],
  nodesOf = (statement: Statement) => planOf(planner, shop.id, statement),
): Promise<string[]> {
  const faults: string[] = []
  for (const statement of statements) {
    for (const node of await nodesOf(statement)) {
      const fault = faultOf(node)
      if (fault) faults.push(`${fault}: ${statement.text.replace(/\s+/g, ' ')}`)
    }
  }
  return faults
}

/** To walk all of an account through an index and drop most of it is no better than a sequential scan. */
function faultOf(node: PlanNode): string | undefined {
  const table = node['Relation Name'] ?? ''
  if (!largeTables.has(table)) return undefined
  if (node['Node Type'] === 'Seq Scan') return `sequential scan of ${table}`
  const isByAccount = columnsOf(node['Index Cond']).every((column) => column === 'account_id')
  const dropped = columnsOf(node.Filter).filter((column) => column !== 'account_id')
  if (isByAccount && dropped.length > 0 && node['Index Name'])
    return `${node['Index Name']} read whole for ${dropped}`
  return undefined
}

/** The columns that a condition compares. */
function columnsOf(condition = ''): string[] {
  return [...condition.matchAll(/\(+(?:\w+\.)?(\w+) (?:=|<|>|<=|>=|IS)(?= )/g)].map(
    ([, column = '']) => column,
  )
}

const list = { price_list_name: 'L3' }
const calendar = { price_list_name: 'C' }
const sale = { code: 'P7', extension: 'X1', quantity: '1', revenue: '1' }
const lasting = (statement: Statement) => lastingPlanOf(planner, statement)
const reads = [
  ...['', '&code=P77', '&code_prefix=P77'].map(
    (filter) => `/api/v1/product_catalog/?limit=5${filter}`,
  ),
  ...['', '&name=L3'].map((filter) => `/api/v1/price_list/?limit=5${filter}`),
  `/api/v1/price_list/${listId}`,
  ...['', '&version=draft', '&offset=1000'].map(
    (filter) => `/api/v1/price_list/${listId}/rows?limit=5${filter}`,
  ),
  `/api/v1/price_list/${calendarId}/rows?limit=5&date=2026-05-05`,
  ...['', '&code=P77', '&transaction_id=T77', '&from=2022-01-01', '&to=2020-02-01'].map(
    (filter) => `/api/v1/sales_history/?limit=5${filter}`,
  ),
  '/api/v1/sales_history/?limit=5&from=2020-02-01&to=2020-02-02',
  '/api/v1/sales_history/?limit=5&code=P77&from=2020-01-01&to=2022-01-01',
  ...['', '&code=P77', '&competitor_name=Rival 7', '&code=P7&competitor_name=Rival 7'].map(
    (filter) => `/api/v1/competitor_prices/?limit=5${filter}`,
  ),
  '/api/v1/competitor_prices/schema/',
  ...['', '&client_code=C7', '&price_list_code=L7', '&name=A7', '&name=A7&client_code=C7'].map(
    (filter) => `/api/v1/agreement/?limit=5${filter}`,
  ),
  `/api/v1/agreement/${agreementId}`,
]

for (const path of reads) {
  t.test(`GET ${path} uses an index`, async (t) => {
    const statements = await statementsOf(async () => {
      t.equal((await shop.get(path)).status, 200)
    })
    t.not(statements.length, 0)
    t.strictSame(await faultsOf(statements), [])
    t.strictSame(await faultsOf(statements, lasting), [], 'also after many other requests')
  })
}

const pages = [
  '/api/v1/product_catalog/?offset=9000',
  `/api/v1/price_list/${listId}/rows?offset=1000`,
  `/api/v1/price_list/${calendarId}/rows?offset=1000&date=2026-05-05`,
  '/api/v1/sales_history/?offset=9000',
  '/api/v1/sales_history/?offset=9000&from=2020-02-01&to=2022-02-01',
  '/api/v1/competitor_prices/?offset=9000',
]

for (const path of pages) {
  t.test(`GET ${path} reads no more than the ids of what it passes over`, async (t) => {
    const statements = await statementsOf(async () => {
      t.equal((await shop.get(path)).status, 200)
    })
    const plans = statements.map((statement) => planOf(planner, shop.id, statement))
    const nodes = (await Promise.all(plans)).flat()
    const passedOver = nodes.filter((node) => node['Node Type'] === 'Limit')
    t.equal(passedOver.length, 1)
    for (const column of passedOver[0]?.Output ?? ['none'])
      t.match(column, /^\(*(\w+\.)?id( \+ 0)?\)*$/, 'an id')
  })
}

/** Keys of rows that are in the list L3 or C. */
const keysOf = (id: number, most = 50) =>
  select(
    service.url,
    'select code, extensions[1] as country from price_list_rows where price_list_id = $1 limit $2',
    [id, most],
  )
const listKeys = await keysOf(listId)
const countryKeys = listKeys.filter(({ country }) => country === listKeys[0]?.country)
const calendarKeys = await keysOf(calendarId)
const days = calendarKeys.map((key) => ({ ...key, date: '2026-05-05' }))
const someDays = days.map((key, index) => (index % 2 ? key : { ...key, date: '2026-06-06' }))
const priced = (rows: object[]) => rows.map((row) => ({ ...row, price: 2 }))
const codes = Array.from({ length: 50 }, (_, index) => `P${index + 100}`)

const calls: [name: string, path: string, body: unknown, method?: string][] = [
  ['get_prices by key', '/api/v1/prices/get_prices/', { ...list, payload: listKeys }],
  ['get_prices in a country', '/api/v1/prices/get_prices/', { ...list, payload: countryKeys }],
  ['get_prices by code', '/api/v1/prices/get_prices/', { ...list, payload: [{ code: 'P77' }] }],
  [
    'get_prices by attribute',
    '/api/v1/prices/get_prices/',
    { ...list, payload: [{ attributes: { brand: 'B7' } }], include: ['margin'] },
  ],
  ['get_prices of a day', '/api/v1/prices/get_prices/', { ...calendar, payload: days }],
  ['get_prices of days', '/api/v1/prices/get_prices/', { ...calendar, payload: someDays }],
  [
    'bulk_update_prices',
    '/api/v1/prices/bulk_update_prices/',
    { ...list, payload: priced(listKeys) },
  ],
  [
    'bulk_update_prices of a calendar',
    '/api/v1/prices/bulk_update_prices/',
    { ...calendar, payload: priced(days) },
  ],
  [
    'bulk_update_dynamic_attributes',
    '/api/v1/prices/bulk_update_dynamic_attributes/',
    {
      ...list,
      payload: listKeys.map((key) => ({
        ...key,
        dynamic_attribute_name: 'a',
        dynamic_attribute_value: 1,
      })),
    },
  ],
  [
    'bulk_add_products',
    '/api/v1/prices/bulk_add_products/',
    { price_list_name: 'L5', payload: listKeys },
  ],
  [
    'catalog upsert',
    '/api/v1/product_catalog/bulk_create_or_update/',
    codes.map((code) => ({ code, country: 'X1', brand: 'B1', purchase: 2 })),
  ],
  [
    'sales upsert',
    '/api/v1/sales_history/bulk_create_or_update',
    codes.map((code) => ({ ...sale, transaction_id: `T${code}` })),
  ],
  [
    'competitor prices upsert',
    '/api/v1/competitor_prices/bulk_create_or_update/',
    codes.map((code) => ({ code, competitor_name: 'Rival', competitor_price: 2 })),
  ],
  [
    'agreements upsert',
    '/api/v1/agreement/bulk_create_or_update',
    codes.map((code) => ({
      name: 'N',
      client_code: 'C',
      price_list_code: 'L3',
      price_line: { product_code: code },
      prices: { price: 2 },
    })),
  ],
  [
    'get_prices by key as of a revision',
    '/api/v1/prices/get_prices/',
    { ...list, payload: listKeys, as_of: 2 },
  ],
  [
    'get_prices by code as of a revision',
    '/api/v1/prices/get_prices/',
    { ...list, payload: [{ code: 'P77' }, { code: 'P78' }], as_of: 2 },
  ],
  [
    'get_prices of a day as of a revision',
    '/api/v1/prices/get_prices/',
    { ...calendar, payload: days, as_of: 2 },
  ],
  [
    'get_prices with the lowest price',
    '/api/v1/prices/get_prices/',
    { ...list, payload: listKeys, include: ['lowest_price'] },
  ],
  ['agreement update', `/api/v1/agreement/${agreementId}`, { prices: { price: 3 } }, 'PATCH'],
]

for (const [name, path, body, method = 'POST'] of calls) {
  t.test(`${name} uses an index`, async (t) => {
    const statements = await statementsOf(async () => {
      const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
      const response = await shop.send(method, path, body, headers)
      t.ok(response.status < 300, JSON.stringify(response.body).slice(0, 300))
    })
    t.not(statements.length, 0)
    t.strictSame(await faultsOf(statements), [])
  })
}

for (const asOf of [{}, { as_of: 2 }]) {
  t.test(`get_prices by code looks up the codes only: ${JSON.stringify(asOf)}`, async (t) => {
    for (const payload of [listKeys, [{ code: 'P77' }, { code: 'P78' }]]) {
      const statements = await statementsOf(async () => {
        const body = { ...list, ...asOf, payload }
        t.equal((await shop.post('/api/v1/prices/get_prices/', body)).status, 201)
      })
      const plans = await Promise.all(statements.map((one) => planOf(planner, shop.id, one)))
      const nodes = plans.flat().filter((node) => node['Relation Name'] === 'price_list_rows')
      t.not(nodes.length, 0)
      for (const node of nodes) t.ok(columnsOf(node['Index Cond']).includes('code'))
    }
  })
}

t.test('bulk_add_products by a job uses an index', async (t) => {
  const payload = await select(
    service.url,
    `select code, extensions[1] as country from products where account_id = ${shop.id} order by id limit 200`,
  )
  const statements = await statementsOf(async () => {
    const body = { price_list_name: 'L5', payload }
    const job = await shop.post('/api/v1/prices/bulk_add_products/', body)
    t.equal((await shop.finished(job.body)).status, 'done')
  })
  t.strictSame(await faultsOf(statements), [])
})

t.test('many rows of get_prices are not compared with each row of the list', async (t) => {
  const brands = Array.from({ length: 20 }, (_, index) => ({ brand: `B${index}` }))
  const countries = Array.from({ length: 20 }, (_, index) => ({ country: `Y${index}` }))
  const both = brands.map((row, index) => ({ ...row, ...countries[index] }))
  for (const payload of [brands, countries, both, [...brands, ...countries, ...both]]) {
    const statements = await statementsOf(async () => {
      const response = await shop.post('/api/v1/prices/get_prices/', { ...list, payload })
      t.equal(response.status, 201)
    })
    const plans = statements.map((statement) => planOf(planner, shop.id, statement))
    const conditions = (await Promise.all(plans)).flat().map((node) => node['Join Filter'] ?? '')
    t.notMatch(conditions.join(), /IS NULL|SubPlan/)
  }
})

t.test('whether there are rows is found by an index', async (t) => {
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  // The connection asks its server a question of its own when it is new.
  await inAccount(db, shop.id, (trx) => hasRows(trx, 'products', shop.id))
  const statements = await statementsOf(() =>
    inAccount(db, shop.id, async (trx) => {
      t.ok(await hasRows(trx, 'products', shop.id))
      t.ok(await hasRows(trx, 'competitor_prices', shop.id))
      t.notOk(await hasRows(trx, 'products', 0))
    }),
  )
  t.equal(statements.length, 3)
  t.strictSame(await faultsOf(statements), [])
})

t.test('rows that were removed are deleted without comparing each with all', async (t) => {
  const db = openDatabase(service.url, {
    name: 'test',
    connectionsMax: 1,
    client: CopyingClient,
    onError: () => undefined,
    acquireTimeoutMs: 2000,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 1000,
  })
  t.teardown(() => db.destroy())
  const remove = 'update price_list_rows set removed_version = 1 where price_list_id'
  await select(service.url, `${remove} = ${listId}`)
  const statements = await statementsOf(() =>
    inAccount(db, shop.id, async (trx) => {
      const list = await findPriceList(trx, shop.id, { id: listId })
      t.ok(await archiveRemovedChunk(trx, list, 1))
    }),
  )
  const deletion = statements.filter(({ text }) => /^\s*with gone/.test(text))
  t.equal(deletion.length, 1)
  for (const node of await planOf(planner, shop.id, deletion[0] as Statement))
    t.notMatch(node.Filter ?? '', 'InitPlan')
})

t.test('a list that the statistics do not know yet is read in one walk', async (t) => {
  await select(service.url, 'alter table price_list_rows set (autovacuum_enabled = off)')
  await shop.post('/api/v1/price_list/bulk_create/', [
    { name: 'fresh', valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  await select(
    service.url,
    `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select ${shop.id}, l.id, p.id, p.code, p.extensions, p.extension_key, '{1}', 1
     from products p join price_lists l using (account_id) where l.name = 'fresh'`,
  )
  await select(service.url, `update price_lists set version = 1 where name = 'fresh'`)
  const fresh = { price_list_name: 'fresh' }
  const keys = Array.from({ length: 200 }, (_, index) => ({ code: `P${index}`, country: 'X1' }))
  const calls: [path: string, payload: object[]][] = [
    ['get_prices', [{ code: 'P7', country: 'X1' }]],
    ['get_prices', keys],
    ['get_prices', [...keys, { code: 'P7', country: 'X0' }]],
    ['get_prices', keys.map(({ code }) => ({ code }))],
    ['get_prices', [{ brand: 'B7' }]],
    ['bulk_update_prices', priced(keys)],
    ['bulk_add_products', keys.slice(0, 100)],
    ['bulk_add_products', keys],
  ]
  for (const [path, payload] of calls) {
    const statements = await statementsOf(async () => {
      const { status, body } = await shop.post(`/api/v1/prices/${path}/`, { ...fresh, payload })
      t.equal(status, 201)
      if (body.id) await shop.finished(body)
    })
    const plans = statements.map((statement) => planOf(planner, shop.id, statement))
    const filters = (await Promise.all(plans)).flat().map((node) => node['Join Filter'] ?? '')
    t.notMatch(
      filters.join(),
      /code/,
      `${path} of ${payload.length} compares keys by an index or a hash`,
    )
  }
})

const loads: [table: string, path: string, row: (index: number) => object][] = [
  [
    'sales',
    '/api/v1/sales_history/bulk_create_or_update',
    (index) => ({ ...sale, transaction_id: `N${index}` }),
  ],
  [
    'competitor_prices',
    '/api/v1/competitor_prices/bulk_create_or_update/',
    (index) => ({ code: `N${index}`, competitor_name: 'Rival', competitor_price: 2 }),
  ],
  [
    'agreements',
    '/api/v1/agreement/bulk_create_or_update',
    (index) => ({
      name: `N${index}`,
      client_code: 'C',
      price_list_code: 'L3',
      price_line: { product_code: 'P' },
      prices: { price: 2 },
    }),
  ],
]

const [json, ndjson] = ['application/json', 'application/x-ndjson']
/** A large call of each format, and small ones. */
const calledWith: [type: string, rowsOfCalls: number[]][] = [
  [json, [2500]],
  [ndjson, [2500]],
  [json, [400, 400]],
]

for (const [table, path, row] of loads)
  for (const [type, rowsOfCalls] of calledWith)
    t.test(
      `the planner knows the ${table} of calls with ${rowsOfCalls} rows as ${type}`,
      async (t) => {
        const other = await service.newAccount(t)
        const schema = { attributes_config: ['code'] }
        await other.post('/api/v1/competitor_prices/schema/create_schema/', schema)
        // An automatic one would hold up that of the call, which then does without.
        await select(service.url, `alter table ${table} set (autovacuum_enabled = off)`)
        await select(service.url, `analyze ${table}`)
        for (const [call, length] of rowsOfCalls.entries()) {
          const rows = Array.from({ length }, (_, index) => row(call * length + index))
          const body = type === json ? rows : rows.map((one) => `${JSON.stringify(one)}\n`).join('')
          const answer = await other.send('POST', path, body, { 'content-type': type })
          t.ok(answer.status < 300, JSON.stringify(answer.body).slice(0, 300))
        }
        const [found] = await select(
          service.url,
          `select ${other.id} = any(most_common_vals::text::bigint[]) as is_known
         from pg_stats where tablename = '${table}' and attname = 'account_id'`,
        )
        t.strictSame(found, { is_known: true })
      },
    )

const largeList = { name: 'large', valid_from: '2026-01-01', valid_to: '2026-12-31' }

t.test('the planner knows an account that adds a list as large as many others', async (t) => {
  const other = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const lists = Array.from({ length: 40 }, (_, index) => ({ ...largeList, name: `L${index}` }))
  await other.post('/api/v1/price_list/bulk_create/', lists)
  await select(
    service.url,
    `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select l.account_id, l.id, p.id, 'A' || i, extensions, extension_key, '{}', 1
     from price_lists l join products p using (account_id), generate_series(1, 2500) i where l.account_id = ${other.id}`,
  )
  // As many values as a load's analysis keeps.
  await select(service.url, 'set default_statistics_target = 30; analyze price_list_rows')
  const codes = Array.from({ length: 2500 }, (_, index) => `N${index}`)
  const added = await aShop(t, service, { codes, countries: ['UK'] })
  await added.post('/api/v1/price_list/bulk_create/', [{ ...largeList, name: 'new' }])
  const payload = codes.map((code) => ({ code, country: 'UK' }))
  const call = { price_list_name: 'new', payload }
  const job = await added.post('/api/v1/prices/bulk_add_products/', call)
  t.equal((await added.finished(job.body)).status, 'done')
  const isKnown = async () => {
    const [found] = await select(
      service.url,
      `select ${added.id} = any(most_common_vals::text::bigint[]) as is_known
       from pg_stats where tablename = 'price_list_rows' and attname = 'account_id'`,
    )
    return found?.is_known
  }
  // Lists of up to 10,000 rows are analyzed after their job.
  const deadline = Date.now() + 10_000
  while (!(await isKnown()) && Date.now() < deadline) await sleep(50)
  t.equal(await isKnown(), true)
})

t.test('the planner knows a large list as soon as it is published', async (t) => {
  const { body } = await shop.post('/api/v1/price_list/bulk_create/', [largeList])
  const sync = () => shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'large' })
  await isKnownWhenPublished(t, body[0].id, sync)
})

t.test('the planner knows a large list as soon as a plan is applied', async (t) => {
  const list = { ...largeList, name: 'planned' }
  const { body } = await shop.post('/api/v1/price_list/bulk_create/', [list])
  const planning = await shop.post('/api/v1/prices/sync_with_catalog/?plan=true', {
    price_list_name: 'planned',
  })
  const { plan_id = planning.body.id } =
    planning.status === 202 ? (await shop.finished(planning.body)).result : {}
  const apply = () => shop.post(`/api/v1/plans/${plan_id}/apply/`, {})
  await isKnownWhenPublished(t, body[0].id, apply)
})

/** Begins a job that fills a list, and expects the planner to know the rows when they can be read. */
async function isKnownWhenPublished(
  t: Test,
  id: number,
  begin: () => Promise<TestResponse>,
): Promise<void> {
  await select(service.url, 'analyze price_list_rows')
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  t.teardown(() => client.end())
  const job = await begin()
  const found = `
    select version, $1 = any(most_common_vals::text::bigint[]) as is_known
    from price_lists, pg_stats where id = $1 and tablename = 'price_list_rows' and attname = 'price_list_id'`
  const read = async () => (await client.query(found, [id])).rows[0]
  let seen = await read()
  while (seen.version === 0) seen = await read()
  t.strictSame(seen, { version: 1, is_known: true })
  t.equal((await shop.finished(job.body)).status, 'done')
}

t.test(
  'what is applied or undone after many changes is not compared with each of them',
  async (t) => {
    for (const table of ['plan_rows', 'removed_rows', 'list_changes'])
      await select(service.url, `alter table ${table} set (autovacuum_enabled = off)`)
    const large = { price_list_name: 'large' }
    const [{ id }] = await select(service.url, `select id from price_lists where name = 'large'`)
    const some = await keysOf(id, 2500)
    const update = (price: number, query = '') =>
      shop.post(`/api/v1/prices/bulk_update_prices/${query}`, {
        ...large,
        payload: some.map((key) => ({ ...key, price })),
      })
    const plan = await update(3, '?plan=true')
    await update(4)
    const applied = await statementsOf(async () => {
      const answer = await shop.post(`/api/v1/plans/${plan.body.id}/apply/`, { skip: ['stale'] })
      t.equal(answer.headers['skipped-rows'], '2500')
    })
    const removal = { ...large, payload: some }
    await shop.finished((await shop.post('/api/v1/prices/bulk_remove_products/', removal)).body)
    await shop.finished((await shop.post('/api/v1/prices/sync_with_catalog/', large)).body)
    const undone = await statementsOf(async () => {
      const { body } = await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision: 2 })
      t.equal((await shop.finished(body)).status, 'done')
    })
    const filling = /^\s*create temporary table (left_out|undone_cells)/
    const statements = [...applied, ...undone].filter(({ text }) => filling.test(text))
    t.not(statements.length, 0)
    for (const statement of statements)
      for (const node of await planOf(planner, shop.id, statement)) {
        t.notMatch(node['Join Filter'] ?? '', 'row_id')
        if (node['Relation Name'] === 'removed_rows') t.notMatch(node.Filter ?? '', 'row_id')
      }
  },
)
