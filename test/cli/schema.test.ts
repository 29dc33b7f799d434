import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'

const service = await sharedService()

t.test(
  'the columns of the catalog and of competitor prices are shown with their types',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
    const { run } = userOf(t, service, shop)
    const without = await run('schema')
    t.match(without, { code: 0, stderr: '', stdout: /There is no competitor schema yet/ })
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

t.test('columns of the catalog are set, and added to', async (t) => {
  const { token, get } = await service.newAccount(t)
  const { run } = userOf(t, service, { token })
  const columns = ['--extension', 'country', '--attribute', 'weight:number', '--cost', 'purchase']
  const set = await run('schema', 'set', ...columns)
  t.strictSame([set.code, set.stderr], [0, ''])
  t.match(
    set.stdout,
    /\ncountry +extension +string +C\nweight +attribute +number +B\npurchase +cost/,
  )
  t.equal((await run('schema', 'add', '--attribute', 'sold:date', '--cost', 'freight')).code, 0)
  const { body } = await get('/api/v1/product_catalog/schema/')
  t.match(body, {
    attributes: [{ name: 'weight' }, { name: 'sold', type: 'date' }],
    extensions: [{ name: 'country' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  })
  t.match((await run('schema', 'set', '--extension', 'size:integer')).stdout, /size +extension/)
  t.strictSame((await get('/api/v1/product_catalog/schema/')).body.costs, [])
})

t.test('a column keeps its allowed values, which are shown, when others are added', async (t) => {
  const { token, post } = await service.newAccount(t)
  const { run } = userOf(t, service, { token })
  await post('/api/v1/product_catalog/schema/create_schema/', {
    extensions: [{ name: 'size', type: 'string', values: ['S', 'M'] }],
  })
  const { stdout } = await run('schema', 'add', '--cost', 'purchase')
  t.match(
    stdout,
    /^column +kind +type +letter +allowed values\n.*\nsize +extension +string +B +S, M\n/m,
  )
})

t.test('the columns of competitor prices are set', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { run, shell } = userOf(t, service, shop)
  const load = await shell(
    "printf 'code,competitor_name,competitor_price\\nA,B,1\\n' > a.csv; pricewell load competitor-prices a.csv",
  )
  t.match(load, { code: 1, stderr: /\nHere, use `pricewell schema competitor-prices code`/ })
  const { stdout } = await run('schema', 'competitor-prices', 'code', 'country', '--dated')
  t.equal(stdout, 'Competitor prices have: code, country.\n')
  const { body } = await shop.get('/api/v1/competitor_prices/schema/')
  t.match(body, { input: { dimensions: ['code', 'country'] }, is_dated: true })
})

t.test('columns that cannot be are refused', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { run } = userOf(t, service, shop)
  for (const column of ['weight:numbr', 'weight:', ':number'])
    t.match(await run('schema', 'add', '--attribute', column), {
      code: 2,
      stderr: /Must be a name, or a name and a type: string, /,
    })
  t.match(await run('schema', 'add', '--cost', 'price'), { code: 1, stderr: /"price" is a key/ })
  t.match(await run('schema', 'set', '--cost', 'c'), { code: 1, stderr: /There are products/ })
  t.match(await run('schema', 'competitor-prices', 'none'), { code: 1, stdout: '' })
  t.equal((await run('schema', 'competitor-prices')).code, 2)
})
