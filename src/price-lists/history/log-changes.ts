import { type RawBuilder, sql } from 'kysely'
import type { PriceList } from '../queries.ts'

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
  { account_id, id, price_dimensions }: PriceList,
  { revision, change, rows }: Changes,
): RawBuilder<unknown> {
  // Dimension after dimension in one flat array: an array of arrays would have to be unnested again.
  const prices = (column: 'old' | 'new') =>
    sql.join(
      price_dimensions.map(
        (_, index) => sql`array_agg(${sql.ref(column)}[${sql.lit(index + 1)}] order by id)`,
      ),
      sql` || `,
    )
  return sql`
    insert into list_changes (account_id, price_list_id, revision, change, slice, first_row_id,
      row_ids, from_revisions, old_prices, new_prices)
    select ${account_id}, ${id}, ${revision}, ${change}, 0, min(id),
      array_agg(id order by id), array_agg(since order by id), ${prices('old')}, ${prices('new')}
    from (
      select *, (row_number() over (order by id) - 1) / ${sql.lit(changesOfRow)} as place from ${rows}
    ) as placed
    group by place
    returning revision`
}

/** How many rows of a calendar list share one row of the history with their months. */
const rowsOfMonths = 8

/** As `insertChanges`, for months: `rows` has row_id, dimension, month, since, old and new (prices by day). */
export function insertMonthChanges(
  { account_id, id }: PriceList,
  { revision, change, rows }: Changes,
): RawBuilder<unknown> {
  const all = (column: string) =>
    sql`array_agg(${sql.ref(column)} order by row_id, dimension, month)`
  return sql`
    insert into calendar_changes (account_id, price_list_id, revision, change, slice, first_row_id,
      row_ids, dimensions, months, from_revisions, old_prices, new_prices)
    select ${account_id}, ${id}, ${revision}, ${change}, 0, min(row_id),
      ${all('row_id')}, ${all('dimension')}, ${all('month')}, ${all('since')}, ${all('old')}, ${all('new')}
    from (
      select *, (dense_rank() over (order by row_id) - 1) / ${sql.lit(rowsOfMonths)} as place from ${rows}
    ) as placed
    group by place
    returning revision`
}
