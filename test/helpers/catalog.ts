import pg from 'pg'
import type { TestAccount } from './service.ts'

export const schemaPath = '/api/v1/product_catalog/schema/create_schema/'
export const productsPath = '/api/v1/product_catalog/bulk_create_or_update/'
export const catalogPath = '/api/v1/product_catalog/'
export const listsPath = '/api/v1/price_list/bulk_create/'

/** Attribute `color`, extension `country`, cost `purchase`. */
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

/** The account's products by id, without the ids. */
export async function products({ get }: TestAccount): Promise<object[]> {
  const { body } = await get(`${catalogPath}?limit=1000`)
  return body.results.map(
    ({ extended_catalog_id: _, ...product }: Record<string, unknown>) => product,
  )
}

/** Renames a column in an open transaction; returns its commit. */
export async function renameColumn(
  url: string,
  account: number,
  name: string,
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query('select from accounts where id = $1 for update', [account])
  const text = "update catalog_columns set name = name || '!' where account_id = $1 and name = $2"
  await client.query(text, [account, name])
  return async () => {
    await client.query('commit')
    await client.end()
  }
}
