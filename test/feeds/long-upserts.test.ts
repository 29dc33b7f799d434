import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'

const service = await sharedService()

t.test('a long body whose parts take several statements each is written whole', async (t) => {
  const codes = Array.from({ length: 20_000 }, (_, index) => `P${index}`)
  for (let times = 0; times < 4; times++) {
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    t.equal((await shop.get('/api/v1/product_catalog/?limit=1')).body.count, 20_000)
  }
})
