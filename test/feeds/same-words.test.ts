import t from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

type Row = Record<string, unknown>
interface Fault {
  field?: string
  code: string
  message: string
}

const service = await sharedService()
const { shop } = await aFilledList(t, service, {
  codes: ['A', 'B'],
  rows: [{ code: 'A', country: 'UK' }],
  price_dimensions: ['retail', 'wholesale'],
})

const prices = '/api/v1/prices/bulk_update_prices/'
const price = { code: 'A', country: 'UK', price_dimension: 'retail', price: 1 }
const sales = '/api/v1/sales_history/bulk_create_or_update'
const sale = { transaction_id: 'T', code: 'A', extension: 'UK', quantity: '1', revenue: '2' }
const products = '/api/v1/product_catalog/bulk_create_or_update/'
const product = { code: 'A', country: 'UK', description: 'x' }
const promotions = '/api/v1/promotions/bulk_create_or_update/'
const promotion = {
  ...{ name: 'P', kind: 'percentage', value: 10 },
  ...{ valid_from: '2026-01-01', valid_to: '2026-01-02' },
}
const added = '/api/v1/prices/bulk_add_products/'
const attributes = '/api/v1/prices/bulk_update_dynamic_attributes/'
const attribute = { code: 'A', country: 'UK', dynamic_attribute_name: 'shelf' }

/** Rows that are faulty, by where they are sent. */
const cases: [path: string, ...rows: Row[]][] = [
  [prices, { ...price, code: 'B' }],
  [prices, { ...price, price_dimension: 'list' }],
  [prices, { ...price, price: -1 }],
  [prices, { ...price, price: 'many' }],
  [prices, { ...price, price: 1.1234567 }],
  [prices, { ...price, date: '2026-01-01' }],
  [prices, { ...price, colour: 'red' }],
  [prices, { code: 'A', country: 'UK', price_dimension: 'retail' }],
  [prices, { code: 'A', price_dimension: 'retail', price: 1 }],
  [prices, price, { ...price, price: 2 }],
  [sales, { ...sale, quantity: 'many' }],
  [sales, { ...sale, transaction_date: '2026-02-30' }],
  [sales, { ...sale, colour: 'red' }],
  [sales, { transaction_id: 'T', code: 'A', extension: 'UK', quantity: '1' }],
  [sales, sale, { ...sale, revenue: '3' }],
  [products, { ...product, colour: 'red' }],
  [products, { ...product, active: 'maybe' }],
  [products, { code: 'A' }],
  [products, product, { ...product, country: 'FR', description: 'y' }],
  [promotions, { ...promotion, value: 200 }],
  [promotions, { ...promotion, kind: 'gift' }],
  [promotions, { ...promotion, valid_to: '2025-01-01' }],
  [promotions, { ...promotion, price_lists: ['none'] }],
  [promotions, { ...promotion, product_filters: { colour: ['red'] } }],
  [added, { code: 'Z', country: 'UK' }],
  [attributes, { ...attribute, code: 'B', dynamic_attribute_value: 1 }],
]

const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))

function csvOf(rows: Row[]): string {
  const names = [...new Set(rows.flatMap(Object.keys))]
  const line = (cells: string[]) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')
  return [names, ...rows.map((row) => names.map((name) => text(row[name])))].map(line).join('\n')
}

/** The faults without what only a file or only a header has: the lines, and the columns that are known. */
const words = (errors: Fault[]) =>
  errors.map(({ field, code, message }) => {
    const placed = message.replace(/^(rows|lines) \d+ and \d+/, 'both')
    return { field, code, message: placed.replace(/; known are .*/, '') }
  })

async function send(account: TestAccount, path: string, rows: Row[], type: string) {
  const isOfList = path.startsWith('/api/v1/prices/')
  if (type === 'application/json')
    return account.post(path, isOfList ? { price_list_name: 'L', payload: rows } : rows)
  const file = type === 'text/csv' ? csvOf(rows) : rows.map((row) => JSON.stringify(row)).join('\n')
  return account.send('POST', isOfList ? `${path}?price_list_name=L` : path, file, {
    'content-type': type,
  })
}

for (const [path, ...rows] of cases)
  t.test(
    `a fault has the same words in JSON, NDJSON and CSV: ${JSON.stringify(rows)}`,
    async (t) => {
      const [json, ...files] = await Promise.all(
        ['application/json', 'application/x-ndjson', 'text/csv'].map((type) =>
          send(shop, path, rows, type),
        ),
      )
      t.match(json, { status: 400, body: { type: 'invalid-request' } })
      for (const file of files) t.strictSame(words(file.body.errors), words(json?.body.errors))
    },
  )

t.test('an unknown column is told the columns that there are', async (t) => {
  const answer = await send(shop, products, [{ ...product, colour: 'red' }], 'text/csv')
  const message =
    'is not a known key; known are code, active, description, country, purchase, freight, extended_catalog_id'
  t.match(answer.body.errors, [{ pointer: '#/columns/colour', line: 1, message }])
})
