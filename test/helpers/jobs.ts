import type { Test } from 'tap'
import type { Origin } from '../../src/contract/operation.ts'
import type { TestAccount, TestService } from './service.ts'
import { aList, aShop } from './shop.ts'

export interface BigJob {
  shop: TestAccount
  list: { id: number; name: string }
  /** The response of the call that started it. */
  job: { id: number }
}

/** Who changes something, where it does not matter. */
export const anOrigin: Origin = {
  actor: { type: 'user', id: '1', name: 'ana@acme.example' },
  request_id: 'a-request',
}

/** Codes `P000`, `P001`, ... */
export function someCodes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `P${String(index).padStart(3, '0')}`)
}

/** Starts a job that adds 101 products to the list "L" of a new account. */
export async function aBigJob(t: Test, service: TestService): Promise<BigJob> {
  const shop = await aShop(t, service, { codes: someCodes(101), countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  return { shop, list, job: await addAll(shop, 'L') }
}

/** Starts a job that adds the 101 products to a list. */
export async function addAll(shop: TestAccount, name: string): Promise<{ id: number }> {
  const payload = someCodes(101).map((code) => ({ code, country: 'UK' }))
  const { body } = await shop.post('/api/v1/prices/bulk_add_products/', { name, payload })
  return body
}
