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
  const chunk = await findChunk(trx, removed)
  if (!chunk) return 0
  const { numAffectedRows } = await deleteChunk(removed, chunk).execute(trx)
  return Number(numAffectedRows)
}

/** Deletes all rows of a list. */
export function deleteRows(
  trx: Trx,
  { account_id, id }: Pick<PriceList, 'account_id' | 'id'>,
): Promise<void> {
  return deleteAll(trx, sql`account_id = ${account_id} and price_list_id = ${id}`)
}

function deleteAll(trx: Trx, condition: RawBuilder<unknown>): Promise<void> {
  return inChunks(trx, condition, (chunk) => deleteChunk(condition, chunk))
}

/** The condition stands there again: a row that is added again meanwhile is not deleted. */
function deleteChunk(condition: RawBuilder<unknown>, { ids }: Chunk): RawBuilder<unknown> {
  return sql`delete from price_list_rows where ${condition} and id = any(${ids}::bigint[])`
}

/** Changes the rows that meet a condition: one statement for a million rows takes longer than one of a request may. */
async function inChunks(
  trx: Trx,
  condition: RawBuilder<unknown>,
  change: (chunk: Chunk) => RawBuilder<unknown>,
): Promise<void> {
  let chunk = await findChunk(trx, condition)
  while (chunk) {
    await change(chunk).execute(trx)
    chunk = await findChunk(trx, condition, chunk.last)
  }
}

interface Chunk {
  ids: IdsText
  last: number
}

/**
 * Right after a publication the statistics say that nothing is removed. Whichever way the planner then takes, it looks ids
 * up that it is given, and compares every row with every id that it has to find first: for minutes.
 */
async function findChunk(
  trx: Trx,
  condition: RawBuilder<unknown>,
  after = 0,
): Promise<Chunk | undefined> {
  const { rows } = await sql<Chunk>`
    select array_agg(id)::text as ids, max(id) as last
    from (
      select id from price_list_rows where ${condition} and id > ${after} order by id limit ${chunkRows}
    ) as r
    having count(*) > 0`.execute(trx)
  return rows[0]
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
  const ofList = sql`account_id = ${list.account_id} and price_list_id = ${list.id}`
  await deleteAll(trx, sql`${ofList} and added_version > ${list.version}`)
  await inChunks(
    trx,
    sql`${ofList} and removed_version > ${list.version}`,
    ({ ids }) => sql`
      update price_list_rows set removed_version = null where ${ofList} and id = any(${ids}::bigint[])`,
  )
}
