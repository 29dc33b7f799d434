import { type RawBuilder, sql } from 'kysely'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { type ListKey, ofList, type PriceList } from '../queries.ts'

/*
 * The past of a list. A row stores its present prices and the revision that set them. That revision's change stores the
 * former prices and the revision that set those: a chain. Walking the chain backward takes one lookup per change of the
 * row; walking the list's revisions forward takes one per revision, up to the first that changed the row.
 */

/** How to find past prices; every way gives the same result. */
export interface Walk {
  direction: 'backward' | 'forward'
  /** The lookups per row, on average. */
  lookups: number
  /** The changes since, of all rows. */
  changes: number
  /** The largest number of statements that wrote the changes of one revision. */
  slices: number
}

/** Chooses the direction with fewer lookups between now and a revision, from the counts of the list's changes. */
export async function chooseWalk(trx: Trx, list: PriceList, revision: number): Promise<Walk> {
  const { revisions, changes, slices } = await onlyRow<{
    revisions: number
    changes: number
    slices: number
  }>(trx)`
    select count(*) as revisions, coalesce(sum(priced), 0) as changes, coalesce(max(slices), 1) as slices
    from list_revisions
    where ${ofList(list)} and revision > ${revision} and ${changesPrices(list)}`
  const size = Math.max(list.row_count, 1)
  const back = changes / size
  const forward = Math.min(revisions, (size * revisions) / Math.max(changes, 1))
  return {
    direction: forward < back ? 'forward' : 'backward',
    lookups: Math.min(forward, back),
    changes,
    slices,
  }
}

/** SQL that is true for a revision that changed prices; in a calendar list, also for one that brought rows back. */
const changesPrices = ({ is_calendar }: WalkedList): RawBuilder<boolean> =>
  is_calendar ? sql`(priced > 0 or added > 0)` : sql`priced > 0`

/** The largest number of statements that wrote the changes of one revision after `revision`. */
export async function findSlices(trx: Trx, list: PriceList, revision: number): Promise<number> {
  return (await chooseWalk(trx, list, revision)).slices
}

/** What a walk needs to know of a list. */
export type WalkedList = ListKey & Pick<PriceList, 'is_calendar' | 'price_dimensions'>

/** SQL of the `prices` that the row or month `now` had at a revision, and of the revision that set them (`since`). */
export function pricesAt({
  list,
  revision,
  walk: { direction, slices },
}: {
  list: WalkedList
  revision: number | RawBuilder<number>
  walk: Walk
}): RawBuilder<unknown> {
  const formerIn = (of: RawBuilder<unknown>) =>
    formerPrices(list, sql`now`, { revision: of, slices })
  if (direction === 'forward')
    return sql`
      select since, prices from (
        (
          select 1 as choice, former.since, former.prices
          from list_revisions later cross join ${formerIn(sql`later.revision`)}
          where ${ofList(list, 'later')}
            and later.revision > ${revision} and later.revision <= now.since and ${changesPrices(list)}
          order by later.revision limit 1
        )
        union all select 2, now.since, now.prices
      ) as found
      order by choice limit 1`
  return sql`
    with recursive chain (since, prices) as (
      select now.since, now.prices
      union all
      select former.since, former.prices from chain cross join ${formerIn(sql`chain.since`)}
      where chain.since > ${revision}
    )
    select since, prices from chain where since <= ${revision}`
}

/**
 * SQL of a FROM item `former` with the prices that a row had before a revision changed them, and the revision that set
 * those; empty if the revision did not change the row. `row` has the columns `id`, or `row_id`, `dimension` and `month`
 * in a calendar list.
 */
export function formerPrices(
  list: WalkedList,
  row: RawBuilder<unknown>,
  { revision, slices }: { revision: RawBuilder<unknown>; slices: number },
): RawBuilder<unknown> {
  const changeOf = list.is_calendar ? changeOfMonth : changeOfRow
  // A calendar row that a revert brought back keeps its earlier months.
  const kinds = list.is_calendar ? ['priced', 'added'] : ['priced']
  const changes = Array.from({ length: slices }, (_, slice) => slice).flatMap((slice) =>
    kinds.map((kind) => changeOf(list, { row, revision, slice, kind })),
  )
  return sql`lateral (${sql.join(changes, sql` union all `)}) as former`
}

interface Looked {
  row: RawBuilder<unknown>
  revision: RawBuilder<unknown>
  slice: number
  kind: string
}

function changeOfRow(
  list: WalkedList,
  { row, revision, slice, kind }: Looked,
): RawBuilder<unknown> {
  // Each use of an array decompresses it, so the first dimension does without the length.
  const prices = list.price_dimensions.map((_, index) =>
    index === 0
      ? sql`h.old_prices[h.place]`
      : sql`h.old_prices[${sql.lit(index)} * cardinality(h.from_revisions) + h.place]`,
  )
  return sql`
    select h.from_revisions[h.place] as since, array[${sql.join(prices)}] as prices
    from (
      select row_ids, from_revisions, old_prices, array_position(row_ids, ${row}.id) as place from list_changes
      where ${ofList(list)} and revision = ${revision} and change = ${sql.lit(kind)}
        and slice = ${sql.lit(slice)} and first_row_id <= ${row}.id
      order by first_row_id desc limit 1
    ) as h
    where h.place is not null`
}

/** `old_prices` is two-dimensional here: 31 prices for each month. */
function changeOfMonth(
  list: WalkedList,
  { row, revision, slice, kind }: Looked,
): RawBuilder<unknown> {
  return sql`
    select h.from_revisions[h.place] as since, array(select unnest(h.old_prices[h.place:h.place])) as prices
    from (
      select from_revisions, old_prices, (
          select place from unnest(row_ids, dimensions, months) with ordinality as month (row_id, dimension, month, place)
          where month.row_id = ${row}.row_id and month.dimension = ${row}.dimension and month.month = ${row}.month
        ) as place
      from calendar_changes
      where ${ofList(list)} and revision = ${revision} and change = ${sql.lit(kind)}
        and slice = ${sql.lit(slice)} and first_row_id <= ${row}.row_id
      order by first_row_id desc limit 1
    ) as h
    where h.place is not null`
}
