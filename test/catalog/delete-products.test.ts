import t from 'tap'
import { catalogPath, products, productsPath, smallSchema } from '../helpers/catalog.ts'
import { query } from '../helpers/database.ts'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, rowsOf } from '../helpers/shop.ts'

const path = '/api/v1/product_catalog/bulk_delete/'
const removePath = '/api/v1/prices/bulk_remove_products/'
const service = await sharedService()

/** The ids of products by code. */
async function idsOf(shop: TestAccount): Promise<Record<string, number>> {
  const { results } = (await shop.get(`${catalogPath}?limit=1000`)).body
  return Object.fromEntries(
    results.map((product: { code: string; extended_catalog_id: number }) => [
      product.code,
      product.extended_catalog_id,
    ]),
  )
}

t.test('deletes the products of the ids, and counts those that there are not', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B', 'C'], countries: ['UK'] })
  const { A, C } = await idsOf(shop)
  const { status, body } = await shop.post(path, [C, 9007199254740991, A])
  t.strictSame([status, body], [200, { deleted: 2, absent: 1 }])
  t.strictSame(Object.keys(await idsOf(shop)), ['B'])
})

t.test('attributes go with the last row of their code', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK', 'FR'] })
  const { results } = (await shop.get(catalogPath)).body
  const byCountry = Object.fromEntries(
    results.map((row: { country: string; extended_catalog_id: number }) => [
      row.country,
      row.extended_catalog_id,
    ]),
  )
  await shop.post(path, [byCountry.UK])
  t.match(await products(shop), [{ code: 'A', country: 'FR', description: 'about A' }])
  await shop.post(path, [byCountry.FR])
  await shop.post(productsPath, [uk('A')])
  t.strictSame(await products(shop), [{ code: 'A', country: 'UK', active: true }])
})

t.test('a product that a list holds is 409 with its row, and nothing is deleted', async (t) => {
  const { shop } = await aPricedList(t, service)
  await aList(shop, { name: 'M' })
  await addProducts(shop, 'M', [uk('B')])
  const { A, B, D } = await idsOf(shop)
  const { status, body } = await shop.post(path, [D, B, 9007199254740991, A])
  t.equal(status, 409)
  t.strictSame([body.type, body.error_count], ['product-in-use', 2])
  t.strictSame(body.errors, [
    { pointer: '/1', row: 1, code: 'in_use', message: 'is in the price list "L" and 1 more' },
    { pointer: '/3', row: 3, code: 'in_use', message: 'is in the price list "L"' },
  ])
  t.equal(Object.keys(await idsOf(shop)).length, 4)
})

t.test('a draft holds its products, too, and a removed row holds none', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const { A, B } = await idsOf(shop)
  const row = `account_id = ${shop.id} and price_list_id = ${list.id} and code = 'A'`
  const set = (text: string) =>
    query(service.url, `update price_list_rows set ${text} where ${row}`)
  await set('added_version = 3')
  expectProblem(t, await shop.post(path, [A]), { status: 409, type: 'product-in-use' })
  await set('added_version = 1, removed_version = 3')
  expectProblem(t, await shop.post(path, [A]), { status: 409, type: 'product-in-use' })
  await set('added_version = 1, removed_version = 2')
  t.strictSame((await shop.post(path, [A])).body, { deleted: 1, absent: 0 })
  await shop.post(removePath, { price_list_name: 'L', payload: [uk('B')] })
  t.strictSame((await shop.post(path, [B])).body, { deleted: 1, absent: 0 })
})

t.test('a product that is loaded again is another one, also in the lists', async (t) => {
  const { shop, list, pricesNow } = await aPricedList(t, service)
  const { A } = await idsOf(shop)
  const remove = { price_list_name: 'L', payload: [uk('A')] }
  // A plan that is applied leaves its rows where they are.
  const { body: plan } = await shop.post(`${removePath}?plan=true`, remove)
  await shop.post(`/api/v1/plans/${plan.id}/apply/`, {})
  await shop.post(path, [A])
  await shop.post(productsPath, [uk('A')])
  const { A: again } = await idsOf(shop)
  t.not(again, A)
  await addProducts(shop, 'L', [uk('A')])
  t.match(
    (await rowsOf(shop, list)).find(({ code }) => code === 'A'),
    { extended_catalog_id: again },
  )
  t.match(await pricesNow(), { A: 0 })
})

t.test('the history of a list keeps the rows of a deleted product', async (t) => {
  const { shop, list } = await aPricedList(t, service)
  const { A } = await idsOf(shop)
  await shop.post(removePath, { price_list_name: 'L', payload: [uk('A')] })
  await shop.post(path, [A])
  const past = { price_list_name: 'L', as_of: '2', payload: [uk('A')] }
  t.match((await shop.post('/api/v1/prices/get_prices/', past)).body, [{ active_price: 10 }])
  const rowsAt = `/api/v1/price_list/${list.id}/rows?as_of=2`
  t.match((await shop.get(rowsAt)).body, { count: 3, results: [{ code: 'A' }, {}, {}] })
  const file = await shop.send('GET', rowsAt, undefined, { accept: 'application/x-ndjson' })
  t.match(file.body, /"code":"A"/)
  const reverted = await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 })
  t.match(reverted, { status: 409, body: { errors: [{ code: 'product_gone' }] } })
})

t.test('a plan that adds a deleted product is stale', async (t) => {
  const { shop, apply } = await aPricedList(t, service)
  const add = { price_list_name: 'L', payload: [uk('D')] }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_add_products/?plan=true', add)
  const { D } = await idsOf(shop)
  await shop.post(path, [D])
  t.match(await apply(plan.id), { status: 409, body: { type: 'plan-stale' } })
})

t.test('while a call adds a product, it is not deleted', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  for (let round = 0; round < 10; round++) {
    const { A } = await idsOf(shop)
    const add = { price_list_name: 'L', payload: [uk('A')] }
    const [added, deleted] = await Promise.all([
      shop.post('/api/v1/prices/bulk_add_products/', add),
      shop.post(path, [A]),
    ])
    const held = (await rowsOf(shop, list)).length
    const [status, answer] = held > 0 ? [201, 409] : [400, 200]
    t.strictSame([added.status, deleted.status], [status, answer], `round ${round}`)
    if (deleted.status === 200) await shop.post(productsPath, [uk('A')])
    await shop.post(removePath, { price_list_name: 'L', payload: [uk('A')] })
  }
})

t.test('the products of another account are absent', async (t) => {
  const [mine, theirs] = [
    await aShop(t, service, { codes: ['A'], countries: ['UK'] }),
    await service.newAccount(t),
  ]
  const { A } = await idsOf(mine)
  t.strictSame((await theirs.post(path, [A])).body, { deleted: 0, absent: 1 })
  t.strictSame(Object.keys(await idsOf(mine)), ['A'])
})

t.test('every bad id is named, and nothing is deleted', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { A } = await idsOf(shop)
  const answer = await shop.post(path, [A, 'A', 0, A, null])
  expectFaults(t, answer, ['/1 type', '/2 range', '/3 duplicate_row', '/4 type'])
  expectFaults(t, await shop.post(path, []), [' length'])
  t.strictSame(Object.keys(await idsOf(shop)), ['A'])
})

t.test('10,000 products are looked up in many lists', async (t) => {
  const codes = Array.from({ length: 10_000 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  for (let list = 0; list < 10; list++) await aList(shop, { name: `L${list}` })
  await addProducts(shop, 'L7', [uk('P9999')])
  const ids = Object.values(await allIds(shop))
  const { status, body } = await shop.post(path, ids)
  t.strictSame([status, body.error_count], [409, 1])
  t.strictSame((await shop.post(path, ids.slice(0, -1))).body, { deleted: 9999, absent: 0 })
})

async function allIds(shop: TestAccount): Promise<number[]> {
  const accept = { accept: 'application/x-ndjson' }
  const { body } = await shop.send('GET', catalogPath, undefined, accept)
  const lines: string[] = body.trim().split('\n')
  return lines.map((line) => JSON.parse(line).extended_catalog_id)
}

t.test('an account without columns deletes products by id, too', async (t) => {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    ...smallSchema,
    extensions: [],
  })
  const { body } = await account.post(productsPath, [{ code: 'A' }])
  t.strictSame((await account.post(path, body.created)).body, { deleted: 1, absent: 0 })
})
