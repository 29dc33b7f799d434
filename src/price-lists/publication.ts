import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { analyzeLoaded } from '../database/statistics.ts'
import type { PriceList } from './queries.ts'

/** SQL that is true for a row `r` that readers of its list `l` see. */
export const isPublished: RawBuilder<boolean> = sql`
  (r.added_version <= l.version and (r.removed_version is null or r.removed_version > l.version))`

/** As `isPublished`, for the rows of one list: its version is read once, and not joined to each row. */
export function isPublishedNow({ account_id, id }: PriceList): RawBuilder<boolean> {
  const version = sql`(select version from price_lists where account_id = ${account_id} and id = ${id})`
  return sql`r.added_version <= ${version} and (r.removed_version is null or r.removed_version > ${version})`
}

/** Ids as an array, or as the text of a Postgres array that came from a statement and was never parsed. */
export type Ids = number[] | string

/** A chunk that was never parsed is taken for a full one. */
function countOf(ids: Ids): number {
  return typeof ids === 'string' ? chunkRows : ids.length
}

/** Rows that one transaction changes: half a second of work, so that other writers of the list get their turn. */
export const chunkRows = 10_000

/**
 * Adds products to the draft at price 0; a product that is in the list keeps its row and its prices, also when the
 * draft has lost it since the last publication. Answers nothing: `findRowIds` answers the ids.
 */
export async function addDraftRows(trx: Trx, list: PriceList, productIds: Ids): Promise<void> {
  if (list.is_calendar) await deleteRemovedMonths(trx, list, productIds)
  const isNew = sql`present.removed_version <= ${list.version}`
  await sql`
    with source as materialized (
      select id, code, extensions, extension_key from products
      where account_id = ${list.account_id} and id = any(${productIds}::bigint[])
      order by code, extension_key
    )
    insert into price_list_rows as present
      (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
    select ${list.account_id}, ${list.id}, id, code, extensions, extension_key,
      array_fill(0::numeric, array[${list.price_dimensions.length}::integer]), ${list.version + 1}
    from source
    on conflict (account_id, price_list_id, code, extension_key) do update set
      added_version = case when ${isNew} then excluded.added_version else present.added_version end,
      prices = case when ${isNew} then excluded.prices else present.prices end,
      dynamic_attributes = case when ${isNew} then null else present.dynamic_attributes end,
      removed_version = null
    where present.removed_version is not null`.execute(trx)
  const load = { column: 'price_list_id', value: list.id, rows: countOf(productIds) } as const
  await analyzeLoaded(trx, { table: 'price_list_rows', ...load })
}

/** A row that was removed and is added again has no prices of its earlier days. */
async function deleteRemovedMonths(trx: Trx, list: PriceList, productIds: Ids): Promise<void> {
  await sql`
    delete from calendar_months m
    using price_list_rows r
    where m.account_id = ${list.account_id} and m.price_list_id = ${list.id} and m.row_id = r.id
      and r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.removed_version <= ${list.version} and r.product_id = any(${productIds}::bigint[])`.execute(
    trx,
  )
}

/** Takes rows out of the draft; readers see them until the next publication. */
export async function removeDraftRows(trx: Trx, list: PriceList, rowIds: Ids): Promise<void> {
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
  // By ctid: right after a publication the statistics say that nothing is removed, and the planner would compare every
  // row with every id. The condition stands twice: a row that is added again meanwhile is not deleted.
  const { numAffectedRows } = await sql`
    delete from price_list_rows
    where ${removed} and ctid = any(array(select ctid from price_list_rows where ${removed} limit ${chunkRows}))`.execute(
    trx,
  )
  return Number(numAffectedRows)
}

/** Makes the draft the published version: one row changes, and readers see all of it at once. */
export async function publish(trx: Trx, list: PriceList): Promise<void> {
  await trx
    .updateTable('price_lists')
    .set({ version: list.version + 1, published_at: new Date() })
    .where('account_id', '=', list.account_id)
    .where('id', '=', list.id)
    .execute()
}

/** Ids of the rows of products, in the order of the products. */
export async function findRowIds(
  trx: Trx,
  list: PriceList,
  productIds: number[],
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select r.id
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    join products p on p.account_id = ${list.account_id} and p.id = input.product_id
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = p.code and r.extension_key = p.extension_key
    order by input.position`.execute(trx)
  return rows.map(({ id }) => id)
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
