import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList } from '../helpers/shop.ts'

const service = await sharedService()

t.test('a catalog without extensions: rows are named by their code alone', async (t) => {
  const shop = await service.newAccount(t)
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ code: 'A' }, { code: 'B' }])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A' }, { code: 'B' }])
  const update = { price_list_name: 'L', payload: [{ code: 'B', price: 2.5 }] }
  t.equal((await shop.post('/api/v1/prices/bulk_update_prices/', update)).status, 201)
  const pricesOf = async (payload: object[]) => {
    const read = { price_list_name: 'L', payload }
    const { body } = await shop.post('/api/v1/prices/get_prices/', read)
    return body.map((row: Record<string, unknown>) => [row.code, row.active_price])
  }
  t.strictSame(await pricesOf([{ code: 'B' }, { code: 'C' }, { code: 'A' }]), [
    ['B', 2.5],
    ['A', 0],
  ])
  t.strictSame(await pricesOf([{}]), [
    ['A', 0],
    ['B', 2.5],
  ])
})
