import { sql } from 'kysely'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import type { Revisions } from '../../price-lists/history/changed-cells.ts'
import { insertMonthChanges } from '../../price-lists/history/log-changes.ts'
import { rowsAsOf } from '../../price-lists/history/past-rows.ts'
import { nextRevision } from '../../price-lists/history/record-revision.ts'
import type { ListRows } from '../../price-lists/list-rows.ts'
import { archiveAllRemovedRows, type IdsText } from '../../price-lists/publication.ts'
import { logMoves } from '../../price-lists/publish.ts'
import { noPrices, ofList, type PriceList } from '../../price-lists/queries.ts'
import { mergeMonths, writeMonths } from '../write/set-days.ts'
import { readWritten, type WrittenRow, writeChanged, writtenOf } from '../write/set-prices.ts'

/** How many cells and rows changed. */
interface Moved {
  priced: number
  added: number
  removed: number
}

/** Undoes the changes that `findUndone` found without a conflict, in the list's next revision. */
export async function undo(trx: Trx, list: PriceList, revisions: Revisions): Promise<Moved> {
  const priced = await (list.is_calendar ? restoreDays : restorePrices)(trx, list)
  await sql`
    update price_list_rows set removed_version = ${nextRevision(list)}
    where ${ofList(list)} and id = any(${await movedRows(trx, 'leave')}::bigint[])`.execute(trx)
  await returnRows(trx, list, revisions)
  const moved = await logMoves(trx, list)
  await archiveAllRemovedRows(trx, list, nextRevision(list))
  return { priced, ...moved }
}

/** The ids of rows that leave or return without a conflict. */
async function movedRows(trx: Trx, move: 'leave' | 'return'): Promise<IdsText> {
  const { ids } = await onlyRow<{ ids: IdsText }>(trx)`
    select coalesce(array_agg(row_id), '{}')::text as ids from pg_temp.undone_rows
    where move = ${move} and conflict is null`
  return ids
}

async function restorePrices(trx: Trx, list: PriceList): Promise<number> {
  const places = list.price_dimensions.map((_, index) => index + 1)
  const isOf = (place: number) => sql`dimension = ${sql.lit(place)}`
  const restored = places.map(
    (place) => sql`bool_or(${isOf(place)}) as ${sql.ref(`has_${place}`)},
      max(price) filter (where ${isOf(place)}) as ${sql.ref(`price_${place}`)}`,
  )
  const merged = places.map(
    (place) => sql`
      case when ${sql.ref(`has_${place}`)} then ${sql.ref(`price_${place}`)} else r.prices[${sql.lit(place)}] end`,
  )
  const row = await onlyRow<WrittenRow>(trx)`
    with found as materialized (
      select r.id, r.since, r.prices as old, array[${sql.join(merged)}] as new
      from (
        select row_id, ${sql.join(restored)} from pg_temp.undone_cells where conflict is null group by row_id
      ) as input
      join price_list_rows r on ${ofList(list, 'r')} and r.id = input.row_id
    ), ${writeChanged(list)}
    select ${writtenOf(list)} from found`
  return readWritten(list, row).priced
}

async function restoreDays(trx: Trx, list: PriceList): Promise<number> {
  const input = sql`(
    select row_id, dimension, date_trunc('month', date)::date as month,
      array_agg(extract(day from date)::integer) as days, array_agg(price) as prices
    from pg_temp.undone_cells where conflict is null group by row_id, dimension, date_trunc('month', date)
  ) as input`
  const merged = sql`array(
    select case when place is null then m.prices[d] else input.prices[place] end
    from generate_series(1, ${sql.lit(daysInMonth)}) as d
    cross join lateral (select array_position(input.days, d) as place) as at
    order by d
  )`
  return (await mergeMonths(trx, list, { input, merged })).priced
}

/** Puts rows back with their ids, and with their prices from before the undone revisions. */
async function returnRows(trx: Trx, list: PriceList, { after }: Revisions): Promise<void> {
  const ids = await movedRows(trx, 'return')
  if (ids === '{}') return
  const past = await rowsAsOf(trx, list, after)
  const revision = nextRevision(list)
  // A cluster cannot insert the result of such a SELECT directly.
  await sql`
    create temporary table returned_rows on commit drop as
    select r.id, r.product_id, r.code, r.extensions, r.extension_key, r.prices, r.dynamic_attributes
    from ${past.from}
    where ${ofList(list, 'r')} and r.id = any(${ids}::bigint[])
      and ${past.isMember}`.execute(trx)
  await sql`
    insert into price_list_rows (account_id, price_list_id, id, product_id, code, extensions, extension_key, prices,
      dynamic_attributes, added_version, since)
    overriding system value
    select ${list.account_id}, ${list.id}, id, product_id, code, extensions, extension_key, prices, dynamic_attributes,
      ${revision}, ${revision}
    from pg_temp.returned_rows
    returning id`.execute(trx)
  if (list.is_calendar) await returnMonths(trx, list, past, ids)
}

/** Gives returning rows their former days, and logs these days. */
async function returnMonths(
  trx: Trx,
  list: PriceList,
  past: ListRows,
  ids: IdsText,
): Promise<void> {
  await sql`
    create temporary table returned_months on commit drop as
    select now.row_id, now.dimension, now.month, now.since, now.prices as old,
      coalesce(m.prices, ${noPrices(daysInMonth)}) as new
    from calendar_months now left join ${past.fromMonths} on m.account_id = ${list.account_id}
      and m.price_list_id = ${list.id} and m.row_id = now.row_id and m.dimension = now.dimension and m.month = now.month
    where ${ofList(list, 'now')} and now.row_id = any(${ids}::bigint[])`.execute(trx)
  const change = { revision: nextRevision(list), change: 'added', rows: sql`found` } as const
  await sql`
    with found as materialized (select * from pg_temp.returned_months), ${writeMonths(list)},
    logged as (${insertMonthChanges(list, change)})
    select count(*) from found`.execute(trx)
}
