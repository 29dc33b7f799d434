import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import type { CurrentJob } from '../jobs/attempt.ts'
import type { ListTurn } from '../jobs/work.ts'
import { lockListOf, type PriceList } from './queries.ts'

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
/** Months of a calendar that are deleted with their rows: as many take some seconds, and a statement has 30. */
const chunkMonths = 250_000
/** The 365 days of a calendar may begin in the middle of a month. */
const monthsMax = 13

/** Takes rows out of the draft; readers see them until the next publication. */
export async function removeDraftRows(trx: Trx, list: PriceList, rowIds: IdsText): Promise<void> {
  await sql`
    update price_list_rows set removed_version = ${list.version + 1}
    where account_id = ${list.account_id} and price_list_id = ${list.id} and id = any(${rowIds}::bigint[])`.execute(
    trx,
  )
}

/**
 * Deletes rows, at most one chunk of them, that no reader sees any more since `version`. Answers how many; undefined:
 * there are none.
 */
export async function deleteRemovedRows(
  trx: Trx,
  list: PriceList,
  version: number,
): Promise<number | undefined> {
  const removed = sql`${ofList(list)} and removed_version <= ${version}`
  const chunk = await findChunk(trx, removed, rowsDeletedAtOnce(list))
  if (!chunk) return undefined
  const { numAffectedRows } = await deleteChunk(removed, chunk).execute(trx)
  return Number(numAffectedRows)
}

/** Deletes the rows of a list that no reader sees since its last publication, chunk by chunk. */
export async function tidyList({ db, account, priceListId, signal }: ListTurn): Promise<void> {
  let isTidy = false
  while (!isTidy && !signal.aborted) {
    isTidy = await inAccount(db, account, async (trx) => {
      const list = await trx
        .selectFrom('price_lists')
        .selectAll()
        .where('account_id', '=', account)
        .where('id', '=', priceListId)
        .executeTakeFirst()
      return !list || (await deleteRemovedRows(trx, list, list.version)) === undefined
    })
  }
}

/** Deletes all rows of a list. */
export function deleteRows(trx: Trx, list: PriceList): Promise<void> {
  return deleteAll(trx, list, ofList(list))
}

const ofList = ({ account_id, id }: PriceList) =>
  sql`account_id = ${account_id} and price_list_id = ${id}`

function deleteAll(trx: Trx, list: PriceList, condition: RawBuilder<unknown>): Promise<void> {
  const change = (chunk: Chunk) => deleteChunk(condition, chunk)
  return inChunks(trx, condition, change, rowsDeletedAtOnce(list))
}

/** A row of a calendar has each of its prices for each month. */
function rowsDeletedAtOnce(list: PriceList): number {
  if (!list.is_calendar) return chunkRows
  const rows = Math.floor(chunkMonths / (monthsMax * list.price_dimensions.length))
  return Math.min(rows, chunkRows)
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
  rows: number,
): Promise<void> {
  let chunk = await findChunk(trx, condition, rows)
  while (chunk) {
    await change(chunk).execute(trx)
    chunk = await findChunk(trx, condition, rows, chunk.last)
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
  limit: number,
  after = 0,
): Promise<Chunk | undefined> {
  const { rows } = await sql<Chunk>`
    select array_agg(id)::text as ids, max(id) as last
    from (
      select id from price_list_rows where ${condition} and id > ${after} order by id limit ${limit}
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

/** Resets the draft of the job's list, if it has one, to the published version. */
export async function undoDraft(trx: Trx, job: CurrentJob): Promise<void> {
  if (job.price_list_id === null) return
  const list = await lockListOf(trx, job)
  await deleteAll(trx, list, sql`${ofList(list)} and added_version > ${list.version}`)
  await inChunks(
    trx,
    sql`${ofList(list)} and removed_version > ${list.version}`,
    ({ ids }) => sql`
      update price_list_rows set removed_version = null where ${ofList(list)} and id = any(${ids}::bigint[])`,
    chunkRows,
  )
}
