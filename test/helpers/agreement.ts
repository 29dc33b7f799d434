import type { TestAccount } from './service.ts'

export const loadPath = '/api/v1/agreement/bulk_create_or_update'
export const listPath = '/api/v1/agreement/'

export function anAgreement(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'Frame contract',
    client_code: 'C1',
    price_list_code: 'Retail',
    price_line: { product_code: 'A' },
    prices: { price: 2.35 },
    ...overrides,
  }
}

/** Loads one agreement and returns it as read, with its id. */
export async function loadAgreement(
  account: TestAccount,
  agreement: Record<string, unknown>,
): Promise<Record<string, unknown> & { id: number }> {
  const { status, body } = await account.post(loadPath, [agreement])
  if (status !== 200) throw new Error(JSON.stringify(body))
  const { results } = (await account.get(`${listPath}?limit=1000`)).body
  return results.at(-1)
}
