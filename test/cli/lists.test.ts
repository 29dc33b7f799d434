import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, aList, aShop, rowsOf } from '../helpers/shop.ts'

const service = await sharedService()

t.test('lists are shown with state, rows, revision and days', async (t) => {
  const days = { valid_from: '2001-01-01', valid_to: '2001-12-31' }
  const { shop } = await aFilledList(t, service, { name: 'Old', ...days })
  await aList(shop, { name: 'New', price_dimensions: ['retail', 'trade'] })
  const { run } = userOf(t, service, shop)
  const { code, stdout, stderr } = await run('lists')
  t.strictSame([code, stderr], [0, ''])
  const [header, old, fresh] = stdout.split('\n')
  t.match(header, /^name +state +rows +revision +valid from +valid to +dimensions$/)
  t.match(old, /^Old +expired +1 +1 +2001-01-01 +2001-12-31 +price$/)
  t.match(fresh, /^New +not published +0 +0 .* retail, trade$/)
  t.match(JSON.parse((await run('lists', '--search', 'ol', '--json')).stdout), [{ name: 'Old' }])
  t.equal(
    (await run('lists', '--search', 'none')).stdout,
    'No price list has "none" in its name.\n',
  )
})

t.test('a list is made with all of its settings', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { run } = userOf(t, service, shop)
  const days = ['--from', '2026-01-01', '--to', '2026-12-31']
  const more = [
    ...['--description', 'For shops', '--dimension', 'retail', '--dimension', 'trade'],
    ...['--margin-formula', '= Price - D', '--filter', 'country=UK', '--filter', 'country=FR'],
    ...['--calendar', '--currency', 'GBP', '--decimals', '2', '--hide-unpriced'],
    ...['--guardrail', 'min_price=1.5', '--guardrail', 'no_zero'],
  ]
  const made = await run('create-list', 'Retail', ...days, ...more)
  t.match(made, { code: 0, stderr: '', stdout: /^Price list "Retail" created, id \d+\.\n$/ })
  const { body } = await shop.get('/api/v1/price_list/?name=Retail')
  t.match(body.results, [
    {
      ...{ valid_from: '2026-01-01', valid_to: '2026-12-31', description: 'For shops' },
      ...{ price_dimensions: ['retail', 'trade'], margin_formula: '= Price - D' },
      product_filters: { country: ['UK', 'FR'] },
      ...{ is_calendar: true, currency: 'GBP', decimals: 2, hide_unpriced: true },
      guardrails: { min_price: 1.5, no_zero: true },
    },
  ])
  t.match((await run('lists')).stdout, /^name .* calendar to\nRetail .* 2026-12-31$/m)
  for (const decimals of ['7', '-1', 'x'])
    t.match(await run('create-list', 'L', ...days, '--decimals', decimals), {
      code: 2,
      stderr: /Must be a number from 0 to 6/,
    })
  t.match(await run('create-list', 'Retail', ...days), {
    code: 1,
    stderr: /^There is a price list called "Retail" already/,
  })
  for (const guardrail of ['min_price', 'none=1', 'no_zero=2', 'max_price=x'])
    t.match(await run('create-list', 'L', ...days, '--guardrail', guardrail), {
      code: 2,
      stderr: /Must be a guardrail and its limit/,
    })
})

t.test('a sync tells what came and went; its plan writes nothing', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const list = await aList(shop, { name: 'Retail' })
  const { run } = userOf(t, service, shop)
  const plan = await run('sync', 'Retail', '--plan')
  t.match(plan, { code: 0, stdout: /^Plan \d+: sync, Retail, open\n(.*\n)* +added +2\n/ })
  t.strictSame(await rowsOf(shop, list), [])
  const done = await run('sync', 'Retail', '--note', 'Mañana')
  const stdout = 'Retail: 2 added, 0 removed, 0 untouched; revision 1.\n'
  t.strictSame(done, { code: 0, stdout, stderr: '' })
  t.equal((await rowsOf(shop, list)).length, 2)
  t.match((await run('log', 'Retail')).stdout, 'Mañana')
  t.match(await run('sync', 'None'), { code: 1, stderr: 'There is no price list "None".\n' })
})

t.test('a sync that is a job is followed to its end', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'Retail' })
  const { run } = userOf(t, service, shop)
  const { code, stdout } = await run('sync', 'Retail')
  t.equal(code, 0)
  t.equal(stdout, 'Retail: 101 added, 0 removed, 0 untouched; revision 1.\n')
})
