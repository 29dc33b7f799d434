import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from './queries.ts'

/** SQL that is true for a row `r` that readers of its list `l` see. */
export const isPublished: RawBuilder<boolean> = sql`
  (r.added_version <= l.version and (r.removed_version is null or r.removed_version > l.version))`

/**
 * Adds products to the draft at price 0; a product that is in the list keeps its row and its prices. Answers nothing:
 * `findRowIds` answers the ids.
 */
export async function addDraftRows(trx: Trx, list: PriceList, productIds: number[]): Promise<void> {
  if (list.is_calendar) await deleteFormerDays(trx, list, productIds)
  await sql`
    with source as materialized (
      select id, code, extensions from products
      where account_id = ${list.account_id} and id = any(${productIds}::bigint[])
      order by code, extensions
    )
    insert into price_list_rows as present
      (account_id, price_list_id, product_id, code, extensions, prices, added_version)
    select ${list.account_id}, ${list.id}, id, code, extensions,
      array_fill(0::numeric, array[${list.price_dimensions.length}::integer]), ${list.version + 1}
    from source
    on conflict (account_id, price_list_id, code, extensions) do update set
      added_version = excluded.added_version, removed_version = null, prices = excluded.prices, dynamic_attributes = null
    where present.removed_version is not null`.execute(trx)
}

/** A row that was removed and comes back starts at price 0 on every day. */
async function deleteFormerDays(trx: Trx, list: PriceList, productIds: number[]): Promise<void> {
  await sql`
    delete from calendar_months
    where account_id = ${list.account_id} and price_list_id = ${list.id} and row_id in (
      select id from price_list_rows
      where account_id = ${list.account_id} and price_list_id = ${list.id}
        and removed_version <= ${list.version} and product_id = any(${productIds}::bigint[])
    )`.execute(trx)
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
      and r.code = p.code and r.extensions = p.extensions
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
