import { type RawBuilder, sql } from 'kysely'
import { type ListKey, ofList, type PriceList } from '../queries.ts'
import { unpackedPrices } from './changed-cells.ts'
import { formerPrices, pricesAt, type Walk, type WalkedList } from './price-walk.ts'

/*
 * Past prices of many rows together: reads the changes after a revision in order, until every row is found. `price-walk`
 * looks up each row instead, which takes 25 times as long per change.
 */

const lookUpCost = 25
/** Looking up all changes of a row takes as long as reading those of this many rows. */
const rowCost = 50
/** Reading fewer changes at once would take longer to begin than to read. */
const batchMin = 1000

/** Whether reading all changes of a list takes less time than looking up those of this many rows. */
export const areReadAtOnce = ({ is_calendar, row_count }: PriceList, rows: number): boolean =>
  !is_calendar && row_count <= rowCost * rows

/** Whether reading changes in batches takes less time than looking up this many rows. */
export function isWalkedAtOnce(list: PriceList, { lookups, changes }: Walk, rows: number): boolean {
  const first = Math.min(changes, Math.max(list.row_count, batchMin))
  return !list.is_calendar && first <= lookUpCost * lookups * rows
}

/**
 * SQL of the columns to select from `list_changes c` and dimensions `d`: one row per changed cell, with its old price.
 */
export const changedCell = sql`d.dimension, unnest(c.row_ids) as row_id, ${unpackedPrices('old_prices')} as price`

/**
 * SQL of the recursive CTEs up to `past` (at, price): the prices at a revision of those rows in `found` (at, id,
 * dimension, since) that have changed after it. Each step reads as many changes as the list has rows, in whole
 * revisions: the first one finds most rows.
 */
export function pastPrices(list: ListKey, revision: RawBuilder<number>): RawBuilder<unknown> {
  return sql`
    dimensions as materialized (select distinct dimension from found),
    batches as materialized (
      select max(revision) as until from (
        select revision, (sum(priced) over (order by revision) - priced) / changes as batch
        from list_revisions v cross join (
          select greatest(row_count, ${sql.lit(batchMin)}) as changes from price_lists
          where account_id = ${list.account_id} and id = ${list.id}
        ) as size
        where ${ofList(list)} and revision > ${revision} and priced > 0
      ) as later group by batch
    ), walk (revision, places, prices, rest, row_ids, dimensions) as (
      select ${revision}, null::bigint[], null::numeric[], array_agg(at), array_agg(id), array_agg(dimension)
      from found where since > ${revision}
      union all
      select next.until, step.* from walk
      cross join lateral (
        select until from batches where until > walk.revision order by until limit 1
      ) as next
      cross join lateral (
        select array_agg(at) filter (where is_found), array_agg(price) filter (where is_found),
          array_agg(at) filter (where not is_found), array_agg(id) filter (where not is_found),
          array_agg(dimension) filter (where not is_found)
        from (
          select distinct on (w.at) w.at, w.id, w.dimension, c.row_id is not null as is_found, c.price
          from unnest(walk.rest, walk.row_ids, walk.dimensions) as w (at, id, dimension)
          left join (
            select c.revision, c.slice, ${changedCell}
            from list_changes c cross join dimensions d
            where ${ofList(list)} and c.revision > walk.revision and c.revision <= next.until and c.change = 'priced'
          ) as c on c.row_id = w.id and c.dimension = w.dimension
          order by w.at, c.revision, c.slice
        ) as looked
      ) as step
      where walk.rest is not null
    ), past as (
      select p.at, p.price from walk cross join lateral unnest(places, prices) as p (at, price)
    )`
}

/** SQL of the CTEs up to `past`, as in `pastPrices`, with one lookup per change of a row or per revision. */
export function pastPricesByRow(walked: {
  list: WalkedList
  revision: RawBuilder<number>
  walk: Walk
}): RawBuilder<unknown> {
  const { list, revision, walk } = walked
  if (walk.direction === 'forward')
    return sql`past as (
      select at, former.prices[dimension] as price
      from found as now cross join lateral (${pricesAt(walked)}) as former where now.since > ${revision}
    )`
  // One recursion for all rows: one per row would take 50 percent longer.
  const former = formerPrices(list, sql`chain`, {
    revision: sql`chain.since`,
    slices: walk.slices,
  })
  return sql`
    chain (at, dimension, id, since, prices) as (
      select at, dimension, id, since, prices from found where since > ${revision}
      union all
      select chain.at, chain.dimension, chain.id, former.since, former.prices
      from chain cross join ${former} where chain.since > ${revision}
    ), past as (select at, prices[dimension] as price from chain where since <= ${revision})`
}
