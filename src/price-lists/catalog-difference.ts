import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { addDraftRows, analyzeRows } from './draft-rows.ts'
import { chunkRows, removeDraftRows } from './publication.ts'
import type { PriceList } from './queries.ts'

/** Products to add or rows to remove, at most one chunk. */
export interface Change {
  kind: 'add' | 'remove'
  /** The items of a Postgres array as text, which Node passes on unread. */
  ids: string
  count: number
}

/** Joins a large list and its catalog in memory; one such statement runs at a time. */
const joinMemory = '64MB'

/** Counting stops here: a large list or catalog is read once, by the job. */
const countedMax = 10_000

/** Counts the products that a sync handles: those in the list and those that it would add. Stops at 10,000. */
export async function countHandled(trx: Trx, list: PriceList, columns: Columns): Promise<number> {
  const { rows } = await sql<{ handled: number }>`
    with present as (select count(*) from (select from ${draftRows(list)} limit ${countedMax}) as r)
    select present.count + (
      select count(*) from (
        select from ${matchingProducts(list, columns)}
        where not exists (select from ${draftRows(list)} where r.product_id = p.id)
        limit (select ${countedMax} - count from present)
      ) as p
    ) as handled
    from present`.execute(trx)
  return rows[0]?.handled ?? 0
}

/** The changes of a sync, found by one statement, and the number of products that it handles. */
export async function findDifference(
  trx: Trx,
  list: PriceList,
  columns: Columns,
): Promise<{ changes: Change[]; handled: number }> {
  await sql.raw(`set local work_mem = '${joinMemory}'`).execute(trx)
  // Postgres joins in parallel because the result is one row; its ids are cut into chunks afterwards.
  const { rows } = await sql<Change | { kind: null; count: number }>`
    with difference as materialized (
      select count(*) as handled, array_agg(p.id) filter (where r.id is null) as added,
        array_agg(r.id) filter (where p.id is null) as removed
      from ${matchingProducts(list, columns)} full join ${draftRows(list)} on r.product_id = p.id
    ), changed as (
      select 'add' as kind, unnest(added) as id from difference
      union all select 'remove', unnest(removed) from difference
    ), chunks as (
      select kind, count(*) as count, string_agg(id::text, ',') as ids from changed
      group by kind, id / ${chunkRows}::bigint
      order by kind, min(id)
    )
    select null as kind, handled as count, null as ids from difference
    union all select * from chunks`.execute(trx)
  const changes: Change[] = []
  let handled = 0
  for (const row of rows) {
    if (row.kind === null) handled = row.count
    else append(changes, row)
  }
  return { changes, handled }
}

/** The number of products in the changes. */
export function sumCounts(changes: Change[]): number {
  return changes.reduce((sum, { count }) => sum + count, 0)
}

/** Applies a change to the draft. */
export async function applyChange(trx: Trx, list: PriceList, change: Change): Promise<void> {
  const ids = `{${change.ids}}`
  if (change.kind === 'remove') return removeDraftRows(trx, list, ids)
  await addDraftRows(trx, list, ids)
  await analyzeRows(trx, list, change.count)
}

/** SQL of the answer of a sync before its draft is published: ids of rows by code and extensions. */
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
    from (
      select id, added_version, removed_version from price_list_rows
      where account_id = ${list.account_id} and price_list_id = ${list.id}
      order by code, extensions
    ) as r
  )`
}

/** Products `p` that the filters allow. */
function matchingProducts(list: PriceList, columns: Columns): RawBuilder<unknown> {
  const filters = compileFilters(list.product_filters as ProductFilters, columns)
  return sql`(
    select p.id from products p
    left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
    where p.account_id = ${list.account_id} and p.active is not false and ${filterSql(filters)}
  ) as p`
}

/** Rows `r` of the draft. */
function draftRows(list: PriceList): RawBuilder<unknown> {
  return sql`(
    select id, product_id from price_list_rows
    where account_id = ${list.account_id} and price_list_id = ${list.id} and removed_version is null
  ) as r`
}

/** Groups of ids may be small; groups are joined to chunks. */
function append(changes: Change[], { kind, ids, count }: Change): void {
  const last = changes.at(-1)
  if (last?.kind !== kind || last.count + count > chunkRows) changes.push({ kind, ids, count })
  else {
    last.ids += `,${ids}`
    last.count += count
  }
}
