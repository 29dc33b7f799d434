import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { compileFilters, filterSql, type ProductFilters } from './product-filters.ts'
import { addDraftRows, chunkRows, removeDraftRows } from './publication.ts'
import type { PriceList } from './queries.ts'

/** Products to add or rows to remove, few enough for one transaction. */
export interface Change {
  kind: 'add' | 'remove'
  /** A Postgres array as text: Node passes it on and never reads it. */
  ids: string
  count: number
}

/** How many products a sync handles: those in the list, and those that it would add. */
export async function countHandled(trx: Trx, list: PriceList, columns: Columns): Promise<number> {
  const { rows } = await sql<{ handled: number }>`
    select count(*) as handled from ${matchedRows(list, columns)}`.execute(trx)
  return rows[0]?.handled ?? 0
}

/** What a sync has to change in the draft, found by one statement, and how many products it handles in all. */
export async function findDifference(
  trx: Trx,
  list: PriceList,
  columns: Columns,
): Promise<{ changes: Change[]; handled: number }> {
  const { rows } = await sql<{ kind: Change['kind'] | 'keep'; ids: string; count: number }>`
    select kind, count(*) as count, string_agg(id::text, ',') as ids
    from (
      select
        case when r.id is null then 'add' when p.id is null then 'remove' else 'keep' end as kind,
        case when r.id is null then p.id when p.id is null then r.id end as id
      from ${matchedRows(list, columns)}
    ) as compared
    group by kind, id / ${chunkRows}::bigint
    order by kind, min(id)`.execute(trx)
  const changes: Change[] = []
  for (const { kind, ids, count } of rows)
    if (kind !== 'keep') append(changes, { kind, ids, count })
  return { changes, handled: rows.reduce((sum, { count }) => sum + count, 0) }
}

/** Makes one change to the draft. */
export async function applyChange(trx: Trx, list: PriceList, change: Change): Promise<void> {
  const ids = `{${change.ids}}`
  await (change.kind === 'add' ? addDraftRows : removeDraftRows)(trx, list, ids)
}

/** SQL of the answer of a sync whose draft is not published yet: the ids of the rows by code and extensions. */
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

/** Every product `p` that the filters allow beside its row `r` of the draft; one of the two may be missing. */
function matchedRows(list: PriceList, columns: Columns): RawBuilder<unknown> {
  const filters = compileFilters(list.product_filters as ProductFilters, columns)
  return sql`(
      select p.id from products p
      left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
      where p.account_id = ${list.account_id} and p.active is not false and ${filterSql(filters)}
    ) as p
    full join (
      select id, product_id from price_list_rows
      where account_id = ${list.account_id} and price_list_id = ${list.id} and removed_version is null
    ) as r on r.product_id = p.id`
}

/** Ids come in groups that may be small; a chunk takes groups until it is full. */
function append(changes: Change[], { kind, ids, count }: Change): void {
  const last = changes.at(-1)
  if (last?.kind !== kind || last.count + count > chunkRows) changes.push({ kind, ids, count })
  else {
    last.ids += `,${ids}`
    last.count += count
  }
}
