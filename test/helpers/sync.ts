import type { TestResponse } from './conformant.ts'
import type { TestAccount } from './service.ts'

/** Codes `P0000`, `P0001`, ... */
export const codes = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `P${String(from + index).padStart(4, '0')}`)

/** Row keys of these codes in one country. */
export const inUk = (names: string[]) => names.map((code) => ({ code, country: 'UK' }))

export const syncPath = '/api/v1/prices/sync_with_catalog/'
export const upsertPath = '/api/v1/product_catalog/bulk_create_or_update/'
export const pricesPath = '/api/v1/prices/bulk_update_prices/'

/** Syncs a list with the catalog. */
export const sync = (shop: TestAccount, name = 'L'): Promise<TestResponse> =>
  shop.post(syncPath, { price_list_name: name })

export interface Row {
  pk: number
  code: string
  country: string
  prices: Record<string, number>
  dynamic_attributes: object
}

/** The rows of a list by code. */
export async function rowsOf(
  shop: TestAccount,
  list: { id: number },
  version = 'published',
): Promise<Row[]> {
  const { body } = await shop.get(
    `/api/v1/price_list/${list.id}/rows?limit=1000&version=${version}`,
  )
  return (body.results as Row[]).sort((a, b) => (a.code < b.code ? -1 : 1))
}

export const pks = (rows: Row[]) => rows.map(({ pk }) => pk)
export const names = (rows: Row[]) => rows.map(({ code }) => code)
