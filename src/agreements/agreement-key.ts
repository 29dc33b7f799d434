import { hash } from 'node:crypto'
import type { Schemas } from '../contract/operation.ts'

type KeyFields = Pick<
  Schemas['AgreementInput'],
  'name' | 'client_code' | 'price_list_code' | 'price_line'
>

/**
 * What identifies an agreement, as SHA-256 in hex of one canonical text: the same for every order of the keys in
 * `price_line`, different for `1`, `"1"` and `true`.
 */
export function agreementKey({
  name,
  client_code,
  price_list_code,
  price_line,
}: KeyFields): string {
  const line = Object.entries(price_line).sort(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify([name, client_code, price_list_code, line]), 'hex')
}
