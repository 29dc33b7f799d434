import t, { type Test } from 'tap'
import { loadPath as agreements, anAgreement } from '../helpers/agreement.ts'
import { userOf } from '../helpers/command-line.ts'
import { anEntry, loadPath as entries, schemaPath } from '../helpers/market.ts'
import { aSale, salesOf } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()

async function anAccount(t: Test, sales: string[] = []) {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const rows = sales.map((transaction_id) => aSale({ transaction_id }))
  await shop.post('/api/v1/sales_history/bulk_create_or_update', rows)
  const left = async () => (await salesOf(shop)).map(({ transaction_id }) => transaction_id)
  return { shop, left, ...userOf(t, service, shop) }
}

t.test('asks before it deletes, and deletes nothing without a yes', async (t) => {
  const { left, pipe, type } = await anAccount(t, ['a', 'b'])
  for (const said of ['', 'no\n', 'x\n'])
    t.match(await pipe(said, 'delete', 'sales', 'a'), { code: 2, stderr: /Nothing was deleted/ })
  t.strictSame(await left(), ['a', 'b'])
  const { screen } = await type('yes\n', 'delete', 'sales', 'a')
  t.match(screen, /Delete 1 sale at http.*\? \(yes\/no\)/)
  t.match(screen, /1 sale deleted\./)
  t.strictSame(await left(), ['b'])
})

t.test('--yes does not ask; what is not there is counted', async (t) => {
  const { left, run } = await anAccount(t, ['a', 'b', 'c'])
  const { stdout } = await run('delete', 'sales', 'a', 'b', 'x', '--yes')
  t.equal(stdout, '2 sales deleted. 1 not found.\n')
  t.strictSame(await left(), ['c'])
  const json = await run('delete', 'sales', 'c', '--yes', '--json')
  t.strictSame(JSON.parse(json.stdout), { deleted: 1, absent: 0 })
})

t.test('the keys may stand in a file', async (t) => {
  const { left, run, write } = await anAccount(t, ['a', 'b', 'c', 'd, e'])
  write({ 'keys.txt': 'a\r\nd, e\r\n\r\n' })
  t.match(await run('delete', 'sales', '--file', 'keys.txt', '--yes'), { stdout: /^2 sales/ })
  write({ 'keys.json': '["b"]' })
  t.match(await run('delete', 'sales', '--file', 'keys.json', '--yes'), { stdout: /^1 sale / })
  t.strictSame(await left(), ['c'])
})

t.test('a byte order mark does not hide the first key of a file', async (t) => {
  const { left, run, write } = await anAccount(t, ['a', 'b', 'c'])
  write({ 'keys.txt': '\ufeffa\r\n' })
  t.match(await run('delete', 'sales', '--file', 'keys.txt', '--yes'), { stdout: /^1 sale / })
  write({ 'keys.json': '\ufeff["b"]' })
  t.match(await run('delete', 'sales', '--file', 'keys.json', '--yes'), { stdout: /^1 sale / })
  t.strictSame(await left(), ['c'])
})

t.test('every kind is deleted by its key', async (t) => {
  const { shop, run } = await anAccount(t)
  await shop.post(schemaPath, { attributes_config: ['code'] })
  const { body: loaded } = await shop.post(entries, [anEntry()])
  await shop.post(agreements, [anAgreement()])
  const [agreement] = (await shop.get('/api/v1/agreement/')).body.results
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name: 'Black Friday', kind: 'amount', value: 1, ...year },
  ])
  const [product] = (await shop.get('/api/v1/product_catalog/')).body.results
  const keys = {
    'competitor-prices': loaded.created[0],
    agreements: String(agreement.id),
    promotions: 'Black Friday',
    products: String(product.extended_catalog_id),
  }
  for (const [kind, key] of Object.entries(keys)) {
    const { stdout } = await run('delete', kind, key, '--yes')
    t.equal(stdout, `1 ${kind.replace('-', ' ').slice(0, -1)} deleted.\n`)
  }
})

t.test('a product that a list holds is named', async (t) => {
  const { shop, run } = await anAccount(t)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  const [product] = (await shop.get('/api/v1/product_catalog/?code=A')).body.results
  const { code, stderr } = await run(
    'delete',
    'products',
    `${product.extended_catalog_id}`,
    '--yes',
  )
  t.equal(code, 1)
  const named = `\\n  ${product.extended_catalog_id}: is in the price list "L"\\n$`
  t.match(stderr, new RegExp(`in a price list.*${named}`))
})

t.test('wrong usage is told before anything is sent', async (t) => {
  const { run, write } = await anAccount(t)
  write({ 'none.txt': '\n' })
  write({ 'bad.json': '{}' })
  t.match(await run('delete', 'sales', '--yes'), { code: 2, stderr: /Give either keys or --file/ })
  t.match(await run('delete', 'sales', 'a', '--file', 'x', '--yes'), { code: 2 })
  t.match(await run('delete', 'sales', '--file', 'x', '--yes'), {
    code: 2,
    stderr: /cannot be read/,
  })
  t.match(await run('delete', 'sales', '--file', 'none.txt', '--yes'), {
    code: 2,
    stderr: /no keys/,
  })
  t.match(await run('delete', 'sales', '--file', 'bad.json', '--yes'), { code: 2, stderr: /array/ })
  write({ 'rows.json': '["a",{"transaction_id":"b"}]' })
  t.match(await run('delete', 'sales', '--file', 'rows.json', '--yes'), {
    code: 2,
    stderr: 'rows.json: item 2 is not a key.\n',
  })
  t.match(await run('delete', 'agreements', 'x', '--yes'), { code: 2, stderr: /"x" is not an id/ })
  t.match(await run('delete', 'prices', 'x', '--yes'), { code: 2 })
})

t.test('a key that cannot be one is named', async (t) => {
  const { run } = await anAccount(t)
  const { code, stderr } = await run('delete', 'competitor-prices', 'Lantern', '--yes')
  t.equal(code, 1)
  t.match(stderr, /^1 error\. .*\n {2}Lantern: must match pattern/)
  const json = await run('delete', 'competitor-prices', 'Lantern', '--yes', '--json')
  t.match(JSON.parse(json.stderr), { errors: [{ pointer: '/0' }] })
})

t.test('a refusal in a later call says what the earlier ones deleted', async (t) => {
  const { run, write, left } = await anAccount(t, ['a', 'b'])
  const keys = ['a', ...Array.from({ length: 100_020 }, (_, index) => `absent ${index}`), 'b']
  write({
    'keys.json': JSON.stringify(
      keys.map((key, at) => (at < 100_000 ? key : `${at}`.padEnd(300, '-'))),
    ),
  })
  const { code, stdout, stderr } = await run('delete', 'sales', '--file', 'keys.json', '--yes')
  t.strictSame([code, stdout], [1, ''])
  t.match(stderr, /^Of the first 100,000 keys: 1 sale deleted\. 99,999 not found\.\n22 errors/)
  t.match(stderr, /\n {2}and 2 more\n$/)
  t.strictSame(await left(), ['b'])
  const json = await run('delete', 'sales', '--file', 'keys.json', '--yes', '--json')
  t.match(JSON.parse(json.stderr), { errors: [{ row: 100_000, pointer: '/100000' }] })
})
