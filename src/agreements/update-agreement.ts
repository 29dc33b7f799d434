import { sql } from 'kysely'
import { rejectOutdated } from '../contract/if-match.ts'
import { mergePatch } from '../contract/merge-patch.ts'
import { Answer, type Schemas, transaction } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest, pointerSegment } from '../contract/row-errors.ts'
import { isViolationOf } from '../database/errors.ts'
import type { Trx } from '../database/pool.ts'
import {
  agreementKey,
  agreementOf,
  etagOf,
  lockAgreement,
  type StoredAgreement,
} from './queries.ts'

type Fields = Schemas['AgreementInput']

/** Merges a patch into an agreement. Returns the agreement with its new ETag. */
export const updateAgreement = transaction<'updateAgreement'>(
  async (trx, { account, params, body, ifMatch }) => {
    const present = await lockAgreement(trx, account, params.id)
    rejectOutdated(ifMatch, etagOf(present))
    const { id: _, ...fields } = agreementOf(present)
    const merged = mergePatch(fields, body) as Partial<Fields>
    rejectIncomplete(merged)
    const written = await writeAgreement(trx, account, present.id, merged as Fields)
    const agreement = written ?? present
    return new Answer(agreementOf(agreement), { etag: etagOf(agreement) })
  },
)

const fieldNames = ['name', 'client_code', 'price_line', 'price_list_code', 'prices'] as const

/**
 * Throws `invalid-request` if the patch removed a required key or emptied a map. The contract has checked what it adds.
 */
function rejectIncomplete(agreement: Partial<Fields>): void {
  const faults: RequestError[] = fieldNames
    .filter((name) => agreement[name] === undefined)
    .map((name) => ({ pointer: `/${name}`, code: 'required', message: 'must not be removed' }))
  const { price_line, prices } = agreement
  const maps: [pointer: string, value: unknown][] = [
    ['/price_line', price_line],
    ['/prices', prices],
    ...Object.entries(prices ?? {}).map(([name, days]): [string, unknown] => [
      `/prices/${pointerSegment(name)}`,
      days,
    ]),
  ]
  for (const [pointer, value] of maps) {
    if (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
      faults.push({ pointer, code: 'length', message: 'must have at least one key left' })
  }
  if (faults.length > 0) throw invalidRequest(faults)
}

/**
 * Writes an agreement that has changed and increments its version. Undefined if nothing changed. Throws
 * `agreement-exists`.
 */
async function writeAgreement(
  trx: Trx,
  account: number,
  id: number,
  agreement: Fields,
): Promise<StoredAgreement | undefined> {
  const { name, client_code, price_list_code, price_line, prices } = agreement
  const columns = sql`name, client_code, price_list_code, price_line, prices`
  const values = sql`${name}::text, ${client_code}::text, ${price_list_code}::text,
    ${JSON.stringify(price_line)}::jsonb, ${JSON.stringify(prices)}::jsonb`
  const update = sql<StoredAgreement>`
    update agreements set (${columns}) = row (${values}),
      key_hash = decode(${agreementKey(agreement)}, 'hex'), version = version + 1
    where account_id = ${account} and id = ${id} and (${columns}) is distinct from (${values})
    returning id, ${columns}, version`
  const { rows } = await update.execute(trx).catch((cause) => {
    if (!isViolationOf('agreements_key', cause)) throw cause
    const detail =
      'Another agreement has this name, client_code, price_list_code and price_line already.'
    throw new Problem('agreement-exists', detail, { cause })
  })
  return rows[0]
}
