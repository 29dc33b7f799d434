import t from 'tap'
import { catalogPath, productsPath, schemaPath, smallSchema } from '../helpers/catalog.ts'
import { nextMoment } from '../helpers/clocks.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const string = (name: string) => ({ name, type: 'string' })
const uk = { code: 'A', country: 'UK' }
const sized = { extensions: [{ name: 'size', type: 'integer' }], costs: [{ name: 'freight' }] }

/** An account with one product. */
const aShop = () => aShopOf(t, service, smallSchema, [{ ...uk, color: 'red', purchase: 1 }])

/** Deletes all products. */
async function empty(shop: TestAccount): Promise<void> {
  const { results } = (await shop.get(catalogPath)).body
  const ids = results.map((row: { extended_catalog_id: number }) => row.extended_catalog_id)
  const { status, body } = await shop.post('/api/v1/product_catalog/bulk_delete/', ids)
  if (status !== 200) throw new Error(JSON.stringify(body))
}

const messagesOf = (body: { errors?: { message: string }[] }) =>
  body.errors?.map(({ message }) => message)

t.test('with no products left the schema is replaced, and other products are loaded', async (t) => {
  const shop = await aShop()
  t.equal((await shop.post(schemaPath, sized)).status, 409)
  await empty(shop)
  t.equal((await shop.post(schemaPath, sized)).status, 201)
  await shop.post(productsPath, [{ code: 'A', size: 3, freight: 2 }])
  const [product] = (await shop.get(catalogPath)).body.results
  const { extended_catalog_id } = product
  t.strictSame(product, { extended_catalog_id, code: 'A', size: 3, freight: 2, active: true })
})

t.test('what names a column that goes is named, all of it', async (t) => {
  const shop = await aShop()
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  await aList(shop, { name: 'Re"d', product_filters: { color: ['red'], code: ['A'] } })
  await aList(shop, { name: 'Letter', margin_formula: '= Price - D' })
  await aList(shop, { name: 'Quoted', margin_formula: '= Price - "purchase"' })
  await aList(shop, { name: 'Free', margin_formula: '= Price - 1' })
  const terms = { kind: 'amount', value: 1, ...year }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [
    { name: 'Spring', ...terms, product_filters: { country: ['UK'], code: ['A'] } },
    { name: 'Summer', ...terms },
  ])
  const dimensions = { attributes_config: ['code', 'color'] }
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', dimensions)
  await empty(shop)
  const { status, body } = await shop.post(schemaPath, {})
  t.strictSame([status, body.type, body.error_count], [409, 'schema-in-use', 5])
  t.strictSame(messagesOf(body), [
    '"color" in the competitor schema',
    '"color" in the filters of the price list "Re\\"d"',
    '"country" in the filters of the promotion "Spring"',
    '"purchase" in the margin formula of the price list "Letter"',
    '"purchase" in the margin formula of the price list "Quoted"',
  ])
  t.match(body.detail, /"color" in the competitor schema, /)
  t.match(body.errors[0], { pointer: '', code: 'in_use' })
  t.equal((await shop.get('/api/v1/product_catalog/schema/')).body.costs.length, 1)
})

t.test('an open plan of promotions holds the columns that it names', async (t) => {
  const shop = await aShop()
  await empty(shop)
  const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const spring = { name: 'Spring', kind: 'amount', value: 1, product_filters: { color: ['red'] } }
  const path = '/api/v1/promotions/bulk_create_or_update/?plan=true'
  const { body: plan } = await shop.post(path, [{ ...spring, ...year }])
  const refused = await shop.post(schemaPath, sized)
  t.match(refused, { status: 409, body: { type: 'schema-in-use' } })
  t.strictSame(messagesOf(refused.body), [
    `"color" in the filters of the promotion "Spring" in the plan ${plan.id}`,
  ])
  await shop.send('DELETE', `/api/v1/plans/${plan.id}/`)
  t.equal((await shop.post(schemaPath, sized)).status, 201)
})

t.test('a column that stays may be named, and columns may come', async (t) => {
  const shop = await aShop()
  await aList(shop, { name: 'L', product_filters: { color: ['red'] } })
  await aList(shop, { name: 'M', margin_formula: '= Price - "purchase"' })
  await empty(shop)
  const next = {
    attributes: smallSchema.attributes,
    costs: [{ name: 'freight' }, { name: 'purchase' }],
  }
  t.equal((await shop.post(schemaPath, next)).status, 201)
  const list = await aList(shop, { name: 'N' })
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).status, 200)
})

t.test('a formula that names a cost by its letter holds the letter', async (t) => {
  const shop = await aShop()
  await aList(shop, { name: 'L', margin_formula: '= Price - D' })
  await empty(shop)
  const moved = { ...smallSchema, costs: [{ name: 'freight' }, { name: 'purchase' }] }
  t.strictSame(messagesOf((await shop.post(schemaPath, moved)).body), [
    '"purchase" in the margin formula of the price list "L"',
  ])
  const kept = { ...smallSchema, attributes: [string('brand')] }
  t.equal((await shop.post(schemaPath, kept)).status, 201, 'D is purchase as before')
})

t.test('letters inside names and numbers are no letters of costs', async (t) => {
  const shop = await aShopOf(t, service, { costs: [{ name: 'x' }, { name: 'B or D' }] })
  await aList(shop, { name: 'L', margin_formula: '= Price - "B or D" * 1.5' })
  const next = { costs: [{ name: 'y' }, { name: 'B or D' }] }
  t.equal((await shop.post(schemaPath, next)).status, 201)
})

t.test('a list without a formula of its own gets the default of the new columns', async (t) => {
  const shop = await aShop()
  await aList(shop, { name: 'L' })
  await shop.post(schemaPath, {
    ...smallSchema,
    costs: [...smallSchema.costs, { name: 'freight' }],
  })
  await aList(shop, { name: 'M' })
  await empty(shop)
  t.equal((await shop.post(schemaPath, sized)).status, 201)
  const { results } = (await shop.get('/api/v1/price_list/')).body
  const formulas = results.map(({ margin_formula }: { margin_formula: string }) => margin_formula)
  t.strictSame(formulas, ['= (Price - (C)) / Price * 100', '= (Price - (C)) / Price * 100'])
  await shop.post(productsPath, [{ code: 'A', size: 1, freight: 2 }])
  await addProducts(shop, 'L', [{ code: 'A', size: 1 }])
  await setPrices(shop, 'L', [{ code: 'A', size: 1, price: 4 }])
  t.match(await rowsOf(shop, results[0]), [{ margin: { price: 50 } }])
})

t.test('a list goes on with rows of the new columns, and its history begins anew', async (t) => {
  const shop = await aShop()
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [uk])
  await setPrices(shop, 'L', [{ ...uk, price: 4 }])
  const before = await nextMoment()
  const remove = { price_list_name: 'L', payload: [uk] }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_remove_products/?plan=true', remove)
  await shop.post('/api/v1/prices/bulk_remove_products/', remove)
  await empty(shop)
  t.equal((await shop.post(schemaPath, sized)).status, 201)
  await shop.post(productsPath, [{ code: 'A', size: 3 }])
  await addProducts(shop, 'L', [{ code: 'A', size: 3 }])
  t.match(await rowsOf(shop, list), [{ code: 'A', size: 3 }])
  const ofList = `/api/v1/price_list/${list.id}`
  for (const moment of ['2', before])
    t.match(await shop.get(`${ofList}/rows?as_of=${moment}`), {
      status: 409,
      body: { type: 'history-not-kept' },
    })
  t.match((await shop.get(`${ofList}/rows?as_of=3`)).body, { count: 0 })
  t.match((await shop.get(`${ofList}/diff/?from=3`)).body.results, [{ size: 3, change: 'added' }])
  t.equal((await shop.post(`${ofList}/revert/`, { to_revision: 2 })).status, 409)
  const asked = { price_list_name: 'L', payload: [{ code: 'A', size: 3 }] }
  t.equal((await shop.post('/api/v1/prices/get_price_history/', asked)).body[0].history.length, 1)
  t.equal((await shop.get(`/api/v1/plans/${plan.id}/`)).body.status, 'discarded')
  t.strictSame((await shop.get(`/api/v1/plans/${plan.id}/rows/`)).body, { count: 0, results: [] })
})

t.test('the history goes on where the extensions stay', async (t) => {
  const shop = await aShop()
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [uk])
  await shop.post('/api/v1/prices/bulk_remove_products/', { name: 'L', payload: [uk] })
  await empty(shop)
  const { extensions } = smallSchema
  t.equal((await shop.post(schemaPath, { extensions })).status, 201)
  const { body } = await shop.get(`/api/v1/price_list/${list.id}/rows?as_of=1`)
  t.match(body.results, [{ code: 'A', country: 'UK' }])
})

t.test('lists that were there before the first schema get its default formula', async () => {
  const shop = await service.newAccount(t)
  await aList(shop, { name: 'L' })
  await aList(shop, { name: 'Own', margin_formula: '= Price - 1' })
  await shop.post(schemaPath, smallSchema)
  const { results } = (await shop.get('/api/v1/price_list/')).body
  t.match(results, [
    { name: 'L', margin_formula: '= (Price - (D)) / Price * 100' },
    { name: 'Own', margin_formula: '= Price - 1' },
  ])
})
