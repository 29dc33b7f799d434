import { sql } from 'kysely'
import { withName } from '../../accounts/queries.ts'
import type { Origin, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { ofList, type PriceList } from '../queries.ts'

/** What a write has changed in a list. */
export interface Change {
  kind: Schemas['RevisionKind']
  origin: Origin
  job?: number | undefined
  /** The plan that the write applies. */
  plan?: number | undefined
  /** The number of cells whose price changed. */
  priced: number
  added: number
  removed: number
  /** The revisions that a revert has undone. */
  reverts?: { from: number; to: number }
  /** When the sender saw the prices. */
  observed_at?: string | undefined
}

/** The revision that a write to a locked list will make. */
export const nextRevision = ({ version }: PriceList): number => version + 1

/**
 * Records a change of a locked list as its next revision and returns that; without a change, the current one. A first
 * publication is a revision even without rows.
 */
export async function recordRevision(
  trx: Trx,
  list: PriceList,
  { origin, job, plan, reverts, observed_at, ...change }: Change,
): Promise<number> {
  const { priced, added, removed } = change
  const isPublication = !['update_prices', 'reprice', 'revert'].includes(change.kind)
  const isChanged = priced + added + removed > 0 || list.version === 0
  if (!isPublication && !isChanged) return list.version
  const before = await raiseRevision(trx, list, { ...change, isPublication, isChanged })
  if (!isChanged) return list.version
  const revision = nextRevision(list)
  // Rounded up to milliseconds, as shown: a client that sends the moment back means this revision. Never before the
  // revision before, even if the clock was set back.
  await trx
    .insertInto('list_revisions')
    .values({
      account_id: list.account_id,
      price_list_id: list.id,
      revision,
      at: sql`greatest(date_trunc('milliseconds', clock_timestamp() + interval '999 microseconds'), ${before}::timestamptz)`,
      origin: JSON.stringify(await withName(trx, list.account_id, origin)),
      job_id: job ?? null,
      plan_id: plan ?? null,
      observed_at:
        observed_at === undefined ? null : sql`${utcTimestamp(observed_at)}::timestamptz`,
      reverts_from: reverts?.from ?? null,
      reverts_to: reverts?.to ?? null,
      // Revisions written by earlier versions of the service may have several.
      slices: 1,
      ...change,
    })
    .execute()
  return revision
}

/** The response header that names the revision shown. */
export const revisionHeader = (revision: number) => ({ 'price-list-revision': String(revision) })

/** Returns the moment of the revision before; null if there is none. */
async function raiseRevision(
  trx: Trx,
  list: PriceList,
  {
    added,
    removed,
    isPublication,
    isChanged,
  }: Pick<Change, 'added' | 'removed'> & { isPublication: boolean; isChanged: boolean },
): Promise<string | null> {
  const { before } = await trx
    .updateTable('price_lists')
    .set({
      ...(isChanged && {
        version: nextRevision(list),
        row_count: list.row_count + added - removed,
      }),
      ...(isPublication && { published_at: sql`statement_timestamp()` }),
    })
    .where('account_id', '=', list.account_id)
    .where('id', '=', list.id)
    .returning(
      sql<string | null>`(
        select at::text from list_revisions
        where ${ofList(list)} and revision = ${list.version})`.as('before'),
    )
    .executeTakeFirstOrThrow()
  return before
}
