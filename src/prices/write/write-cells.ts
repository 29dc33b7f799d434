import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import { isPublished } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { mergeMonths } from './set-days.ts'
import {
  readWritten,
  type Written,
  type WrittenRow,
  writeChanged,
  writtenOf,
} from './set-prices.ts'

/** How many rows the cells name, and what changed. */
interface Updated {
  updated: number
  written: Written
}

/**
 * Sets prices, and logs the former ones in the history. `cells` is a FROM item `f` with each cell once: code,
 * extension_key, dimension, date, price.
 */
export function writeCells(
  trx: Trx,
  list: PriceList,
  cells: RawBuilder<unknown>,
): Promise<Updated> {
  return (list.is_calendar ? writeDays : writePrices)(trx, list, cells)
}

/** SQL that joins cells `f` with the published rows `r` of the list. */
export function joinPublished(list: PriceList): RawBuilder<unknown> {
  return sql`join ${publishedRowsOf(list)} using (code, extension_key)`
}

/** SQL of a FROM item with the published rows `r` of a list. */
export function publishedRowsOf({ account_id, id }: PriceList): RawBuilder<unknown> {
  return sql`(
    select r.id, r.code, r.extension_key, r.dynamic_attributes, r.since, r.prices
    from price_lists l
    join price_list_rows r on r.account_id = ${account_id} and r.price_list_id = ${id} and ${isPublished}
    where l.account_id = ${account_id} and l.id = ${id}
  ) as r`
}

/** SQL of an array of a group's prices; `placeOf` is the index of a price, from 1. */
function pricesBy(placeOf: RawBuilder<number>, length: number): RawBuilder<unknown> {
  const places = Array.from(
    { length },
    (_, index) => sql`max(f.price) filter (where ${placeOf} = ${sql.lit(index + 1)})`,
  )
  return sql`array[${sql.join(places)}]`
}

async function writePrices(
  trx: Trx,
  list: PriceList,
  cells: RawBuilder<unknown>,
): Promise<Updated> {
  const given = pricesBy(sql`f.dimension`, list.price_dimensions.length)
  const merged = list.price_dimensions.map((_, index) => {
    const place = sql.lit(index + 1)
    return sql`coalesce(input.prices[${place}], input.old[${place}])`
  })
  const { rows } = await sql<WrittenRow & { updated: number }>`
    with found as materialized (
      select id, since, old, array[${sql.join(merged)}] as new
      from (
        select r.id, r.since, r.prices as old, ${given} as prices
        from ${cells} ${joinPublished(list)} group by r.id, r.since, r.prices
      ) as input
    ), ${writeChanged(list)}
    select count(*) as updated, ${writtenOf(list)} from found`.execute(trx)
  return { updated: Number(rows[0]?.updated), written: readWritten(list, rows[0]) }
}

async function writeDays(trx: Trx, list: PriceList, cells: RawBuilder<unknown>): Promise<Updated> {
  const prices = pricesBy(sql`extract(day from f.date)`, daysInMonth)
  const input = sql`(
    select r.id as row_id, f.dimension, date_trunc('month', f.date)::date as month, ${prices} as prices
    from ${cells} ${joinPublished(list)}
    group by r.id, f.dimension, date_trunc('month', f.date)
  ) as input`
  const written = await mergeMonths(trx, list, input)
  const { rows } = await sql<{ updated: number }>`
    select count(*) as updated from (select distinct code, extension_key from ${cells}) as named`.execute(
    trx,
  )
  return { updated: Number(rows[0]?.updated), written }
}
