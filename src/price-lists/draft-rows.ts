import { type RawBuilder, sql } from 'kysely'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { archiveRowsOf, type IdsText, removeDraftRows } from './publication.ts'
import { noPrices, ofList, type PriceList } from './queries.ts'

/**
 * Adds products to the draft of a locked list without prices, which read as 0. Returns the ids of their rows in product
 * order. A product that the list already has keeps its row.
 */
export async function addDraftRows(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
): Promise<IdsText> {
  await archiveRowsOf(trx, list, productIds)
  const absent = await findAbsent(trx, list, productIds)
  const { ids, left } = await onlyRow<{ ids: IdsText | null; left: number }>(trx)`
    with added as (${insertNew(list, absent)})
    select array_agg(added.id order by position)::text as ids, count(*) - count(added.id) as left
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    left join added using (product_id)`
  return left ? takePresentRows(trx, list, productIds) : (ids ?? '{}')
}

/** Finds the products that have no row: a cluster refuses to do so in the INSERT. */
async function findAbsent(trx: Trx, list: PriceList, productIds: IdsText): Promise<IdsText> {
  const { ids } = await onlyRow<{ ids: IdsText | null }>(trx)`
    select array_agg(p.id)::text as ids
    from products p left join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = p.code and r.extension_key = p.extension_key
    where p.account_id = ${list.account_id} and p.id = any(${productIds}::bigint[]) and r.id is null`
  return ids ?? '{}'
}

/**
 * SQL that inserts rows for products, none of which is in the list, in key order. It has no ON CONFLICT, which would
 * cost a third of the time: every writer that adds or deletes rows holds the list's lock. Without RETURNING, a cluster
 * would use COPY, which row-level security forbids; from a CTE, it would send the rows to every node.
 */
export function insertNew(
  { account_id, id, version, price_dimensions }: PriceList,
  productIds: IdsText,
): RawBuilder<unknown> {
  return sql`
    insert into price_list_rows
      (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version, since)
    select ${account_id}, ${id}, p.id, p.code, p.extensions, p.extension_key,
      ${noPrices(price_dimensions.length)}, ${version + 1}, ${version + 1}
    from products p where p.account_id = ${account_id} and p.id = any(${productIds}::bigint[])
    order by p.code, p.extension_key
    returning id, product_id`
}

/** Returns the ids of the rows of products in product order, after restoring those that the draft has removed. */
async function takePresentRows(trx: Trx, list: PriceList, productIds: IdsText): Promise<IdsText> {
  const { ids, removed } = await onlyRow<Record<'ids' | 'removed', IdsText | null>>(trx)`
    select array_agg(r.id order by position)::text as ids,
      array_agg(r.id) filter (where r.removed_version is not null)::text as removed
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    join products p on p.account_id = ${list.account_id} and p.id = input.product_id
    join price_list_rows r on ${ofList(list, 'r')}
      and r.code = p.code and r.extension_key = p.extension_key`
  if (removed) await restoreRows(trx, list, removed)
  return ids ?? '{}'
}

/** Removes products from the draft of a locked list. Returns the ids of their rows in product order. */
export async function removeProductsFromDraft(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
): Promise<IdsText> {
  const { ids } = await onlyRow<{ ids: IdsText }>(trx)`
    select coalesce(array_agg(r.id order by input.position), '{}')::text as ids
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    join products p on p.account_id = ${list.account_id} and p.id = input.product_id
    join price_list_rows r on ${ofList(list, 'r')}
      and r.code = p.code and r.extension_key = p.extension_key
    where r.removed_version is null`
  if (ids !== '{}') await removeDraftRows(trx, list, ids)
  return ids
}

/** Restores rows that the draft has removed. */
export async function restoreRows(trx: Trx, list: PriceList, rowIds: IdsText): Promise<void> {
  await sql`
    update price_list_rows set removed_version = null
    where ${ofList(list)} and id = any(${rowIds}::bigint[])`.execute(trx)
}
