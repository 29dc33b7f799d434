import type { Test } from 'tap'
import type { TestAccount, TestService } from './service.ts'

/** An account with these columns and products. */
export async function aShopOf(
  t: Test,
  service: TestService,
  schema: object,
  products: object[] = [],
): Promise<TestAccount> {
  const shop = await service.newAccount(t)
  await expectOk(shop.post('/api/v1/product_catalog/schema/create_schema/', schema))
  if (products.length > 0)
    await expectOk(shop.post('/api/v1/product_catalog/bulk_create_or_update/', products))
  return shop
}

/** An account with a catalog: each code in each country, description "about <code>", two costs. */
export async function aShop(
  t: Test,
  service: TestService,
  { codes, countries }: { codes: string[]; countries: string[] },
): Promise<TestAccount> {
  const columns = {
    attributes: [{ name: 'description', type: 'string' }],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  }
  const products = codes.flatMap((code) =>
    countries.map((country) => ({ code, country, description: `about ${code}` })),
  )
  return aShopOf(t, service, columns, products)
}

/** A draft price list of the year 2026. */
export async function aList(
  shop: TestAccount,
  overrides: Record<string, unknown>,
): Promise<{ id: number; name: string }> {
  const list = { name: 'list', valid_from: '2026-01-01', valid_to: '2026-12-31', ...overrides }
  const { body } = await expectOk(shop.post('/api/v1/price_list/bulk_create/', [list]))
  return body[0]
}

/** Adds products to a list and waits until they are published. */
export async function addProducts(
  shop: TestAccount,
  list: string,
  payload: object[],
): Promise<number[]> {
  const { body } = await expectOk(
    shop.post('/api/v1/prices/bulk_add_products/', { price_list_name: list, payload }),
  )
  return Array.isArray(body) ? body : (await shop.finished(body)).result
}

/**
 * An account with the products of `aShop`, A in the UK unless said otherwise, and a published list "L" of all of them,
 * or of `rows`, with these `settings`; `pks` are the ids of its rows.
 */
export async function aFilledList(
  t: Test,
  service: TestService,
  { codes = ['A'], countries = ['UK'], rows, ...settings }: FilledList = {},
): Promise<{ shop: TestAccount; list: { id: number; name: string }; id: number; pks: number[] }> {
  const shop = await aShop(t, service, { codes, countries })
  const list = await aList(shop, { name: 'L', ...settings })
  const keys = codes.flatMap((code) => countries.map((country) => ({ code, country })))
  const pks = await addProducts(shop, list.name, rows ?? keys)
  return { shop, list, id: list.id, pks }
}

interface FilledList {
  codes?: string[]
  countries?: string[]
  rows?: object[]
  [setting: string]: unknown
}

async function expectOk<T extends { status: number; body: unknown }>(
  request: Promise<T>,
): Promise<T> {
  const response = await request
  if (response.status >= 300) throw new Error(JSON.stringify(response.body))
  return response
}

/** Sets prices; returns the ids of the rows. */
export async function setPrices(
  shop: TestAccount,
  list: string,
  payload: object[],
): Promise<number[]> {
  const body = { price_list_name: list, payload }
  return (await expectOk(shop.post('/api/v1/prices/bulk_update_prices/', body))).body
}

/** The published rows of a list by id; `query` as in `date=2026-01-01`. */
export async function rowsOf(
  shop: TestAccount,
  list: { id: number },
  query = '',
  // biome-ignore lint/suspicious/noExplicitAny: rows have the columns that the account declared.
): Promise<any[]> {
  const path = `/api/v1/price_list/${list.id}/rows?limit=1000&${query}`
  return (await expectOk(shop.get(path))).body.results
}
