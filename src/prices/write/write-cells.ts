import { type RawBuilder, sql } from 'kysely'
import { readNumbers } from '../../database/array-literal.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import { isPublished } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { givenDays, mergeMonths } from './set-days.ts'
import {
  readWritten,
  type Written,
  type WrittenRow,
  writeChanged,
  writtenOf,
} from './set-prices.ts'

/** The rows that the cells name, and what changed. */
interface Updated {
  updated: number
  /** The ids of the rows by the first position of their cells; none from `writeCells`. */
  ids: number[]
  written: Written
}

/** SQL of the position of a cell, and of the ids of rows by their `first` positions. */
const inOrder = { position: sql`f.position`, ids: sql`array_agg(id order by first)::text` }
const withoutIds = { position: sql`null::integer`, ids: sql`null` }

/**
 * Sets prices, and logs the former ones in the history. `cells` is a FROM item `f` with each cell once: code,
 * extension_key, dimension, date, price. Unknown rows are skipped.
 */
export const writeCells = (
  trx: Trx,
  list: PriceList,
  cells: RawBuilder<unknown>,
): Promise<Updated> => (list.is_calendar ? writeDays : writePrices)(trx, list, cells, withoutIds)

/** As `writeCells`, of cells with positions; returns the ids as well. */
export const writeCellsInOrder = (
  trx: Trx,
  list: PriceList,
  cells: RawBuilder<unknown>,
): Promise<Updated> => (list.is_calendar ? writeDays : writePrices)(trx, list, cells, inOrder)

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
  { position, ids }: typeof inOrder,
): Promise<Updated> {
  const dimensions = list.price_dimensions.length
  // The cells of one dimension are rows already.
  const [given, first, grouping] =
    dimensions === 1
      ? [sql`array[f.price]`, position, sql``]
      : [
          pricesBy(sql`f.dimension`, dimensions),
          sql`min(${position})`,
          sql`group by r.id, r.since, r.prices`,
        ]
  const merged = list.price_dimensions.map((_, index) => {
    const place = sql.lit(index + 1)
    return sql`coalesce(input.prices[${place}], input.old[${place}])`
  })
  const row = await onlyRow<WrittenRow & Named>(trx)`
    with found as materialized (
      select id, since, old, array[${sql.join(merged)}] as new, first
      from (
        select r.id, r.since, r.prices as old, ${given} as prices, ${first} as first
        from ${cells} ${joinPublished(list)} ${grouping}
      ) as input
    ), ${writeChanged(list)}
    select count(*) as updated, ${ids} as ids, ${writtenOf(list)} from found`
  return { ...readNamed(row), written: readWritten(list, row) }
}

async function writeDays(
  trx: Trx,
  list: PriceList,
  cells: RawBuilder<unknown>,
  { position, ids }: typeof inOrder,
): Promise<Updated> {
  const input = sql`(
    select f.id as row_id, f.dimension, f.month, ${pricesBy(sql`f.day`, daysInMonth)} as prices
    from (
      select r.id, f.dimension, f.price, date_trunc('month', f.date)::date as month, extract(day from f.date)::integer as day
      from ${cells} ${joinPublished(list)} offset 0
    ) as f
    group by f.id, f.dimension, f.month
  ) as input`
  const written = await mergeMonths(trx, list, { input, merged: givenDays })
  const row = await onlyRow<Named>(trx)`
    select count(*) as updated, ${ids} as ids
    from (select r.id, min(${position}) as first from ${cells} ${joinPublished(list)} group by r.id) as named`
  return { ...readNamed(row), written }
}

interface Named {
  updated: number
  ids: string | null
}

const readNamed = ({ updated, ids }: Named) => ({ updated, ids: readNumbers(ids) })
