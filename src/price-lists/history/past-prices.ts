import { type RawBuilder, sql } from 'kysely'
import type { ListKey, PriceList } from '../queries.ts'
import { pricesOf } from './changed-cells.ts'
import { formerPrices, pricesAt, type Walk, type WalkedList } from './past-rows.ts'

/*
 * Past prices of many rows together: reads all changes of a revision and joins them to the rows. `past-rows` looks up
 * each row instead, which takes fifty times as long per row.
 */

const lookUpCost = 50
/** Each revision takes a join. */
const revisionsMax = 30

/** Whether to read all changes of a revision for this many rows, instead of looking up each row. */
export const areReadAtOnce = ({ is_calendar, row_count }: PriceList, rows: number): boolean =>
  !is_calendar && row_count <= lookUpCost * rows

/** As `areReadAtOnce`, for prices at a revision: also limits the revisions walked. */
export const isWalkedAtOnce = (list: PriceList, { forward }: Walk, rows: number): boolean =>
  areReadAtOnce(list, rows) && forward <= revisionsMax

/**
 * SQL of the columns to select from `list_changes c` and dimensions `d`: one row per changed cell, with its old price.
 */
export const changedCell = sql`d.dimension, unnest(c.row_ids) as row_id, ${pricesOf('old_prices')} as price`

/**
 * SQL of the recursive CTEs `walk` and `past` (at, price): the prices at a revision of those rows in `found` (at, id,
 * dimension, since) that have changed after it. Walks the revisions forward until every row is found.
 */
export function pastPrices(
  { account_id, id }: ListKey,
  revision: RawBuilder<number>,
): RawBuilder<unknown> {
  const ofList = sql`account_id = ${account_id} and price_list_id = ${id}`
  return sql`
    walk (revision, places, prices, rest, row_ids, dimensions) as (
      select ${revision}, null::bigint[], null::numeric[], array_agg(at), array_agg(id), array_agg(dimension)
      from found where since > ${revision}
      union all
      select next.revision, step.* from walk
      cross join lateral (
        select v.revision from list_revisions v where ${ofList} and v.revision > walk.revision and priced > 0
        order by v.revision limit 1
      ) as next
      cross join lateral (
        select array_agg(w.at) filter (where c.row_id is not null), array_agg(c.price) filter (where c.row_id is not null),
          array_agg(w.at) filter (where c.row_id is null), array_agg(w.id) filter (where c.row_id is null),
          array_agg(w.dimension) filter (where c.row_id is null)
        from unnest(walk.rest, walk.row_ids, walk.dimensions) as w (at, id, dimension)
        left join (
          select ${changedCell} from list_changes c cross join (select distinct dimension from found) as d
          where ${ofList} and c.revision = next.revision and c.change = 'priced'
        ) as c on c.row_id = w.id and c.dimension = w.dimension
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
