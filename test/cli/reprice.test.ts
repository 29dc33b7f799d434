import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const of = (code: string, country: string) => ({ code, country })

/** Lists "L" and, with days, "C": A in two countries, at 10 in the UK. */
async function aPricedShop(t: Parameters<typeof aShop>[0]) {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK', 'FR'] })
  await aList(shop, { name: 'L', guardrails: { max_increase_percent: 50 } })
  await aList(shop, { name: 'C', is_calendar: true })
  for (const list of ['L', 'C']) await addProducts(shop, list, [of('A', 'UK'), of('A', 'FR')])
  await setPrices(shop, 'L', [{ ...of('A', 'UK'), price: 10 }])
  return { shop, ...userOf(t, service, shop) }
}

t.test('reprice makes a plan, and says what it does and how to go on', async (t) => {
  const { shop, run } = await aPricedShop(t)
  const { stdout } = await run('reprice', 'L', '--formula', '= Price * 1.2 + 4', '--note', 'für ☀')
  const [, id] = /^Plan (\d+): reprice, L, open\n/.exec(stdout) ?? []
  t.match(stdout, / {2}rows +2\n {2}changed +2\n {2}increases +2\n {2}average change +\+60 %\n/)
  t.match(stdout, / {2}violations +max_increase_percent 1\n/)
  t.match(stdout, `\`pricewell plan ${id}\` shows its rows. \`pricewell apply ${id}\` is refused`)
  t.match((await shop.get(`/api/v1/plans/${id}/`)).body, { operation: 'reprice', note: 'für ☀' })
})

t.test('filters, dimensions, days and decimals choose what is planned', async (t) => {
  const { run } = await aPricedShop(t)
  const plan = async (...args: string[]) =>
    JSON.parse((await run('reprice', ...args, '--formula', '= 1 / 3', '--json')).stdout)
  const filters = ['--filter', 'country=UK', '--filter', 'country=DE', '--filter', 'code=A']
  t.match(await plan('L', ...filters), { summary: { rows: 1, changed: 1 } })
  const none = await run('reprice', 'L', '--formula', '= 1', '--dimension', 'none')
  t.match(none, { code: 1, stderr: /price_dimensions/ })
  const dates = ['--from', '2026-02-23', '--to', '2026-03-08', '--days', 'sat,sun']
  t.match(await plan('C', ...dates), { summary: { rows: 8 } })
})

t.test('options say which competitor prices and sales count', async (t) => {
  const { shop, run } = await aPricedShop(t)
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code'],
  })
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { code: 'A', competitor_name: 'Lantern', competitor_price: 8, latest_update: daysAgo(0) },
    { code: 'A', competitor_name: 'Torch', competitor_price: 7, latest_update: daysAgo(0) },
    { code: 'A', competitor_name: 'Candle', competitor_price: 6, latest_update: daysAgo(40) },
  ])
  const sale = { code: 'A', extension: 'UK', revenue: '1', transaction_date: daysAgo(40) }
  await shop.post('/api/v1/sales_history/bulk_create_or_update', [
    { ...sale, transaction_id: 'T', quantity: '3' },
  ])
  const newPrice = async (formula: string, ...args: string[]) => {
    const filter = ['--filter', 'country=UK']
    const { stdout } = await run('reprice', 'L', '--formula', formula, ...filter, ...args, '--json')
    return (await shop.get(`/api/v1/plans/${JSON.parse(stdout).id}/rows/`)).body.results[0].new
  }
  t.equal(await newPrice('= COMP_MIN'), 7)
  t.equal(await newPrice('= COMP_MIN', '--max-age', '60'), 6)
  const two = ['--competitor', 'Lantern', '--competitor', 'Candle']
  t.equal(await newPrice('= COMP_MIN', ...two), 8)
  t.equal(await newPrice('= COMP_MIN', ...two, '--max-age', '60'), 6)
  t.equal(await newPrice('= SALES_QTY + 1'), 1)
  t.equal(await newPrice('= SALES_QTY + 1', '--sales-days', '60'), 4)
  t.match(await run('reprice', 'L', '--formula', '= 1', '--max-age', '0'), {
    ...{ code: 1, stderr: /competition\/max_age_days/ },
  })
})

t.test('a call that the service refuses is told', async (t) => {
  const { run } = await aPricedShop(t)
  const refused = await run('reprice', 'L', '--formula', '= Z', '--filter', 'color=red')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /"Z" is not a function/)
  const days = await run('reprice', 'C', '--formula', '= 1', '--from', '2026-02-23')
  t.match(days, { code: 2, stderr: /--from and --to/ })
})
