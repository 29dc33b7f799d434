import t from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'

const service = await sharedService()

const agreement = { name: 'N', client_code: 'C', price_list_code: 'list' }
const promotion = { name: 'P', kind: 'amount', value: 1, valid_from: '2026-01-01' }
const attribute = { code: 'A', country: 'UK', dynamic_attribute_name: 'shelf' }

/** Under each path two rows that are equal but for the order of the keys in their objects. */
const pairs: Record<string, [object, object]> = {
  '/api/v1/agreement/bulk_create_or_update': [
    { ...agreement, price_line: { a: 'x', b: 1 }, prices: { p: 1, q: { '2026-01-01': 2 } } },
    { ...agreement, price_line: { b: 1, a: 'x' }, prices: { q: { '2026-01-01': 2 }, p: 1 } },
  ],
  '/api/v1/promotions/bulk_create_or_update/': [
    { ...promotion, valid_to: '2026-01-02', product_filters: { code: ['A'], country: ['UK'] } },
    { ...promotion, valid_to: '2026-01-02', product_filters: { country: ['UK'], code: ['A'] } },
  ],
  '/api/v1/prices/bulk_update_dynamic_attributes/': [
    { ...attribute, dynamic_attribute_value: { aisle: 4, side: 'left' } },
    { ...attribute, dynamic_attribute_value: { side: 'left', aisle: 4 } },
  ],
}

for (const [path, rows] of Object.entries(pairs)) {
  t.test(`${path} counts rows once whose objects differ in the order of keys`, async (t) => {
    const { shop } = await aFilledList(t, service, { name: 'list' })
    t.ok((await shop.post(path, bodyOf(path, rows))).status < 300, 'as a JSON body')
    const { status, body } = await load(shop, path, rows)
    t.ok(status < 300, 'as a file', { body })
    t.match(body, { rows: 2, created: 0, updated: 1 })
  })
}

const isOfList = (path: string) => path.includes('/prices/')

function bodyOf(path: string, rows: object[]): unknown {
  return isOfList(path) ? { price_list_name: 'list', payload: rows } : rows
}

function load(shop: TestAccount, path: string, rows: object[]) {
  const lines = rows.map((row) => JSON.stringify(row)).join('\n')
  const query = isOfList(path) ? '?price_list_name=list' : ''
  return shop.send('POST', `${path}${query}`, lines, { 'content-type': 'application/x-ndjson' })
}
