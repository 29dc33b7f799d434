import { type Selectable, sql } from 'kysely'
import type { ListRevisions } from '../../../generated/database.d.ts'
import type { Trx } from '../../database/pool.ts'
import { ofList, type PriceList } from '../../price-lists/queries.ts'

/** The revisions of a list from `first` on. */
export interface RevisionsSince {
  first: number
  /** In milliseconds. Earlier revisions count as the first. */
  momentOf: (revision: number) => number
  /** Each revision that was marked as a mistake, with the one that undid it and is no mistake itself. */
  undoneBy: Map<number, number>
  /** The oldest of them, if it is not after the first. */
  oldestMistake: number | undefined
}

/** Finds the revisions from `first` on, and all mistakes. */
export async function findRevisionsSince(
  trx: Trx,
  list: PriceList,
  first: number,
): Promise<RevisionsSince> {
  const { rows } = await sql<StoredRevision>`
    select revision, extract(epoch from at) * 1000 as at, voided, reverts_from, reverts_to from list_revisions
    where ${ofList(list)}
      and (revision >= ${first} or voided or reverts_from is not null)
    order by revision`.execute(trx)
  const moments = new Map(rows.map(({ revision, at }) => [revision, at]))
  const begin = Math.max(moments.get(first) ?? 0, list.oldest_at?.getTime() ?? 0)
  const reverts = rows.filter(({ reverts_from }) => reverts_from !== null)
  const undoneBy = new Map<number, number>()
  for (const { revision } of rows.filter(({ voided }) => voided).reverse())
    undoneBy.set(revision, undoOf(revision, reverts, undoneBy))
  const oldest = Math.min(...undoneBy.keys())
  return {
    first,
    momentOf: (revision) => (revision <= first ? begin : (moments.get(revision) ?? begin)),
    undoneBy,
    oldestMistake: oldest <= first ? oldest : undefined,
  }
}

type StoredRevision = Pick<
  Selectable<ListRevisions>,
  'revision' | 'voided' | 'reverts_from' | 'reverts_to'
> & { at: number }

/** The first revision that undid another one; one that is a mistake counts from its own undo on. */
function undoOf(
  revision: number,
  reverts: StoredRevision[],
  undoneBy: ReadonlyMap<number, number>,
): number {
  const undos = reverts.filter(
    ({ reverts_from, reverts_to }) =>
      (reverts_from ?? Number.POSITIVE_INFINITY) <= revision && revision <= (reverts_to ?? 0),
  )
  return Math.min(...undos.map(({ revision: undo }) => undoneBy.get(undo) ?? undo))
}
