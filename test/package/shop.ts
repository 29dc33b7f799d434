/** Somebody else's program: compiled and run against the package, never here. */
import { createClient, isJob, Problem, type Schemas } from 'pricewell'

const [, , baseUrl = '', email = '', password = ''] = process.argv
const { POST, waitForJob } = createClient({ baseUrl, credentials: { email, password } })
const columns: Schemas['CatalogSchemaInput'] = { attributes: [{ name: 'about', type: 'string' }] }
await POST('/api/v1/product_catalog/schema/create_schema/', { body: columns })
const products = [{ code: 'A', about: 'about A' }]
await POST('/api/v1/product_catalog/bulk_create_or_update/', { body: products })
const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
await POST('/api/v1/price_list/bulk_create/', { body: [list] })
const body = { price_list_name: 'L', payload: [{ code: 'A' }] }
const { data: added } = await POST('/api/v1/prices/bulk_add_products/', { body })
if (isJob(added))
  await waitForJob(added.id, { onProgress: ({ finished }) => console.log(finished) })
await POST('/api/v1/prices/bulk_update_prices/', {
  body: { price_list_name: 'L', payload: [{ code: 'A', price: 2.5 }] },
})
const { data: prices } = await POST('/api/v1/prices/get_prices/', { body })
const price: number | undefined = prices[0]?.active_price
try {
  await POST('/api/v1/sales_history/bulk_create_or_update', {
    body: [{ transaction_id: 'T', code: 'A', extension: '', quantity: 'many', revenue: '1' }],
  })
} catch (error) {
  if (!(error instanceof Problem)) throw error
  const [fault] = error.errors
  console.log(`about A: ${price}, then ${fault?.pointer} ${fault?.code}`)
}

export function refusedByTypes() {
  // @ts-expect-error no such path
  void POST('/api/v1/prices/', { body: {} })
  const path = '/api/v1/prices/bulk_update_prices/'
  // @ts-expect-error a price is a number
  void POST(path, { body: { price_list_name: 'L', payload: [{ code: 'A', price: '2' }] } })
  // @ts-expect-error the name of the list is required
  void POST(path, { body: { payload: [] } })
  // @ts-expect-error a body is required
  void POST(path)
}
