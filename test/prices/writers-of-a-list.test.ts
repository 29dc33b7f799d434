import pg from 'pg'
import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const shop = await aShopOf(t, service, {}, [{ code: 'A' }])
const { id } = await aList(shop, { name: 'L' })
await addProducts(shop, 'L', [{ code: 'A' }])
const attribute = { dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
const writes: Record<string, unknown> = {
  bulk_update_prices: [{ code: 'A', price: 1 }],
  bulk_update_dynamic_attributes: [{ code: 'A', ...attribute }],
  bulk_add_products: [{ code: 'A' }],
}

for (const [operation, payload] of Object.entries(writes))
  t.test(`${operation} waits for who writes the list`, async (t) => {
    const other = new pg.Client({ connectionString: service.url })
    await other.connect()
    t.teardown(() => other.end())
    await other.query('begin')
    const lock = 'select from price_lists where account_id = $1 and id = $2 for no key update'
    await other.query(lock, [shop.id, id])
    const body = { price_list_name: 'L', payload }
    t.match(await shop.post(`/api/v1/prices/${operation}/`, body), { status: 503 })
    await other.query('rollback')
    t.match(await shop.post(`/api/v1/prices/${operation}/`, body), { status: 201 })
  })
