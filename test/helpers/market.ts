import pg from 'pg'
import type { Test } from 'tap'
import type { TestAccount, TestService } from './service.ts'

export const schemaPath = '/api/v1/competitor_prices/schema/create_schema/'
export const loadPath = '/api/v1/competitor_prices/bulk_create_or_update/'
export const listPath = '/api/v1/competitor_prices/'

/** Catalog columns of every type. */
export const catalog = {
  attributes: [
    { name: 'brand', type: 'string' },
    { name: 'season', type: 'string', values: ['summer', 'winter'] },
  ],
  extensions: [
    { name: 'size', type: 'integer' },
    { name: 'weight', type: 'number' },
    { name: 'organic', type: 'boolean' },
    { name: 'since', type: 'date' },
  ],
  costs: [{ name: 'freight' }],
}

/** An account with these catalog columns and a competitor schema. */
export async function aMarket(
  t: Test,
  service: TestService,
  schema: { attributes_config: string[]; is_dated?: boolean },
): Promise<TestAccount> {
  const market = await service.newAccount(t)
  for (const [path, body] of [
    ['/api/v1/product_catalog/schema/create_schema/', catalog],
    [schemaPath, schema],
  ] as const) {
    const response = await market.post(path, body)
    if (response.status !== 201) throw new Error(JSON.stringify(response.body))
  }
  return market
}

/** A competitor price for the schema `["code"]`. */
export function anEntry(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { code: 'A', competitor_name: 'Rival', competitor_price: 2.55, ...overrides }
}

/** Runs statements in an open transaction of this account; returns its commit. */
export async function uncommitted(
  url: string,
  account: number,
  ...statements: string[]
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  for (const text of statements) await client.query(text, [account])
  return async () => {
    await client.query('commit')
    await client.end()
  }
}
