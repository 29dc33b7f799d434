import { type RawBuilder, sql } from 'kysely'
import { onlyRow } from '../database/only-row.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import type { CurrentJob } from '../jobs/attempt.ts'
import type { HeldList } from '../jobs/work.ts'
import { lockListOf, ofList, type PriceList, rowOfList } from './queries.ts'

/** Ids as the text of a Postgres array, which Node passes on without parsing. */
export type IdsText = string

/** Rows that one transaction changes, in about half a second, so that other writers of the list do not wait long. */
export const chunkRows = 25_000

/** Removes rows from the draft; readers see them until the next publication. */
export async function removeDraftRows(trx: Trx, list: PriceList, rowIds: IdsText): Promise<void> {
  await sql`
    update price_list_rows set removed_version = ${list.version + 1}
    where ${ofList(list)} and id = any(${rowIds}::bigint[])`.execute(trx)
}

/**
 * Moves at most one chunk of the rows removed up to `version` to the history. Returns whether there were any. The list
 * must be locked.
 */
export async function archiveRemovedChunk(
  trx: Trx,
  list: PriceList,
  version: number,
): Promise<boolean> {
  const removed = sql`${ofList(list)} and removed_version <= ${version}`
  const chunk = await findChunk(trx, removed)
  if (chunk) {
    await archiveRows(trx, list, chunk.ids)
    await analyzeLoaded(trx, { table: 'removed_rows', owner: list.id, rows: chunk.rows })
  }
  return chunk !== undefined
}

/** As `archiveRemovedChunk`, for all of them. */
export async function archiveAllRemovedRows(
  trx: Trx,
  list: PriceList,
  version: number,
): Promise<void> {
  while (await archiveRemovedChunk(trx, list, version));
}

/** Moves rows that have left a list to the history; their months stay where they are. */
async function archiveRows(trx: Trx, list: PriceList, ids: IdsText): Promise<void> {
  const columns = sql`product_id, code, extensions, extension_key, prices, dynamic_attributes, since, added_version,
    removed_version`
  await sql`
    with gone as (
      delete from price_list_rows where ${ofList(list)} and id = any(${ids}::bigint[]) returning *
    ), kept as (
      insert into removed_rows as kept (account_id, price_list_id, row_id, ${columns})
      select l.account_id, l.id, gone.id, ${columns} from ${rowOfList(list)} cross join gone
      on conflict do nothing returning kept.row_id
    )
    select count(*) from kept`.execute(trx)
}

/**
 * As `archiveRemovedChunk`, for rows with the keys of these products, which come back as new rows. A row may belong to a
 * deleted product with the same key.
 */
export async function archiveRowsOf(trx: Trx, list: PriceList, productIds: IdsText): Promise<void> {
  const { ids } = await onlyRow<{ ids: IdsText | null }>(trx)`
    select array_agg(r.id)::text as ids from price_list_rows r
    join products p on p.account_id = ${list.account_id} and p.code = r.code and p.extension_key = r.extension_key
    where ${ofList(list, 'r')} and r.removed_version <= ${list.version}
      and p.id = any(${productIds}::bigint[])`
  if (ids) await archiveRows(trx, list, ids)
}

/**
 * Moves the rows removed up to the published version to the history, chunk by chunk, then updates the planner's
 * statistics. Until then, a statement may scan the whole list once.
 */
export async function tidyList({ db, account, priceListId, signal }: HeldList): Promise<void> {
  const archiveSome = async (trx: Trx) => {
    const list = await trx
      .selectFrom('price_lists')
      .selectAll()
      .where('account_id', '=', account)
      .where('id', '=', priceListId)
      .forNoKeyUpdate()
      .executeTakeFirst()
    return list !== undefined && archiveRemovedChunk(trx, list, list.version)
  }
  let hasMore = true
  while (hasMore && !signal.aborted) hasMore = await inAccount(db, account, archiveSome)
  if (!signal.aborted) await inAccount(db, account, (trx) => analyzeList(trx, account, priceListId))
}

/** More rows than this make no difference to `analyzeLoaded`. */
const countedMax = 2000

async function analyzeList(trx: Trx, account: number, id: number): Promise<void> {
  const { count: rows } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from (
      select from price_list_rows where account_id = ${account} and price_list_id = ${id} limit ${countedMax}
    ) as r`
  await analyzeLoaded(trx, { table: 'price_list_rows', owner: id, rows })
}

/** The tables of a list's rows and history, each with the column of its key by which it is deleted in steps. */
const listTables = {
  price_list_rows: 'id',
  calendar_months: 'row_id',
  list_revisions: 'revision',
  list_changes: 'revision',
  calendar_changes: 'revision',
  removed_rows: 'row_id',
  confirmed_prices: 'row_id',
}

/**
 * Deletes all rows of a list and their history. The list must be locked. There are no cascading foreign keys: they would
 * cost a lookup for each row added.
 */
export async function deleteRows(trx: Trx, list: PriceList): Promise<void> {
  for (const [table, column] of Object.entries(listTables))
    await deleteInSteps(trx, list, sql.table(table), sql.ref(column))
}

/** One statement for a million rows would exceed its timeout. */
async function deleteInSteps(
  trx: Trx,
  list: PriceList,
  table: RawBuilder<unknown>,
  column: RawBuilder<unknown>,
): Promise<void> {
  let after = -1
  for (;;) {
    // Without its lower bound, a step would read all rows that the earlier ones deleted.
    const left = sql`${ofList(list)} and ${column} > ${after}`
    const { last } = await onlyRow<{ last: number | null }>(trx)`
      select max(step) as last from (
        select ${column} as step from ${table} where ${left} order by ${column} limit ${chunkRows}
      ) as steps`
    if (last === null) return
    await sql`delete from ${table} where ${left} and ${column} <= ${last}`.execute(trx)
    after = last
  }
}

/** Changes the rows that meet a condition chunk by chunk, as `deleteInSteps` does. */
async function inChunks(
  trx: Trx,
  condition: RawBuilder<unknown>,
  change: (chunk: Chunk) => Promise<unknown>,
): Promise<void> {
  let chunk = await findChunk(trx, condition)
  while (chunk) {
    await change(chunk)
    chunk = await findChunk(trx, condition, chunk.last)
  }
}

interface Chunk {
  ids: IdsText
  rows: number
  last: number
}

/**
 * Selects ids first. Right after a publication, the statistics say that no row is removed, and one statement with the
 * condition would compare every row with every id, for minutes.
 */
async function findChunk(
  trx: Trx,
  condition: RawBuilder<unknown>,
  after = 0,
): Promise<Chunk | undefined> {
  const { rows } = await sql<Chunk>`
    select array_agg(id)::text as ids, count(*)::integer as rows, max(id) as last
    from (
      select id from price_list_rows where ${condition} and id > ${after} order by id limit ${chunkRows}
    ) as r
    having count(*) > 0`.execute(trx)
  return rows[0]
}

/** Resets the draft of the job's list, if it has one, to the published version. */
export async function undoDraft(trx: Trx, job: CurrentJob): Promise<void> {
  if (job.price_list_id === null) return
  const list = await lockListOf(trx, job)
  // Draft rows have no prices of days.
  await inChunks(trx, sql`${ofList(list)} and added_version > ${list.version}`, ({ ids }) =>
    sql`delete from price_list_rows where ${ofList(list)} and id = any(${ids}::bigint[])`.execute(
      trx,
    ),
  )
  await inChunks(trx, sql`${ofList(list)} and removed_version > ${list.version}`, ({ ids }) =>
    sql`
      update price_list_rows set removed_version = null
      where ${ofList(list)} and id = any(${ids}::bigint[])`.execute(trx),
  )
}
