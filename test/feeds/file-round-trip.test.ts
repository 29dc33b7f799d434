import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { hostileTexts } from '../helpers/hostile.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const texts = [
  ...hostileTexts,
  '=1+1',
  '+x',
  '-x',
  '-5',
  '@SUM(A1)',
  "'=x",
  "''-x",
  "'",
  '\t=1',
  '\r=1',
  '"',
  '""',
  '1e5',
  'TRUE',
  '007',
  '[1]',
  '{"a":1}',
  'ελληνικά',
  '日本語',
  'עברית',
]

/** What is loaded and read under these paths; `key` is what a new account gives anew. */
interface Resource {
  load: string
  read: string
  rows: object[]
}

const schema = {
  attributes: [
    { name: 'about, "it"', type: 'string' },
    { name: 'rank', type: 'integer' },
  ],
  extensions: [
    { name: '=size', type: 'string' },
    { name: 'kept', type: 'boolean' },
    { name: 'since', type: 'date' },
  ],
  costs: [{ name: 'cost' }],
}
const product = { kept: true, since: '2024-02-29' }

const resources: Record<string, Resource> = {
  products: {
    load: '/api/v1/product_catalog/bulk_create_or_update/',
    read: '/api/v1/product_catalog/',
    rows: texts.flatMap((text, index) => [
      { ...product, code: text, '=size': text, 'about, "it"': text, rank: 2 ** 53 - 1 - index },
      { ...product, code: text, '=size': 'L', kept: false, cost: 999999999.999999, active: false },
    ]),
  },
  sales: {
    load: '/api/v1/sales_history/bulk_create_or_update',
    read: '/api/v1/sales_history/',
    rows: texts.map((text, index) => ({
      transaction_id: text,
      code: text,
      extension: index % 2 ? text : '',
      client_code: text,
      quantity: '-1.50',
      revenue: '999999999.999999',
      active_price: '0.000001',
      departure_date: '2026-11-27',
      transaction_date: '2026-11-27T08:26:00.123456Z',
    })),
  },
  'competitor prices': {
    load: '/api/v1/competitor_prices/bulk_create_or_update/',
    read: '/api/v1/competitor_prices/',
    rows: texts.map((text) => ({
      code: text,
      '=size': text,
      kept: 'true',
      rank: '-42',
      competitor_name: text,
      competitor_price: 123456789.012345,
      latest_update: '2026-11-20T08:26:00.123Z',
    })),
  },
  agreements: {
    load: '/api/v1/agreement/bulk_create_or_update',
    read: '/api/v1/agreement/',
    rows: texts.map((text) => ({
      name: text,
      client_code: text,
      price_list_code: text,
      price_line: { product_code: text, [text]: text, one: 1, yes: true, text: '1' },
      prices: { [text]: 0.000001, 'by day': { '2026-11-27': 999999999999999 } },
    })),
  },
  promotions: {
    load: '/api/v1/promotions/bulk_create_or_update/',
    read: '/api/v1/promotions/',
    rows: texts.map((text) => ({
      name: text,
      kind: 'amount',
      value: 0.5,
      valid_from: '2026-01-01',
      valid_to: '2026-01-02',
      product_filters: { code: [text], rank: [1] },
      price_dimensions: [text, 'x'],
    })),
  },
}

const types = ['text/csv', 'application/x-ndjson']

for (const [name, { load, read, rows }] of Object.entries(resources)) {
  for (const type of types) {
    t.test(`${name} exported as ${type} and loaded elsewhere are the same`, async (t) => {
      const [from, to] = [await anAccount(t), await anAccount(t)]
      const loaded = await from.post(load, rows)
      t.ok(loaded.status < 300, 'loaded', { body: loaded.body })
      const file = await from.send('GET', read, undefined, { accept: type })
      t.match(file.headers['content-type'], type)
      const { status, body } = await to.send('POST', load, file.body, { 'content-type': type })
      t.ok(status < 300, 'loaded again', { body })
      t.match(body, { rows: rows.length, created: rows.length, updated: 0 })
      t.strictSame(await stateOf(to, read), await stateOf(from, read))
      const again = await to.send('POST', load, file.body, { 'content-type': type })
      const counts = { rows: rows.length, created: 0, updated: rows.length }
      // Of products it is not known.
      const unchanged = name === 'products' ? {} : { unchanged: rows.length }
      t.strictSame(again.body, { ...counts, ...unchanged })
    })
  }
}

t.test('each line of a file has the same text as the row of a page', async (t) => {
  const account = await anAccount(t)
  for (const [name, { load, read, rows }] of Object.entries(resources)) {
    await account.post(load, rows)
    const file = await account.send('GET', read, undefined, { accept: 'application/x-ndjson' })
    const { results } = (await account.get(`${read}?limit=1000`)).body
    t.not(results.length, 0, name)
    const lines: string[] = file.body.trimEnd().split('\n')
    t.strictSame(
      lines.map((line) => JSON.parse(line)),
      results,
      name,
    )
  }
})

const filters: Record<string, [query: string, count: number][]> = {
  products: [
    ['code=007', 2],
    ['code_prefix=00', 2],
  ],
  sales: [
    ['code=007', 1],
    ['transaction_id=007', 1],
    ['from=2026-11-28', 0],
    ['to=2026-11-26', 0],
  ],
  'competitor prices': [
    ['code=007', 1],
    ['competitor_name=007', 1],
  ],
  agreements: [
    ['name=007', 1],
    ['client_code=007', 1],
    ['price_list_code=007', 1],
  ],
  promotions: [
    ['name=007', 1],
    ['valid_on=2026-01-03', 0],
  ],
}

t.test('a file has what the filters leave', async (t) => {
  const account = await anAccount(t)
  for (const [name, { load, read, rows }] of Object.entries(resources)) {
    await account.post(load, rows)
    for (const [query, count] of filters[name] ?? []) {
      const accept = { accept: 'application/x-ndjson' }
      const file = await account.send('GET', `${read}?${query}`, undefined, accept)
      const lines: string[] = file.body.split('\n').filter(Boolean)
      t.equal(lines.length, count, `${name}: ${query}`)
      const values = lines.flatMap((line) => Object.values(JSON.parse(line)))
      t.equal(values.includes('007'), count > 0)
    }
  }
})

t.test('a client that takes anything gets JSON', async (t) => {
  const account = await anAccount(t)
  for (const accept of ['*/*', 'text/csv;q=0.9, */*', 'text/csv;q=0.9, application/*']) {
    const { headers } = await account.send('GET', '/api/v1/agreement/', undefined, { accept })
    t.match(headers['content-type'], 'application/json;', accept)
  }
})

t.test('no cell of an exported CSV file is a formula', async (t) => {
  const account = await anAccount(t)
  for (const { load, read, rows } of Object.values(resources)) {
    await account.post(load, rows)
    const { body } = await account.send('GET', read, undefined, { accept: 'text/csv' })
    for (const cell of parse(body).flat() as string[])
      t.notMatch(cell, /^(?!-?[\d.]+$)[=+\-@\t\r\n]/, JSON.stringify(cell))
  }
})

t.test('the cell of an absent value is empty, whatever its column is called', async (t) => {
  const inherited = ['toString', 'hasOwnProperty', 'constructor', 'valueOf']
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [{ name: 'toString', type: 'string' }],
    costs: inherited.slice(1).map((name) => ({ name })),
  })
  await account.post('/api/v1/product_catalog/bulk_create_or_update/', [{ code: 'A' }])
  const file = await account.send('GET', '/api/v1/product_catalog/', undefined, {
    accept: 'text/csv',
  })
  const [row] = parse(file.body, { columns: true }) as Record<string, string>[]
  for (const name of inherited) t.equal(row?.[name], '', name)
})

async function anAccount(t: Test): Promise<TestAccount> {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', schema)
  await account.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code', '=size', 'kept', 'rank'],
  })
  return account
}

async function stateOf(account: TestAccount, path: string): Promise<string[]> {
  const { body } = await account.get(`${path}?limit=1000`)
  const withoutIds = body.results.map(
    ({ id, extended_catalog_id, ...row }: Record<string, unknown>) => JSON.stringify(row),
  )
  return withoutIds.sort()
}
