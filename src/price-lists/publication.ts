import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from './queries.ts'

/** SQL that is true for a row `r` that readers of its list `l` see. */
export const isPublished: RawBuilder<boolean> = sql`
  (r.added_version <= l.version and (r.removed_version is null or r.removed_version > l.version))`

/** As `isPublished`, for the rows of one list: its version is read once, and not joined to each row. */
export function isPublishedNow({ account_id, id }: PriceList): RawBuilder<boolean> {
  const version = sql`(select version from price_lists where account_id = ${account_id} and id = ${id})`
  return sql`r.added_version <= ${version} and (r.removed_version is null or r.removed_version > ${version})`
}

/** Ids as the text of a Postgres array: those of a chunk pass through Node and are never parsed. */
export type IdsText = string

/** Rows that one transaction changes: half a second of work, so that other writers of the list get their turn. */
export const chunkRows = 25_000

/** Takes rows out of the draft; readers see them until the next publication. */
export async function removeDraftRows(trx: Trx, list: PriceList, rowIds: IdsText): Promise<void> {
  await sql`
    update price_list_rows set removed_version = ${list.version + 1}
    where account_id = ${list.account_id} and price_list_id = ${list.id} and id = any(${rowIds}::bigint[])`.execute(
    trx,
  )
}

/** Deletes rows, at most one chunk of them, that no reader sees any more since `version`. Answers how many. */
export async function deleteRemovedRows(
  trx: Trx,
  { account_id, id }: Pick<PriceList, 'account_id' | 'id'>,
  version: number,
): Promise<number> {
  const removed = sql`account_id = ${account_id} and price_list_id = ${id} and removed_version <= ${version}`
  return (await deleteChunk(trx, removed)).deleted
}

/**
 * Right after a publication the statistics say that nothing is removed. Whichever way the planner then takes, it looks ids
 * up that it is given, and compares every row with every id that it has to find first: for minutes. The condition stands
 * twice: a row that is added again meanwhile is not deleted.
 */
async function deleteChunk(trx: Trx, condition: RawBuilder<unknown>, after = 0): Promise<Chunk> {
  const { rows } = await sql<{ ids: IdsText | null; last: number | null }>`
    select array_agg(id)::text as ids, max(id) as last
    from (
      select id from price_list_rows where ${condition} and id > ${after} order by id limit ${chunkRows}
    ) as r`.execute(trx)
  const { ids, last } = rows[0] ?? {}
  const { numAffectedRows } = await sql`
    delete from price_list_rows where ${condition} and id = any(${ids ?? '{}'}::bigint[])`.execute(
    trx,
  )
  return { deleted: Number(numAffectedRows), last: last ?? undefined }
}

interface Chunk {
  deleted: number
  /** The last row that was looked at; undefined: there was none. */
  last: number | undefined
}

/** In chunks: one statement that deletes a million rows takes longer than a statement of a request may. */
async function deleteAll(trx: Trx, condition: RawBuilder<unknown>): Promise<void> {
  let last: number | undefined = 0
  while (last !== undefined) last = (await deleteChunk(trx, condition, last)).last
}

/** Deletes all rows of a list. */
export function deleteRows(
  trx: Trx,
  { account_id, id }: Pick<PriceList, 'account_id' | 'id'>,
): Promise<void> {
  return deleteAll(trx, sql`account_id = ${account_id} and price_list_id = ${id}`)
}

/** Makes the draft the published version: one row changes, and readers see all of it at once. */
export async function publish(trx: Trx, list: PriceList): Promise<void> {
  await trx
    .updateTable('price_lists')
    .set({ version: list.version + 1, published_at: sql`clock_timestamp()` })
    .where('account_id', '=', list.account_id)
    .where('id', '=', list.id)
    .execute()
}

/** Takes back what the draft has and the published version has not. */
export async function resetDraft(trx: Trx, list: PriceList): Promise<void> {
  await deleteAll(
    trx,
    sql`account_id = ${list.account_id} and price_list_id = ${list.id} and added_version > ${list.version}`,
  )
  await sql`
    update price_list_rows set removed_version = null
    where account_id = ${list.account_id} and price_list_id = ${list.id} and removed_version > ${list.version}`.execute(
    trx,
  )
}
