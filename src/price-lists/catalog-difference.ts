import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import type { Schemas } from '../contract/operation.ts'
import { onlyRow } from '../database/only-row.ts'
import { useLargeMemory } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { insertNew, restoreRows } from './draft-rows.ts'
import { type IdsText, removeDraftRows } from './publication.ts'
import { ofList, type PriceList } from './queries.ts'

/** Counting stops here: a large list or catalog is read once, by the job. */
const countedMax = 1000

/** What a sync of a small list changes. */
export interface SmallDifference {
  /** The number of products in the list or to be added; below 1,000, `added` and `removed` are complete. */
  handled: number
  added: IdsText | null
  removed: IdsText | null
}

/** Counts the products that a sync handles, up to 1,000, and finds what it changes if there are fewer. */
export async function findSmallDifference(
  trx: Trx,
  list: PriceList,
  columns: Columns,
): Promise<SmallDifference> {
  return onlyRow<SmallDifference>(trx)`
    with present as materialized (
      select r.id, r.product_id from ${rowsOf(list)} where r.removed_version is null limit ${countedMax}
    ), wanted as materialized (
      select p.id from ${matchingProducts(list, columns)}
      where (select count(*) from present) < ${countedMax} limit ${countedMax}
    )
    select count(*) as handled,
      array_agg(p.id) filter (where r.id is null)::text as added,
      array_agg(r.id) filter (where p.id is null)::text as removed
    from wanted p full join present r on r.product_id = p.id`
}

/** At least how many rows and products a sync compares: the list's, or the matching products, counted up to `most`. */
export async function countSynced(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  most: number,
): Promise<number> {
  if (list.row_count >= most) return list.row_count
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from (select from ${matchingProducts(list, columns)} limit ${most}) as p`
  return Math.max(list.row_count, count)
}

/** The result of one chunk of a sync. */
export interface SyncedChunk {
  /** The number of products that the sync handles, as far as this chunk saw. */
  handled: number
  /** The number of changes left to later chunks. */
  left: number
  /** The product id that the next chunk starts after. */
  last: number
}

/**
 * Makes the draft of a locked list match the catalog and the filters, for the first `rows` differing products after the
 * product id `after`.
 */
export async function syncChunk(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  { after, rows: most }: { after: number; rows: number },
): Promise<SyncedChunk> {
  await useLargeMemory(trx)
  const { added, removed, restored, ...chunk } = await onlyRow<
    SyncedChunk & Record<'added' | 'removed' | 'restored', IdsText | null>
  >(trx)`
    with source as (
      select coalesce(p.id, r.product_id) as product_id, r.id as row_id, p.id is null as is_removed,
        count(*) over () as changes, count(p.id) over () as additions
      from (select * from ${matchingProducts(list, columns)} where p.id > ${after}) as p
      full join (select * from ${rowsOf(list)} where r.product_id > ${after}) as r on r.product_id = p.id
      where (p.id is null) = (r.id is not null and r.removed_version is null)
      order by 1 limit ${most}
    )
    select coalesce(max(additions), 0)
        + (select count(*) from ${rowsOf(list)} where r.removed_version is null) as handled,
      coalesce(max(changes), 0) - count(*) as left, coalesce(max(product_id), 0) as last,
      array_agg(product_id) filter (where row_id is null)::text as added,
      array_agg(row_id) filter (where is_removed)::text as removed,
      array_agg(row_id) filter (where row_id is not null and not is_removed)::text as restored
    from source`
  if (added)
    await sql`with added as (${insertNew(list, added)}) select count(*) from added`.execute(trx)
  if (removed) await removeDraftRows(trx, list, removed)
  if (restored) await restoreRows(trx, list, restored)
  return chunk
}

/** SQL of a sync's result, before its draft is published: row ids ordered by code and extensions. */
export function syncResult(list: PriceList): RawBuilder<Schemas['SyncResult']> {
  const isAdded = sql`added_version > ${list.version}`
  const ids = (condition: RawBuilder<unknown>) =>
    sql`coalesce(array_to_json(array_agg(id) filter (where ${condition})), '[]')`
  return sql`(
    select json_build_object(
      'added', ${ids(sql`removed_version is null and ${isAdded}`)},
      'removed', ${ids(sql`removed_version > ${list.version} and not ${isAdded}`)},
      'untouched', ${ids(sql`removed_version is null and not ${isAdded}`)}
    )
    from (select r.* from ${rowsOf(list)} order by code, extensions) as r
  )`
}

/** SQL of a FROM item `p` with the active products that the filters allow. */
export function matchingProducts(list: PriceList, columns: Columns): RawBuilder<unknown> {
  const filters = compileFilters(list.product_filters as ProductFilters, columns)
  return sql`(
    select p.id, p.code, p.extensions, p.extension_key from products p
    left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
    where p.account_id = ${list.account_id} and p.active is not false and ${filterSql(filters)}
  ) as p`
}

/** SQL of a FROM item `r` with the rows of the list, including removed ones that are not archived yet. */
function rowsOf(list: PriceList): RawBuilder<unknown> {
  return sql`(
    select id, product_id, code, extensions, added_version, removed_version from price_list_rows
    where ${ofList(list)}
  ) as r`
}
