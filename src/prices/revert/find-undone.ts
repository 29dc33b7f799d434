import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../../catalog/columns.ts'
import { Problem, type RequestError } from '../../contract/problem.ts'
import { listedMax } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { changedCells, type Revisions } from '../../price-lists/history/changed-cells.ts'
import { differentCells, rowsWithKey } from '../../price-lists/history/different-cells.ts'
import { everyRow, isMemberAt, joinProducts } from '../../price-lists/list-rows.ts'
import { ofList, type PriceList } from '../../price-lists/queries.ts'
import { placeOfCell, type StoredCell } from '../payload.ts'

/** How many products an undo concerns, and how many of its changes conflict. */
export interface UndoCounts {
  products: number
  conflicts: number
}

/**
 * Finds what undoing revisions changes. Fills two temporary tables: `undone_cells` with cells and their former prices,
 * `undone_rows` with rows that leave or return. `conflict` says why one cannot be undone. The list must be locked, and
 * its removed rows archived.
 */
export async function findUndone(
  trx: Trx,
  list: PriceList,
  revisions: Revisions,
): Promise<UndoCounts> {
  const cells = await differentCells(trx, list, revisions)
  const moves = laterMoves(list, revisions)
  await sql`
    create temporary table undone_cells on commit drop as
    select cell.pk as row_id, cell.code, cell.extensions, cell.dimension, cell.date, cell.old as price, cell.new as held,
      case when later.row_id is not null or ${moves.isMoved} then 'changed_since' end as conflict
    from ${cells} left join ${laterCells(list, revisions)}
      on later.row_id = cell.pk and later.dimension = cell.dimension ${list.is_calendar ? sql`and later.date = cell.date` : sql``}
    ${moves.join}
    where cell.was and cell.is_now`.execute(trx)
  await sql`
    create temporary table undone_rows on commit drop as
    ${rowsThatLeave(list, revisions)} union all ${rowsThatReturn(list, revisions)}`.execute(trx)
  // Without statistics, a later join compared each of 100,000 cells with every row of the list.
  await sql`analyze pg_temp.undone_cells, pg_temp.undone_rows`.execute(trx)
  return onlyRow<UndoCounts>(trx)`
    select count(distinct row_id) as products, count(conflict) as conflicts
    from (select row_id, conflict from pg_temp.undone_cells union all select row_id, conflict from pg_temp.undone_rows) as u`
}

/** SQL of a FROM item `later` with the cells that were changed again later. */
function laterCells(list: PriceList, { until }: Revisions): RawBuilder<unknown> {
  const later = changedCells(list, { after: until, until: list.version })
  return sql`(select distinct row_id, dimension, date from ${later}) as later`
}

/** SQL of whether a `cell`'s row was added or removed later. In a calendar list, only days with a price show that. */
function laterMoves(list: PriceList, { until }: Revisions) {
  if (!list.is_calendar) return { join: sql``, isMoved: sql`false` }
  const join = sql`
    left join (
      select distinct unnest(row_ids) as row_id from list_changes
      where ${ofList(list)} and revision > ${until} and change <> 'priced'
    ) as moved on moved.row_id = cell.pk`
  return { join, isMoved: sql`moved.row_id is not null` }
}

/** SQL of the added rows, which leave. */
function rowsThatLeave(list: PriceList, revisions: Revisions): RawBuilder<unknown> {
  const { after, until } = revisions
  const columns = sql`code, extensions, extension_key, added_version, removed_version, since`
  const isChangedMonth = list.is_calendar
    ? sql`or exists (select from calendar_months where ${ofList(list)} and row_id = r.id and since > ${until})`
    : sql``
  return sql`
    select r.id as row_id, r.code, r.extensions, 'leave' as move,
      case when r.removed_version is not null or r.since > ${until} ${isChangedMonth} then 'changed_since' end as conflict
    from ${everyRow(list, columns)} as r
    where r.added_version > ${after} and ${isMemberAt(until)}
      and not exists (select from ${rowsWithKey(list, sql`r`)} where ${isMemberAt(after, sql`rows`)})`
}

/** SQL of the removed rows, which return. One that came back within these revisions has its cells changed instead. */
function rowsThatReturn(list: PriceList, { after, until }: Revisions): RawBuilder<unknown> {
  const ofKey = rowsWithKey(list, sql`r`)
  return sql`
    select r.row_id, r.code, r.extensions, 'return' as move,
      case when exists (select from ${ofKey} where added_version > ${until}) then 'changed_since'
        when p.id is null then 'product_gone' when p.active is false then 'product_inactive' end as conflict
    from removed_rows r ${joinProducts(list)}
    where ${ofList(list, 'r')}
      and r.removed_version > ${after} and r.removed_version <= ${until} and r.added_version <= ${after}
      and not exists (select from ${ofKey} where ${isMemberAt(until, sql`rows`)})`
}

const messages: Record<string, string> = {
  changed_since: 'was changed again since',
  product_gone: 'the product was deleted from the catalog',
  product_inactive: 'the product is not active',
}

interface Conflict extends StoredCell {
  conflict: string
}

/** Makes the `revert-conflict` problem, which lists what cannot be undone. */
export async function revertConflict(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  count: number,
): Promise<Problem> {
  const { rows } = await sql<Conflict>`
    select code, extensions, dimension, date, conflict from pg_temp.undone_cells where conflict is not null
    union all
    select code, extensions, null, null, conflict from pg_temp.undone_rows where conflict is not null
    order by code, extensions, dimension, date limit ${listedMax}`.execute(trx)
  const errors = rows.map(({ conflict, ...cell }) => ({
    ...placeOfCell(list, columns, cell),
    code: conflict as RequestError['code'],
    message: messages[conflict] ?? conflict,
  }))
  const detail = `${count} ${count === 1 ? 'change' : 'changes'} cannot be undone. Nothing was written; \`on_conflict: skip\` leaves them out.`
  return new Problem('revert-conflict', detail, { errors, errorCount: count })
}
