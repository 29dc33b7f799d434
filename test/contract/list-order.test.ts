import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'

const service = await sharedService()
const shop = await aShop(t, service, { codes: ['C', 'A', 'B'], countries: ['UK', 'FR'] })

/** One after the other: their ids are in this order. */
const upsert = async (path: string, rows: object[]) => {
  for (const row of rows) {
    const { status, body } = await shop.post(`/api/v1/${path}/bulk_create_or_update/`, [row])
    if (status >= 300) throw new Error(JSON.stringify(body))
  }
}
const year = { valid_to: '2026-12-31', kind: 'amount' }
await upsert('promotions', [
  { ...year, name: 'spring', value: 3, valid_from: '2026-03-01' },
  { ...year, name: 'Winter', value: 20, valid_from: '2026-01-01' },
  { ...year, name: 'Ärger', value: 20, valid_from: '2026-02-01', kind: 'percentage' },
])
const agreement = { price_list_code: 'L', prices: { price: 1 } }
await upsert('agreement', [
  { ...agreement, name: 'z', client_code: '2', price_line: { code: 'A' } },
  { ...agreement, name: 'y', client_code: '10', price_line: { product_code: 'B' } },
  { ...agreement, name: 'x', client_code: '10', price_line: { country: 'UK' } },
])
await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
  attributes_config: ['code', 'country'],
})
const entry = { country: 'UK', latest_update: '2026-11-01' }
await upsert('competitor_prices', [
  { ...entry, code: 'B', competitor_name: 'Rival', competitor_price: 10 },
  { ...entry, code: 'A', competitor_name: 'Rival', competitor_price: 9.5 },
  {
    ...entry,
    code: 'A',
    competitor_name: 'Other',
    competitor_price: 10,
    latest_update: '2026-11-02',
  },
])
const sale = { code: 'A', extension: 'UK', quantity: '1', price_list_name: 'L' }
await upsert('sales_history', [
  { ...sale, transaction_id: 't1', revenue: '100', transaction_date: '2026-02-01' },
  { ...sale, transaction_id: 't2', revenue: '20', client_code: 'c9' },
  { ...sale, transaction_id: 't3', revenue: '-5', transaction_date: '2026-01-01', code: 'B' },
])

/** A list, what its results are called by, and the results that queries find. */
interface List {
  path: string
  id: string
  nameOf: (row: Record<string, unknown>) => unknown
  found: Record<string, string[]>
}

const lists: List[] = [
  {
    path: 'product_catalog',
    id: 'extended_catalog_id',
    nameOf: ({ code, country }) => `${code} ${country}`,
    found: {
      'order=code': ['A FR', 'A UK', 'B FR', 'B UK', 'C FR', 'C UK'],
      'order=-code': ['C FR', 'C UK', 'B FR', 'B UK', 'A FR', 'A UK'],
      'order=code&contains=uk': ['A UK', 'B UK', 'C UK'],
      'order=-code&contains=ABOUT%20B': ['B FR', 'B UK'],
      'order=code&code_prefix=C&filters={"country":["FR"]}': ['C FR'],
      'order=code&contains=about&filters={"country":["FR"],"code":["A","B"]}': ['A FR', 'B FR'],
    },
  },
  {
    path: 'promotions',
    id: 'id',
    nameOf: ({ name }) => name,
    found: {
      'order=name': ['Winter', 'spring', 'Ärger'],
      'order=-value': ['Winter', 'Ärger', 'spring'],
      'order=valid_from': ['Winter', 'Ärger', 'spring'],
      'order=-valid_from&kind=amount': ['spring', 'Winter'],
      'order=name&contains=RGER': ['Ärger'],
      'order=name&contains=ä': ['Ärger'],
      'order=value&as_of=2020-01-01T00:00': [],
    },
  },
  {
    path: 'agreement',
    id: 'id',
    nameOf: ({ name }) => name,
    found: {
      'order=name': ['x', 'y', 'z'],
      'order=-client_code': ['z', 'y', 'x'],
      'order=code': ['x', 'z', 'y'],
      'order=-code&client_code=10': ['y', 'x'],
      'order=name&contains=b': ['y'],
      'code=B': ['y'],
    },
  },
  {
    path: 'competitor_prices',
    id: 'id',
    nameOf: ({ code, competitor_name }) => `${code} ${competitor_name}`,
    found: {
      'order=competitor_price': ['A Rival', 'B Rival', 'A Other'],
      'order=-latest_update': ['A Other', 'B Rival', 'A Rival'],
      'order=code': ['A Rival', 'A Other', 'B Rival'],
      'order=-competitor_price&contains=riv': ['B Rival', 'A Rival'],
      'order=departure_date&competitor_name=Other': ['A Other'],
      'order=code&contains=uk': ['A Rival', 'A Other', 'B Rival'],
    },
  },
  {
    path: 'sales_history',
    id: 'id',
    nameOf: ({ transaction_id }) => transaction_id,
    found: {
      'order=revenue': ['t3', 't2', 't1'],
      'order=-revenue': ['t1', 't2', 't3'],
      'order=transaction_date': ['t3', 't1', 't2'],
      'order=-transaction_date': ['t1', 't3', 't2'],
      'order=-code&from=2026-01-01': ['t3', 't1'],
      'order=quantity&contains=C9': ['t2'],
      'client_code=c9&price_list_name=L': ['t2'],
      'price_list_name=M': [],
    },
  },
]

for (const { path, id, nameOf, found } of lists) {
  const url = `/api/v1/${path}/`
  const queries = Object.entries(found)

  t.test(`${path}: an order and what narrows it hold over all pages and are counted`, async (t) => {
    for (const [query, names] of queries) {
      const { status, body } = await shop.get(`${url}?${query}`)
      t.strictSame(
        [status, body.count, body.results?.map(nameOf)],
        [200, names.length, names],
        query,
      )
    }
  })

  t.test(`${path}: after goes on behind a row`, async (t) => {
    for (const [query, names] of queries) {
      const walked: unknown[] = []
      let after = ''
      for (;;) {
        const { body } = await shop.get(`${url}?${query}&limit=1${after}`)
        if (body.results.length === 0) break
        walked.push(nameOf(body.results[0]))
        after = `&after=${body.results[0][id]}`
      }
      t.strictSame(walked, names, query)
    }
  })

  t.test(`${path}: a file has the order of the list`, async (t) => {
    for (const [query, names] of queries) {
      const accept = { accept: 'application/x-ndjson' }
      const { body } = await shop.send('GET', `${url}?${query}`, undefined, accept)
      t.strictSame(body.split('\n').filter(Boolean).map(JSON.parse).map(nameOf), names, query)
    }
  })

  t.test(`${path}: what is no order, text or place is refused by name`, async (t) => {
    const [first = ''] = queries[0] ?? []
    const faults: [query: string, name: string, code: string][] = [
      ['order=', 'order', 'not_allowed'],
      ['order=id', 'order', 'not_allowed'],
      ['contains=', 'contains', 'length'],
      ['contains=%00', 'contains', 'format'],
      ['after=0', 'after', 'range'],
      ['after=9007199254740991', 'after', 'not_allowed'],
      [`${first}&offset=10001`, 'offset', 'range'],
    ]
    for (const [query, name, code] of faults) {
      const { status, body } = await shop.get(`${url}?${query}`)
      t.equal(status, 400, query)
      if (query.endsWith('%00')) continue
      t.match(body.errors, [{ pointer: `/query/${name}`, code }], query)
    }
    t.strictSame((await shop.get(`${url}?${first}&offset=10000`)).body.results, [])
  })

  t.test(`${path}: a row of another account is no place`, async (t) => {
    const [row] = (await shop.get(`${url}?limit=1`)).body.results
    const other = await service.newAccount(t)
    const { status, body } = await other.get(`${url}?after=${row[id]}`)
    t.strictSame([status, body.errors[0].pointer], [400, '/query/after'])
  })
}
