import type { TestAccount } from './service.ts'

/** A sale with the required fields only. */
export function aSale(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const required = {
    transaction_id: 'T1',
    code: 'A',
    extension: 'UK',
    quantity: '1',
    revenue: '2.5',
  }
  return { ...required, ...overrides }
}

/** The account's sales by id, without the ids; `query` as in `code=A`. */
export async function salesOf(shop: TestAccount, query = ''): Promise<Record<string, unknown>[]> {
  const { body } = await shop.get(`/api/v1/sales_history/?limit=1000&${query}`)
  return body.results.map(({ id: _, ...sale }: Record<string, unknown>) => sale)
}
