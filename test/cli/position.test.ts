import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = { code: 'A', country: 'UK' }
const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
await aList(shop, { name: 'L' })
await addProducts(shop, 'L', [uk])
await setPrices(shop, 'L', [{ ...uk, price: 2.5 }])
await shop.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config: ['code'] })
await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
  { code: 'A', competitor_name: 'Lantern', competitor_price: 2 },
])

t.test('one file has prices, margins, competitors and sales', async (t) => {
  const { run } = commandLine(t, {
    PRICEWELL_URL: service.app.listeningOrigin,
    PRICEWELL_TOKEN: shop.token,
  })
  const file = join(t.testdir(), 'position.csv')
  const { code, stdout, stderr } = await run('position', 'L', '-o', file)
  t.strictSame([code, stdout, stderr], [0, `${file}: 1 row.\n`, ''])
  const [head = '', line = ''] = readFileSync(file, 'utf8').split('\r\n')
  t.match(head, /price,priced,margin,competition\.count.*,sales\.last_at$/)
  t.match(line, /,UK,price,2\.5,true,,1,2,Lantern,2,2,2,2,25,0,0,0,,$/)
  const shown = await run('position', 'L', '--json')
  t.match(JSON.parse(shown.stdout), { price: 2.5, competition: { lowest_name: 'Lantern' } })
})

t.test('a list that is not there is 1, none is 2', async (t) => {
  const { run } = commandLine(t, {
    PRICEWELL_URL: service.app.listeningOrigin,
    PRICEWELL_TOKEN: shop.token,
  })
  const absent = await run('position', 'M')
  t.strictSame([absent.code, absent.stdout], [1, ''])
  t.match(absent.stderr, 'There is no price list "M".')
  const none = await run('position')
  t.equal(none.code, 2)
  t.match(none.stderr, "missing required argument 'list'")
})
