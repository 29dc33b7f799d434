import { hash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Agreements } from '../../generated/database.d.ts'
import type { Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

/** An agreement as the operations see it. */
export type StoredAgreement = Omit<Selectable<Agreements>, 'account_id' | 'key_hash' | 'line_code'>

/** The columns of a StoredAgreement. */
export const agreementColumns = [
  'id',
  'name',
  'client_code',
  'price_line',
  'price_list_code',
  'prices',
  'version',
] as const

/** Finds an agreement. Throws `not-found`, also for an agreement of another account. */
export async function findAgreement(
  trx: Trx,
  account: number,
  id: number,
): Promise<StoredAgreement> {
  return (await selectAgreement(trx, account, id).executeTakeFirst()) ?? rejectMissing()
}

/** Finds an agreement and locks it until the transaction ends. Writers wait for each other; readers do not. */
export async function lockAgreement(
  trx: Trx,
  account: number,
  id: number,
): Promise<StoredAgreement> {
  const agreement = selectAgreement(trx, account, id).forNoKeyUpdate()
  return (await agreement.executeTakeFirst()) ?? rejectMissing()
}

function selectAgreement(trx: Trx, account: number, id: number) {
  return trx
    .selectFrom('agreements')
    .select(agreementColumns)
    .where('account_id', '=', account)
    .where('id', '=', id)
}

function rejectMissing(): never {
  throw new Problem('not-found', 'There is no such agreement.')
}

/** An agreement as the contract shows it. */
export function agreementOf({ version: _, ...agreement }: StoredAgreement): Schemas['Agreement'] {
  return agreement as Schemas['Agreement']
}

/** The ETag of an agreement. Each change increments `version`. */
export function etagOf({ version }: StoredAgreement): string {
  return `"${version}"`
}

type KeyFields = Pick<
  Schemas['AgreementInput'],
  'name' | 'client_code' | 'price_list_code' | 'price_line'
>

/**
 * The key of an agreement: SHA-256, in hex, of a canonical text. The order of the keys in `price_line` makes no
 * difference; `1`, `"1"` and `true` are different.
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
