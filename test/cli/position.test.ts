import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = { code: 'A', country: 'UK' }
const { shop } = await aFilledList(t, service)
await setPrices(shop, 'L', [{ ...uk, price: 2.5 }])
await shop.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config: ['code'] })
await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
  { code: 'A', competitor_name: 'Lantern', competitor_price: 2 },
])

t.test('one file has prices, margins, competitors and sales', async (t) => {
  const { run } = userOf(t, service, shop)
  const file = join(t.testdir(), 'position.csv')
  const { code, stdout, stderr } = await run('position', 'L', '-o', file)
  t.strictSame([code, stdout, stderr], [0, `${file}: 1 row.\n`, ''])
  const [head = '', line = ''] = readFileSync(file, 'utf8').split('\r\n')
  t.match(
    head,
    /price,priced,margin,active_price,active_margin,competition\.count.*,sales\.last_at$/,
  )
  t.match(line, /,UK,price,2\.5,true,,2\.5,,1,2,Lantern,2,2,2,2,25,0,0,0,,$/)
  const shown = await run('position', 'L', '--json')
  t.match(JSON.parse(shown.stdout), { price: 2.5, competition: { lowest_name: 'Lantern' } })
})

t.test('a list that is not there is 1, none is 2', async (t) => {
  const { run } = userOf(t, service, shop)
  const absent = await run('position', 'M')
  t.strictSame([absent.code, absent.stdout], [1, ''])
  t.match(absent.stderr, 'There is no price list "M".')
  const none = await run('position')
  t.equal(none.code, 2)
  t.match(none.stderr, "missing required argument 'list'")
})

t.test('only prices far above the cheapest competitor, with a margin over a limit', async (t) => {
  const { run, home } = userOf(t, service, shop)
  const codesOf = async (...args: string[]) => {
    const { stdout } = await run('position', 'P', ...args)
    return stdout
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',')[2])
  }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
    { code: 'B', country: 'UK', purchase: 9 },
    { code: 'C', country: 'UK', purchase: 5 },
    { code: 'D', country: 'UK', purchase: 1 },
  ])
  await aList(shop, { name: 'P', margin_formula: '= (Price - D) / Price * 100' })
  const codes = ['B', 'C', 'D'].map((code) => ({ code, country: 'UK' }))
  await addProducts(shop, 'P', codes)
  await setPrices(
    shop,
    'P',
    codes.map((row) => ({ ...row, price: 11 })),
  )
  await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
    { code: 'B', competitor_name: 'Lantern', competitor_price: 9 },
    { code: 'C', competitor_name: 'Lantern', competitor_price: 9 },
    { code: 'C', competitor_name: 'Torch', competitor_price: 12 },
  ])
  t.strictSame(await codesOf(), ['B', 'C', 'D'])
  t.strictSame(await codesOf('--above', '10'), ['B', 'C'], 'D has no competitor')
  t.strictSame(await codesOf('--margin-above', '20'), ['C', 'D'])
  t.strictSame(await codesOf('--above', '10', '--margin-above', '20'), ['C'])
  t.strictSame(await codesOf('--above', '22.222222'), [], 'the gap itself is not above it')
  const file = join(home, 'p.ndjson')
  const { stdout } = await run('position', 'P', '--above', '10', '-o', file)
  t.equal(stdout, `${file}: 2 rows.\n`)
  t.match(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [{ code: 'B' }, { code: 'C' }],
  )
  const sale = { kind: 'fixed_price', value: 6, valid_from: '2026-01-01', valid_to: '2999-12-31' }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name: 'Sale', ...sale, price_lists: ['P'], product_filters: { code: ['C', 'D'] } },
  ])
  t.strictSame(await codesOf('--margin-above', '20'), ['D'], 'C earns 1 of 6')
  t.match(await run('position', 'P', '--above', 'much'), { code: 2, stderr: /Must be a number/ })
})

t.test('rows whose texts hold U+2028 or U+2029 are kept', async (t) => {
  const { run } = userOf(t, service, shop)
  const rows = ['a\u2028b', 'a\u2029é'].map((country) => ({ code: 'S', country, purchase: 1 }))
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', rows)
  await aList(shop, { name: 'S', margin_formula: '= (Price - D) / Price * 100' })
  const keys = rows.map(({ code, country }) => ({ code, country }))
  await addProducts(shop, 'S', keys)
  const prices = keys.map((key) => ({ ...key, price: 11 }))
  await setPrices(shop, 'S', prices)
  const { stdout } = await run('position', 'S', '--margin-above', '20', '--json')
  const lines = stdout.split('\n').slice(0, -1)
  t.match(
    lines.map((line) => JSON.parse(line)),
    keys,
  )
})
