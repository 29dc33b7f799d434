/**
 * Sets prices with the client of this package and reads them. It can be run again.
 * In a program of yours the import is `from 'pricewell'`.
 */
import { createClient, isJob, Problem, type Schemas } from '../src/client/index.ts'

const {
  PRICEWELL_URL: baseUrl = 'http://127.0.0.1:3000',
  PRICEWELL_EMAIL: email = 'admin@example.com',
  PRICEWELL_PASSWORD: password = 'correct horse battery staple',
} = process.env
const { POST, waitForJob } = createClient({ baseUrl, credentials: { email, password } })
const price_list_name = 'Kitchen by program 2026'
const products = [
  { code: 'BOWL-04', country: 'France', purchase: 2.2, freight: 0.4 },
  { code: 'BOWL-04', country: 'Germany', purchase: 2.2, freight: 0.35 },
]

await POST('/api/v1/product_catalog/schema/create_schema/', {
  body: {
    attributes: [{ name: 'description', type: 'string' }],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  },
})
await POST('/api/v1/product_catalog/bulk_create_or_update/', { body: products })
await createList({ name: price_list_name, valid_from: '2026-01-01', valid_to: '2026-12-31' })

// These two are added at once; more than 100 would be added by a background job.
const payload = products.map(({ code, country }) => ({ code, country }))
const { data: added } = await POST('/api/v1/prices/bulk_add_products/', {
  body: { price_list_name, payload },
})
if (isJob(added)) await waitForJob(added.id)

await POST('/api/v1/prices/bulk_update_prices/', {
  body: { price_list_name, payload: payload.map((row) => ({ ...row, price: 6.5 })) },
})
const { data: prices } = await POST('/api/v1/prices/get_prices/', {
  body: { price_list_name, include: ['margin'], payload: [{ code: 'BOWL-04' }] },
})
for (const { code, country, active_price, margin } of prices)
  console.log(code, country, active_price, margin)

// One bad row stops the whole call; the problem names it.
try {
  await POST('/api/v1/prices/bulk_update_prices/', {
    body: { price_list_name, payload: [{ code: 'BOWL-04', country: 'Spain', price: 6.5 }] },
  })
} catch (error) {
  if (!(error instanceof Problem)) throw error
  for (const { pointer, code } of error.errors) console.log('refused:', pointer, code)
}

/** Ignores that the list exists from an earlier run. */
async function createList(list: Schemas['PriceListInput']): Promise<void> {
  try {
    await POST('/api/v1/price_list/bulk_create/', { body: [list] })
  } catch (error) {
    if (!(error instanceof Problem && error.status === 409)) throw error
  }
}
