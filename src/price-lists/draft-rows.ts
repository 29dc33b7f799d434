import { type RawBuilder, sql } from 'kysely'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import type { IdsText } from './publication.ts'
import type { PriceList } from './queries.ts'

/**
 * Adds products to the draft at price 0. A product that the published version has keeps its row and prices, even if the
 * draft has removed it.
 */
export async function addDraftRows(trx: Trx, list: PriceList, productIds: IdsText): Promise<void> {
  if (list.is_calendar) await deleteRemovedMonths(trx, list, productIds)
  await sql`${insertFrom(list, productIds)} ${orReturn(list)}`.execute(trx)
}

/** As `addDraftRows`; returns the ids of the rows in the order of the products. */
export async function addDraftRowsWithIds(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
): Promise<IdsText> {
  if (list.is_calendar) await deleteRemovedMonths(trx, list, productIds)
  const added = await insertRows(trx, list, productIds, orReturn(list))
  return added.isComplete ? added.ids : findRowIds(trx, list, productIds)
}

/**
 * As `addDraftRowsWithIds`, for products that are new to the list: a look at each key would take a sixth of the time.
 */
export async function addNewDraftRows(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
): Promise<IdsText> {
  return (await insertRows(trx, list, productIds, sql``)).ids
}

/** On conflict a removed row comes back: with its prices if the published version has it, else as a new row. */
function orReturn({ version }: PriceList): RawBuilder<unknown> {
  const isNew = sql`present.removed_version <= ${version}`
  return sql`
    on conflict (account_id, price_list_id, code, extension_key) do update set
      added_version = case when ${isNew} then excluded.added_version else present.added_version end,
      prices = case when ${isNew} then excluded.prices else present.prices end,
      dynamic_attributes = case when ${isNew} then null else present.dynamic_attributes end,
      removed_version = null
    where present.removed_version is not null`
}

/** SQL that inserts the rows of products in the order of their keys; an `on conflict` may follow. */
function insertFrom(list: PriceList, productIds: IdsText): RawBuilder<unknown> {
  return sql`
    with source as materialized (
      select id, code, extensions, extension_key from products
      where account_id = ${list.account_id} and id = any(${productIds}::bigint[])
      order by code, extension_key
    )
    insert into price_list_rows as present
      (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
    select ${list.account_id}, ${list.id}, id, code, extensions, extension_key,
      ${newPrices(list)}, ${list.version + 1}
    from source`
}

/** SQL of the prices of a new row: 0 in every dimension. */
function newPrices({ price_dimensions }: PriceList): RawBuilder<number[]> {
  return sql`array_fill(0::numeric, array[${price_dimensions.length}::integer])`
}

/** Returns the ids of the inserted rows in the order of the products; incomplete if some were there. */
async function insertRows(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
  onConflict: RawBuilder<unknown>,
): Promise<{ ids: IdsText; isComplete: boolean }> {
  const { rows } = await sql<{ ids: IdsText; isComplete: boolean }>`
    with added as (
      ${insertFrom(list, productIds)} ${onConflict}
      returning id, product_id
    )
    select coalesce(array_agg(added.id order by position), '{}')::text as ids,
      count(added.id) = count(*) as "isComplete"
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    left join added using (product_id)`.execute(trx)
  return rows[0] as { ids: IdsText; isComplete: boolean }
}

/** Deletes the prices of removed rows, which start anew when they are added again. */
async function deleteRemovedMonths(trx: Trx, list: PriceList, productIds: IdsText): Promise<void> {
  await sql`
    delete from calendar_months m
    using price_list_rows r
    where m.account_id = ${list.account_id} and m.price_list_id = ${list.id} and m.row_id = r.id
      and r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.removed_version <= ${list.version} and r.product_id = any(${productIds}::bigint[])`.execute(
    trx,
  )
}

/** Tells the planner about `count` rows that were added to the list. */
export async function analyzeRows(
  trx: Trx,
  { id }: Pick<PriceList, 'id'>,
  count: number,
): Promise<void> {
  const load = { column: 'price_list_id', value: id, rows: count } as const
  await analyzeLoaded(trx, { table: 'price_list_rows', ...load })
}

/** Returns the ids of the products' rows in the order of the products. */
async function findRowIds(trx: Trx, list: PriceList, productIds: IdsText): Promise<IdsText> {
  const { rows } = await sql<{ ids: IdsText }>`
    select coalesce(array_agg(r.id order by input.position), '{}')::text as ids
    from unnest(${productIds}::bigint[]) with ordinality as input (product_id, position)
    join products p on p.account_id = ${list.account_id} and p.id = input.product_id
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = p.code and r.extension_key = p.extension_key`.execute(trx)
  return rows[0]?.ids ?? '{}'
}
