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
export function deleteRemovedRows(
  trx: Trx,
  { account_id, id }: Pick<PriceList, 'account_id' | 'id'>,
  version: number,
): Promise<number> {
  return deleteChunk(
    trx,
    sql`account_id = ${account_id} and price_list_id = ${id} and removed_version <= ${version}`,
  )
}

/** Deletes rows, at most one chunk of them, of a list that is deleted. Answers how many. */
export function deleteRowsOfDeleted(
  trx: Trx,
  { account_id, id }: Pick<PriceList, 'account_id' | 'id'>,
): Promise<number> {
  return deleteChunk(trx, sql`account_id = ${account_id} and price_list_id = ${id}`)
}

/**
 * Right after a publication the statistics say that nothing is removed. Whichever way the planner then takes, it looks ids
 * up that it is given, and compares every row with every id that it has to find first: for minutes. The condition stands
 * twice: a row that is added again meanwhile is not deleted.
 */
async function deleteChunk(trx: Trx, condition: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ ids: IdsText | null }>`
    select array_agg(id)::text as ids
    from (select id from price_list_rows where ${condition} order by id limit ${chunkRows}) as r`.execute(
    trx,
  )
  const ids = rows[0]?.ids ?? '{}'
  const { numAffectedRows } = await sql`
    delete from price_list_rows where ${condition} and id = any(${ids}::bigint[])`.execute(trx)
  return Number(numAffectedRows)
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
  await sql`
    delete from price_list_rows
    where account_id = ${list.account_id} and price_list_id = ${list.id} and added_version > ${list.version}`.execute(
    trx,
  )
  await sql`
    update price_list_rows set removed_version = null
    where account_id = ${list.account_id} and price_list_id = ${list.id} and removed_version > ${list.version}`.execute(
    trx,
  )
}
