import type { Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'

const columns = [
  ...(['revision', 'at', 'kind', 'origin', 'job_id', 'plan_id', 'observed_at'] as const),
  ...(['reverts_from', 'reverts_to', 'voided', 'priced', 'added', 'removed'] as const),
]

/** The revisions of a list. */
export function selectRevisions(trx: Trx, account: number, priceListId: number) {
  return trx
    .selectFrom('list_revisions')
    .where('account_id', '=', account)
    .where('price_list_id', '=', priceListId)
}

/** The columns that `revisionOf` shows; the number twice, since pages are in the order of ids. */
export const revisionColumns = [...columns, 'revision as id'] as const

export interface StoredRevision {
  revision: number
  at: Date
  kind: string
  origin: unknown
  job_id: number | null
  plan_id: number | null
  observed_at: Date | null
  reverts_from: number | null
  reverts_to: number | null
  voided: boolean
  priced: number
  added: number
  removed: number
}

/** A revision as the contract shows it. */
export function revisionOf(stored: StoredRevision): Schemas['Revision'] {
  const {
    revision,
    at,
    kind,
    origin,
    job_id,
    plan_id,
    observed_at,
    voided,
    priced,
    added,
    removed,
  } = stored
  const { reverts_from: from, reverts_to: to } = stored
  return {
    revision,
    at: new Date(at).toISOString(),
    kind: kind as Schemas['RevisionKind'],
    ...(origin as Pick<Schemas['Revision'], 'actor' | 'request_id' | 'note' | 'override'>),
    ...(job_id !== null && { job_id }),
    ...(plan_id !== null && { plan_id }),
    ...(observed_at !== null && { observed_at: new Date(observed_at).toISOString() }),
    ...(from !== null && to !== null && { reverts: { from, to } }),
    voided,
    priced,
    added,
    removed,
  }
}
