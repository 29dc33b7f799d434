import type { Selectable } from 'kysely'
import type { ListRevisions } from '../../../generated/database.d.ts'
import type { Schemas } from '../../contract/operation.ts'
import { withoutAbsent } from '../../contract/read-page.ts'
import type { Trx } from '../../database/pool.ts'
import type { PriceList } from '../queries.ts'

const columns = [
  ...(['revision', 'at', 'kind', 'origin', 'job_id', 'plan_id', 'observed_at'] as const),
  ...(['reverts_from', 'reverts_to', 'voided', 'priced', 'added', 'removed'] as const),
]

/** A query of a list's revisions that can be read, without columns or order. */
export function selectRevisions(
  trx: Trx,
  {
    account_id: account,
    id,
    oldest_revision,
  }: Pick<PriceList, 'account_id' | 'id' | 'oldest_revision'>,
) {
  return trx
    .selectFrom('list_revisions')
    .where('account_id', '=', account)
    .where('price_list_id', '=', id)
    .where('revision', '>=', oldest_revision)
}

/** The columns that `revisionOf` shows, with `revision` also as `id`, by which pages are ordered. */
export const revisionColumns = [...columns, 'revision as id'] as const

export type StoredRevision = Pick<Selectable<ListRevisions>, (typeof columns)[number]>

/** A revision as the contract shows it. */
export function revisionOf(stored: StoredRevision): Schemas['Revision'] {
  const { at, kind, origin, job_id, plan_id, observed_at, reverts_from, reverts_to } = stored
  const isRevert = reverts_from !== null && reverts_to !== null
  return {
    revision: stored.revision,
    at: new Date(at).toISOString(),
    kind: kind as Schemas['RevisionKind'],
    ...(origin as Pick<Schemas['Revision'], 'actor' | 'request_id' | 'note' | 'override'>),
    ...withoutAbsent({ job_id, plan_id }),
    ...(observed_at !== null && { observed_at: new Date(observed_at).toISOString() }),
    ...(isRevert && { reverts: { from: reverts_from, to: reverts_to } }),
    voided: stored.voided,
    priced: stored.priced,
    added: stored.added,
    removed: stored.removed,
  }
}
