import { type RawBuilder, sql } from 'kysely'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { isMemberAt } from '../list-rows.ts'
import { ofList, type PriceList } from '../queries.ts'
import { changedCells, joinKeys, keyedCells, type Revisions } from './changed-cells.ts'

/**
 * SQL of a FROM item `cell` with the cells that differ: pk and product of the newer row, key, dimension, date, old and
 * new price (null where none was set), and whether the row was in the list before (`was`) and after (`is_now`). A row
 * that was removed and came back is compared by its first and last state.
 */
export async function differentCells(
  trx: Trx,
  list: PriceList,
  revisions: Revisions,
): Promise<RawBuilder<unknown>> {
  const { changes, moves } = await onlyRow<{ changes: number; moves: number }>(trx)`
    select coalesce(sum(priced + added + removed), 0) as changes, coalesce(sum(added + removed), 0) as moves
    from list_revisions
    where ${ofList(list)}
      and revision > ${revisions.after} and revision <= ${revisions.until}`
  return (moves > 0 ? cellsByKey : cellsByRow)(list, revisions, changes)
}

const ends = sql`(array_agg(cell.old order by cell.revision))[1] as first_old,
  (array_agg(cell.new order by cell.revision desc))[1] as last_new`

/** `differentCells` if no row was added or removed: needs a quarter of the lookups. */
function cellsByRow(list: PriceList, revisions: Revisions, changes: number): RawBuilder<unknown> {
  const key = sql`product_id, code, extension_key, extensions`
  const { columns, changed, keys } = list.is_calendar
    ? { columns: sql`row_id, ${key}`, changed: keyedCells(list, revisions), keys: sql`` }
    : {
        columns: sql`row_id`,
        changed: changedCells(list, revisions),
        keys: joinKeys(list, changes),
      }
  // One revision changes a cell once, and grouping a million takes seconds.
  const cells =
    revisions.until - revisions.after === 1
      ? sql`select ${columns}, dimension, date, old as first_old, new as last_new from ${changed}`
      : sql`select ${columns}, dimension, date, ${ends} from ${changed} group by ${columns}, dimension, date`
  return sql`(
    select row_id as pk, ${key}, dimension, date, first_old as old, last_new as new, true as was, true as is_now
    from (${cells}) as cell ${keys}
    where first_old is distinct from last_new
  ) as cell`
}

function cellsByKey(list: PriceList, revisions: Revisions, changes: number): RawBuilder<unknown> {
  const { after, until } = revisions
  const isAt = (revision: number) => isMemberAt(revision, sql`rows`)
  const newest = sql`${isAt(until)} desc, ${isAt(after)} desc`
  return sql`(
    select row.pk, row.product_id, cell.code, cell.extension_key, cell.extensions, cell.dimension, cell.date,
      cell.first_old as old, cell.last_new as new, row.was, row.is_now
    from (
      select code, extension_key, extensions, dimension, date, ${ends}
      from ${keyedCells(list, revisions, changes)}
      group by code, extension_key, extensions, dimension, date
    ) as cell
    cross join lateral (
      select bool_or(${isAt(after)}) as was, bool_or(${isAt(until)}) as is_now,
        (array_agg(id order by ${newest}))[1] as pk, (array_agg(product_id order by ${newest}))[1] as product_id
      from ${rowsWithKey(list, sql`cell`)}
    ) as row
    where (row.was or row.is_now) and (row.was <> row.is_now or cell.first_old is distinct from cell.last_new)
      and ${list.is_calendar ? isPriced : sql`true`}
  ) as cell`
}

/** For a row that was added or removed, only days with a price are shown. */
const isPriced = sql`(row.was and cell.first_old is not null or row.is_now and cell.last_new is not null)`

/** SQL of a FROM item `rows` with all rows, present and past, that had this key in a list. */
export function rowsWithKey(list: PriceList, key: RawBuilder<unknown>): RawBuilder<unknown> {
  const isKey = sql`${ofList(list)} and code = ${key}.code
    and extension_key = ${key}.extension_key`
  return sql`(
    select id, product_id, added_version, removed_version from price_list_rows where ${isKey}
    union all
    select row_id, product_id, added_version, removed_version from removed_rows where ${isKey}
  ) as rows`
}
