import type { Test } from 'tap'
import type { TestAccount, TestService } from './service.ts'

export const schemaPath = '/api/v1/product_catalog/schema/create_schema/'
export const productsPath = '/api/v1/product_catalog/bulk_create_or_update/'
export const catalogPath = '/api/v1/product_catalog/'
export const listsPath = '/api/v1/price_list/bulk_create/'

/** An account with these columns and products. */
export async function aCatalog(
  t: Test,
  service: TestService,
  schema: object = {},
  products: object[] = [],
): Promise<TestAccount> {
  const account = await service.newAccount(t)
  const answers = [await account.post(schemaPath, schema)]
  if (products.length > 0) answers.push(await account.post(productsPath, products))
  for (const { status, body } of answers) {
    if (status >= 300) throw new Error(JSON.stringify(body))
  }
  return account
}

/** An attribute `color`, an extension `country`, a cost `purchase`. */
export const smallSchema = {
  attributes: [{ name: 'color', type: 'string' }],
  extensions: [{ name: 'country', type: 'string' }],
  costs: [{ name: 'purchase' }],
}

/** A column of each type, named `<prefix><type>`. */
export const typedColumns = (prefix: string) =>
  ['string', 'integer', 'number', 'boolean', 'date'].map((type) => ({
    name: `${prefix}${type}`,
    type,
  }))

/** The products of an account without their ids, in the order of these. */
export async function products({ get }: TestAccount): Promise<object[]> {
  const { body } = await get(`${catalogPath}?limit=1000`)
  return body.results.map(
    ({ extended_catalog_id: _, ...product }: Record<string, unknown>) => product,
  )
}
