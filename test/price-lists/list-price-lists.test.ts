import t, { type Test } from 'tap'
import { listsPath } from '../helpers/catalog.ts'
import { nextMoment } from '../helpers/clocks.ts'
import { emptyDatabase } from '../helpers/database.ts'
import { hostileTexts } from '../helpers/hostile.ts'
import { expectPaging } from '../helpers/paging.ts'
import { startServiceOn, type TestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()
const path = '/api/v1/price_list/'
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }

t.test('an account without lists has no results', async (t) => {
  const account = await service.newAccount(t)
  const { status, body } = await account.get(path)
  t.strictSame([status, body], [200, { count: 0, results: [] }])
})

t.test('shows each list as it is read alone', async (t) => {
  const account = await service.newAccount(t)
  const lists = [
    { name: 'b', description: 'x', ...year },
    { name: 'a', is_calendar: true, ...year },
  ]
  const created = (await account.post(listsPath, lists)).body
  const { count, results } = (await account.get(path)).body
  t.equal(count, 2)
  for (const [index, { id }] of created.entries()) {
    t.strictSame(results[index], (await account.get(`${path}${id}`)).body)
  }
})

t.test('pages in the order of ids', async (t) => {
  const account = await service.newAccount(t)
  const lists = Array.from({ length: 30 }, (_, index) => ({ name: `L${30 - index}`, ...year }))
  await account.post(listsPath, lists)
  await expectPaging(t, account, path, 'id')
})

t.test('name picks one list, compared code point by code point', async (t) => {
  const account = await service.newAccount(t)
  await account.post(
    listsPath,
    hostileTexts.map((name) => ({ name, ...year })),
  )
  for (const name of hostileTexts) {
    const { body } = await account.get(`${path}?name=${encodeURIComponent(name)}`)
    t.strictSame([body.count, body.results[0].name], [1, name])
  }
  t.strictSame((await account.get(`${path}?name=absent`)).body, { count: 0, results: [] })
})

t.test('a name that no list can have is refused', async (t) => {
  const account = await service.newAccount(t)
  for (const name of ['', 'x'.repeat(256), '%00', '%ff']) {
    const { status, body } = await account.get(`${path}?name=${name}`)
    t.strictSame([status, body.errors[0].pointer], [400, '/query/name'], name)
  }
})

async function expectSearch(t: Test, service: TestService): Promise<void> {
  const account = await service.newAccount(t)
  const names = ['Retail 2026', 'retail 2027', 'Wholesale', 'ÉTÉ', '100% _off_', "'; drop"]
  const greek = ['ΠΡΟΣ ΠΩΛΗΣΗ', 'Προς πώληση', 'ΠΡΟΣΦΟΡΑ']
  await account.post(
    listsPath,
    [...names, ...greek].map((name) => ({ name, ...year })),
  )
  const cases: [string, string[]][] = [
    ['RETAIL', ['Retail 2026', 'retail 2027']],
    ['sale', ['Wholesale']],
    ['été', ['ÉTÉ']],
    ['%', ['100% _off_']],
    ['_', ['100% _off_']],
    ["';", ["'; drop"]],
    ['προς', greek],
    ['προσ', greek],
    ['ΠΡΟΣ', greek],
    ['absent', []],
  ]
  for (const [text, expected] of cases) {
    const { body } = await account.get(`${path}?search=${encodeURIComponent(text)}`)
    t.strictSame(
      body.results.map(({ name }: { name: string }) => name),
      expected,
      text,
    )
    t.equal(body.count, expected.length, text)
  }
}

t.test('search picks the lists whose name contains the text, in any case', async (t) => {
  await expectSearch(t, service)
  const account = await service.newAccount(t)
  for (const text of ['', 'x'.repeat(256), '%00']) {
    const { status, body } = await account.get(`${path}?search=${text}`)
    t.strictSame([status, body.errors[0].pointer], [400, '/query/search'], text)
  }
})

t.test('so it does in a Turkish database', async (t) => {
  const options = `locale_provider icu icu_locale 'tr-TR' locale 'C' encoding 'UTF8'`
  await expectSearch(t, await startServiceOn(t, await emptyDatabase(options)))
})

t.test('row_count is the number of published rows, on request', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  await aList(shop, { name: 'empty' })
  await aList(shop, { name: 'filled' })
  await addProducts(shop, 'filled', [
    { code: 'A', country: 'UK' },
    { code: 'B', country: 'UK' },
  ])
  const { body } = await shop.get(`${path}?include=row_count`)
  const counts = body.results.map((list: Record<string, unknown>) => [list.name, list.row_count])
  t.strictSame(counts, [
    ['empty', 0],
    ['filled', 2],
  ])
  const inactive = { code: 'A', country: 'UK', active: false }
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [inactive])
  await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'filled' })
  const { results } = (await shop.get(`${path}?include=row_count`)).body
  t.equal(results[1].row_count, 1, 'a row that was removed is none')
  const plain = (await shop.get(path)).body.results
  t.notOk(
    plain.some((list: object) => 'row_count' in list),
    'not unless asked for',
  )
  const { status, body: problem } = await shop.get(`${path}?include=rows`)
  t.strictSame([status, problem.errors[0].pointer], [400, '/query/include'])
})

t.test('an account sees its own lists only', async (t) => {
  const [one, other] = [await service.newAccount(t), await service.newAccount(t)]
  await one.post(listsPath, [{ name: 'L', ...year }])
  t.strictSame((await other.get(path)).body, { count: 0, results: [] })
  t.strictSame((await other.get(`${path}?name=L`)).body, { count: 0, results: [] })
})

t.test('changed_after picks lists whose prices or rows have changed since', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  for (const name of ['old', 'new']) await aList(shop, { name })
  await addProducts(shop, 'old', [{ code: 'A', country: 'UK' }])
  const moment = await nextMoment()
  await addProducts(shop, 'new', [{ code: 'A', country: 'UK' }])
  const { body } = await shop.get(`${path}?changed_after=${moment}`)
  t.strictSame(
    body.results.map(({ name }: { name: string }) => name),
    ['new'],
  )
})
