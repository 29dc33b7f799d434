import pg from 'pg'
import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

const service = await startTestService(t)

t.test('a load does not wait for a vacuum of its table', async (t) => {
  const products = Array.from({ length: 10_000 }, (_, index) => ({ code: `P${index}` }))
  const vacuum = new pg.Client({ connectionString: service.url })
  await vacuum.connect()
  t.teardown(() => vacuum.end())
  await vacuum.query('begin; lock table products, price_list_rows in share update exclusive mode')
  const shop = await aShopOf(t, service, {}, products)
  await aList(shop, { name: 'L' })
  t.equal((await addProducts(shop, 'L', products)).length, products.length)
  await vacuum.query('rollback')
})
