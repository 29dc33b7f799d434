import { type RawBuilder, sql } from 'kysely'
import { daysInMonth } from '../calendar.ts'
import { ofList } from '../publication.ts'
import type { PriceList } from '../queries.ts'

/** The revisions after `after`, up to and including `until`. */
export interface Revisions {
  after: number
  until: number
}

/**
 * SQL of a FROM item `cell` with each change of a cell in these revisions: revision, change, row_id, dimension, date
 * (null without a calendar), old and new price (null where none was set).
 */
export function changedCells(list: PriceList, revisions: Revisions): RawBuilder<unknown> {
  const inRevisions = sql`${ofList(list)} and revision > ${revisions.after} and revision <= ${revisions.until}`
  return list.is_calendar ? changedDays(inRevisions) : changedPrices(list, inRevisions)
}

/**
 * SQL of the prices of dimension `d.dimension` in `list_changes c`, one row each: reading them one by one would
 * decompress the array every time.
 */
export const pricesOf = (column: 'old_prices' | 'new_prices'): RawBuilder<unknown> => sql`
  unnest(c.${sql.ref(column)}[
    (d.dimension - 1) * cardinality(c.row_ids) + 1 : d.dimension * cardinality(c.row_ids)
  ])`

function changedPrices(
  { price_dimensions }: PriceList,
  inRevisions: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`(
    select revision, change, row_id, dimension, null::date as date, old, new
    from (
      select c.revision, c.change, d.dimension, unnest(c.row_ids) as row_id,
        ${pricesOf('old_prices')} as old, ${pricesOf('new_prices')} as new
      from list_changes c cross join generate_series(1, ${sql.lit(price_dimensions.length)}) as d (dimension)
      where ${inRevisions}
    ) as cell
    where change <> 'priced' or old is distinct from new
  ) as cell`
}

/** A row that comes back has its former prices in the history as old; before, its key may have had another, unpriced row. */
function changedDays(inRevisions: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select revision, change, row_id, dimension, date, old, new
    from (
      select c.revision, c.change, at.row_id, at.dimension, at.month + day.place - 1 as date,
        case when c.change <> 'added' then c.old_prices[at.place][day.place] end as old,
        case when c.change <> 'removed' then c.new_prices[at.place][day.place] end as new
      from calendar_changes c
      cross join lateral unnest(c.row_ids, c.dimensions, c.months) with ordinality as at (row_id, dimension, month, place)
      cross join generate_series(1, ${sql.lit(daysInMonth)}) as day (place)
      where ${inRevisions}
    ) as cell
    where case change when 'added' then new is not null when 'removed' then old is not null else old is distinct from new end
  ) as cell`
}

/** SQL of a FROM item `r` with the product and key of the row `cell.row_id`, which the list has or had. */
export function keyOfCell(list: PriceList): RawBuilder<unknown> {
  const columns = sql`product_id, code, extensions, extension_key`
  return sql`lateral (
    select ${columns} from price_list_rows where ${ofList(list)} and id = cell.row_id
    union all
    select ${columns} from removed_rows where ${ofList(list)} and row_id = cell.row_id
    limit 1
  ) as r`
}
