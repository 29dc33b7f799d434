import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin

t.test(
  'the columns of the catalog and of competitor prices are shown with their types',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const { run } = commandLine(t, { PRICEWELL_URL, PRICEWELL_TOKEN: shop.token })
    const without = await run('schema')
    t.match(without, { code: 0, stderr: '', stdout: /There is no schema of competitor prices yet/ })
    t.match(without.stdout, /^Catalog\ncolumn +kind +type +letter\ncode +key +string +A\n/)
    t.match(without.stdout, /\ncountry +extension +string +[A-Z]\n/)
    await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
      attributes_config: ['code', 'country'],
    })
    const { stdout } = await run('schema')
    t.match(stdout, /\nCompetitor prices, by\ncolumn +type\ncode +string\ncountry +string\n/)
    const json = JSON.parse((await run('schema', '--json')).stdout)
    t.match(json, { catalog: { extensions: [{ name: 'country' }] } })
    t.strictSame(json.competitor_prices.input.dimensions, ['code', 'country'])
  },
)
