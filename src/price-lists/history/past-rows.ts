import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../../database/pool.ts'
import { everyRow, isMemberAt, joinRows, type ListRows } from '../list-rows.ts'
import { ofList, type PriceList } from '../queries.ts'
import { isWalkedAtOnce, pastPrices } from './past-prices.ts'
import { chooseWalk, pricesAt, type Walk } from './price-walk.ts'

/** The rows of a list as they were at a revision, including those removed since. */
export async function rowsAsOf(trx: Trx, list: PriceList, revision: number): Promise<ListRows> {
  return pastRows(list, revision, await chooseWalk(trx, list, revision))
}

/** As `rowsAsOf`, for a given walk. */
export function pastRows(list: PriceList, revision: number, walk: Walk): ListRows {
  const columns = sql`account_id, price_list_id, product_id, code, extensions, extension_key, prices, dynamic_attributes, since,
    added_version, removed_version`
  const allWhere = (condition: RawBuilder<unknown>) => everyRow(list, columns, condition)
  const walked = { list, revision, walk }
  const pastWhere = (condition: RawBuilder<unknown>) => sql`(
    select now.account_id, now.price_list_id, now.id, now.product_id, now.code, now.extensions, now.extension_key,
      now.dynamic_attributes, now.added_version, now.removed_version, past.prices
    from ${allWhere(condition)} as now cross join lateral (${pricesAt(walked)}) as past
  )`
  const rowsWhere = list.is_calendar ? allWhere : pastWhere
  const pastMonths = sql`(
    select now.account_id, now.price_list_id, now.row_id, now.dimension, now.month, past.prices, past.since
    from calendar_months now cross join lateral (${pricesAt(walked)}) as past
    where ${ofList(list, 'now')}
  ) as m`
  const from = sql`${rowsWhere(sql`true`)} as r`
  const isMember = isMemberAt(revision)
  const members = { list, revision, from: sql`${allWhere(isMember)} as r` }
  return {
    list,
    from,
    fromAll: isWalkedAtOnce(list, walk, list.row_count) ? walkedAtOnce(members) : from,
    fromKeys: sql`${allWhere(sql`true`)} as r`,
    fromMonths: pastMonths,
    join: joinRows(list, from),
    // A join to the union of all rows would scan the list.
    joinByCode: (condition) => sql`join lateral ${rowsWhere(condition)} as r on true`,
    isMember,
  }
}

/**
 * SQL of the rows `r` that were in a list at a revision, with the prices of then. Reads the changes at once. Full joins,
 * because PostgreSQL never joins them row by row, as it would others whenever it underestimates the rows.
 */
function walkedAtOnce({ list, revision, from }: Members): RawBuilder<unknown> {
  const dimensions = sql.lit(list.price_dimensions.length)
  return sql`(
    with recursive found as materialized (
      select row_number() over () as at, r.id, r.since, dimension
      from ${from} cross join generate_series(1, ${dimensions}) as dimension where r.since > ${revision}
    ), ${pastPrices(list, sql<number>`${revision}::integer`)},
    former as (
      select id, array_agg(past.price order by dimension) as prices from found full join past using (at) group by id
    )
    select r.account_id, r.price_list_id, r.id, r.product_id, r.code, r.extensions, r.extension_key, r.dynamic_attributes,
      r.added_version, r.removed_version, case when r.since > ${revision} then former.prices else r.prices end as prices
    from ${from} full join former on former.id = r.id
    offset 0
  ) as r`
}

interface Members {
  list: PriceList
  revision: number
  /** SQL of the rows `r` that were in the list, with their present prices. */
  from: RawBuilder<unknown>
}
