import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()

const france = { code: 'A', country: 'France', size: 4 }
const spain = { code: 'A', country: 'Spain', size: 5 }

const shop = await aShopOf(
  t,
  service,
  {
    extensions: [
      { name: 'country', type: 'string' },
      { name: 'size', type: 'integer' },
    ],
    costs: [{ name: 'purchase' }],
  },
  [
    { ...france, purchase: 1 },
    { ...spain, purchase: 1 },
  ],
)
await aList(shop, { name: 'L', price_dimensions: ['retail', 'wholesale'] })
await addProducts(shop, 'L', [france, spain])
await setPrices(shop, 'L', [
  { ...france, price_dimension: 'retail', price: 2.5 },
  { ...spain, price_dimension: 'wholesale', price: 10 },
])
const { run } = userOf(t, service, shop)

t.test('every row and price dimension of a product, as a table', async (t) => {
  const { code, stdout, stderr } = await run('prices', 'L', 'A')
  t.strictSame([code, stderr], [0, ''])
  t.equal(
    stdout,
    `
code  country  size  price_dimension  base_price  active_price  active_margin
A     France      4  retail                  2.5           2.5             60
A     Spain       5  retail                    0             0
A     France      4  wholesale                 0             0
A     Spain       5  wholesale                10            10             90
`.slice(1),
  )
})

t.test('the prices of a client, with the agreement', async (t) => {
  const agreement = {
    ...{ name: 'Frame 7', client_code: 'C1', price_list_code: 'L' },
    ...{ price_line: { code: 'A', country: 'Spain' }, prices: { wholesale: 8 } },
  }
  await shop.post('/api/v1/agreement/bulk_create_or_update/', [agreement])
  const only = ['--where', 'country=Spain', '--dimension', 'wholesale']
  const { stdout } = await run('prices', 'L', 'A', ...only, '--client', 'C1')
  t.match(stdout, /^A +Spain +5 +wholesale +10 +8 +87\.5 +Frame 7\n/m)
  t.match((await run('prices', 'L', 'A', ...only, '--client', 'C2')).stdout, /wholesale +10 +10/)
})

t.test('only what is asked for; an extension is typed as the catalog has it', async (t) => {
  const only = ['--where', 'country=Spain', '--where', 'size=5', '--dimension', 'wholesale']
  const { stdout } = await run('prices', 'L', 'A', ...only, '--json')
  t.match(JSON.parse(stdout), [{ ...spain, price_dimension: 'wholesale', active_price: 10 }])
  t.equal(JSON.parse(stdout).length, 1)
})

t.test(
  'the promotions of a day, and the margin at the price that is in force with them',
  async (t) => {
    const valid = { valid_from: '2026-11-27', valid_to: '2026-11-30' }
    const sale = { name: 'Black Friday', kind: 'percentage', value: 20, ...valid }
    await shop.post('/api/v1/promotions/bulk_create_or_update/', [sale])
    const only = ['--where', 'country=France', '--dimension', 'retail']
    const { stdout } = await run('prices', 'L', 'A', ...only, '--promotion-date', '2026-11-27')
    t.match(stdout, /^A +France +4 +retail +2\.5 +2 +50 +Black Friday 2\n/m)
    const json = await run('prices', 'L', 'A', ...only, '--promotion-date', '2026-11-27', '--json')
    t.match(JSON.parse(json.stdout), [{ active_price: 2, active_margin: 50, margin: 60 }])
  },
)

t.test('a calendar list is read for today, or the day given', async (t) => {
  const today = new Date().toISOString().slice(0, 10)
  await aList(shop, { name: 'C', valid_from: today, valid_to: '2099-12-31', is_calendar: true })
  await addProducts(shop, 'C', [france])
  await setPrices(shop, 'C', [{ ...france, date: today, price: 7 }])
  t.match((await run('prices', 'C', 'A')).stdout, new RegExp(`France +4 +${today} +7 `))
  const outside = await run('prices', 'C', 'A', '--date', '2000-01-01')
  t.equal(outside.code, 1)
  t.match(outside.stderr, /^1 error\.\n {2}\/payload\/0\/date: /)
})

t.test('nothing that matches is no fault', async (t) => {
  const nothing = await run('prices', 'L', 'Z')
  t.strictSame(nothing, { code: 0, stdout: 'No row of the list matches.\n', stderr: '' })
  t.equal((await run('prices', 'L', 'Z', '--json')).stdout, '[]\n')
})

t.test('a list that is not there is 1, an extension that is not there is 2', async (t) => {
  const list = await run('prices', 'M', 'A')
  t.strictSame([list.code, list.stdout], [1, ''])
  t.match(list.stderr, /^There is no price list "M"\./)
  const extension = await run('prices', 'L', 'A', '--where', 'land=France')
  const stderr = 'There is no extension "land"; available: country, size.\n'
  t.strictSame(extension, { code: 2, stdout: '', stderr })
})

t.test('control characters of a name do not reach the terminal', async (t) => {
  const valid = { valid_from: '2027-01-01', valid_to: '2027-01-01' }
  const name = 'red\u001b[31m'
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name, kind: 'amount', value: 1, ...valid },
  ])
  const { stdout } = await run('prices', 'L', 'A', '--promotion-date', '2027-01-01')
  t.match(stdout, /red·\[31m 1\.5/)
})

t.test('--require-valid refuses a day on which the list is not valid', async (t) => {
  await aList(shop, { name: 'Old', valid_from: '2001-01-01', valid_to: '2001-12-31' })
  await addProducts(shop, 'Old', [france])
  t.equal((await run('prices', 'Old', 'A')).code, 0)
  const refused = await run('prices', 'Old', 'A', '--require-valid')
  t.match(refused, { code: 1, stderr: /^The price list is valid from 2001-01-01 to 2001-12-31\./ })
  const day = ['--promotion-date', '2001-06-01']
  t.equal((await run('prices', 'Old', 'A', '--require-valid', ...day)).code, 0)
})
