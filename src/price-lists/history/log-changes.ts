import { type RawBuilder, sql } from 'kysely'
import { type PriceList, rowOfList } from '../queries.ts'

/** Changes per row of the history: at 64, a change takes 22 bytes. */
const changesOfRow = 64

interface Changes {
  revision: number
  change: 'priced' | 'added' | 'removed'
  /** A FROM item with id, since, old and new (prices by dimension) of each changed row. */
  rows: RawBuilder<unknown>
}

/** SQL that writes changes of a list's rows to its history. */
export function insertChanges(
  list: PriceList,
  { revision, change, rows }: Changes,
): RawBuilder<unknown> {
  // Dimension after dimension in one flat array: an array of arrays would have to be unnested again.
  const prices = (column: 'old' | 'new') =>
    sql.join(
      list.price_dimensions.map(
        (_, index) => sql`array_agg(${sql.ref(column)}[${sql.lit(index + 1)}] order by placed.id)`,
      ),
      sql` || `,
    )
  return sql`
    insert into list_changes as logged (account_id, price_list_id, revision, change, slice, first_row_id,
      row_ids, from_revisions, old_prices, new_prices)
    select l.account_id, l.id, ${revision}::integer, ${change}::text, 0, min(placed.id),
      array_agg(placed.id order by placed.id), array_agg(since order by placed.id), ${prices('old')}, ${prices('new')}
    from ${rowOfList(list)} cross join (
      select *, (row_number() over (order by id) - 1) / ${sql.lit(changesOfRow)} as place from ${rows}
    ) as placed
    group by l.account_id, l.id, place
    returning logged.revision`
}

/** How many rows of a calendar list share one row of the history with their months. */
const rowsOfMonths = 8

/** As `insertChanges`, for months: `rows` has row_id, dimension, month, since, old and new (prices by day). */
export function insertMonthChanges(
  list: PriceList,
  { revision, change, rows }: Changes,
): RawBuilder<unknown> {
  const all = (column: string) =>
    sql`array_agg(${sql.ref(column)} order by row_id, dimension, month)`
  return sql`
    insert into calendar_changes as logged (account_id, price_list_id, revision, change, slice, first_row_id,
      row_ids, dimensions, months, from_revisions, old_prices, new_prices)
    select l.account_id, l.id, ${revision}::integer, ${change}::text, 0, min(row_id),
      ${all('row_id')}, ${all('dimension')}, ${all('month')}, ${all('since')}, ${all('old')}, ${all('new')}
    from ${rowOfList(list)} cross join (
      select *, (dense_rank() over (order by row_id) - 1) / ${sql.lit(rowsOfMonths)} as place from ${rows}
    ) as placed
    group by l.account_id, l.id, place
    returning logged.revision`
}
