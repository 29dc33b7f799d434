import { type RawBuilder, sql } from 'kysely'
import { monthPlace } from './calendar.ts'
import { type ListKey, ofList, type PriceList } from './queries.ts'

/** SQL that is true for a row, `r` by default, that is in its list at a revision. */
export const isMemberAt = (
  revision: number | RawBuilder<unknown>,
  row: RawBuilder<unknown> = sql`r`,
): RawBuilder<boolean> => sql`(
  ${row}.added_version <= ${revision} and (${row}.removed_version is null or ${row}.removed_version > ${revision}))`

/** SQL that is true for a row `r` in the published version of its list `l`. */
export const isPublished = isMemberAt(sql`l.version`)

/** As `isPublished`, for rows of one list: reads its version once instead of joining it to each row. */
export function isPublishedNow({ account_id, id }: ListKey): RawBuilder<boolean> {
  return isMemberAt(
    sql`(select version from price_lists where account_id = ${account_id} and id = ${id})`,
  )
}

/** SQL of where a day's price is: its dimension (from 1), its month and the place in the month. */
interface DayPlace {
  dimension: RawBuilder<unknown>
  month: RawBuilder<unknown>
  place: RawBuilder<unknown>
}

/** SQL of the rows of a list, present or past. */
export interface ListRows {
  list: ListKey & Pick<PriceList, 'is_calendar' | 'hide_unpriced'>
  /** A FROM item `r` with the columns of `price_list_rows`, including rows that are not in the list. */
  from: RawBuilder<unknown>
  /** As `from`, for a statement that reads the prices of the whole list; may leave out rows that are not in the list. */
  fromAll: RawBuilder<unknown>
  /** As `from`, without prices. */
  fromKeys: RawBuilder<unknown>
  /** Joins the rows `r` that meet a condition. */
  join: (condition: RawBuilder<unknown>) => RawBuilder<unknown>
  /** As `join`, for a condition on the code. */
  joinByCode: (condition: RawBuilder<unknown>) => RawBuilder<unknown>
  /** A FROM item `m` with the columns of `calendar_months`. */
  fromMonths: RawBuilder<unknown>
  /** True for a row `r` that is in the list. */
  isMember: RawBuilder<boolean>
}

/** SQL of the published rows of a list as they are now. */
export function publishedRows(list: ListRows['list']): ListRows {
  const from = sql`price_list_rows r`
  const fromMonths = sql`calendar_months m`
  const join = joinRows(list, from)
  return {
    list,
    from,
    fromAll: from,
    fromKeys: from,
    join,
    joinByCode: join,
    fromMonths,
    isMember: isPublishedNow(list),
  }
}

/** The `join` of a list whose rows come from this FROM item. */
export const joinRows =
  (list: ListKey, from: RawBuilder<unknown>): ListRows['join'] =>
  (condition) =>
    sql`join ${from} on ${ofList(list, 'r')} and ${condition}`

/** SQL of all rows that a list has or had and that meet a condition on `r`: their `id` and these columns. */
export function everyRow(
  list: ListKey,
  columns: RawBuilder<unknown>,
  condition: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> {
  const isMeant = sql`${ofList(list, 'r')} and ${condition}`
  return sql`(
    select id, ${columns} from price_list_rows r where ${isMeant}
    union all
    select row_id, ${columns} from removed_rows r where ${isMeant}
  )`
}

/** SQL that joins the products `p` of rows `r`. */
export const joinProducts = ({ account_id }: Pick<ListKey, 'account_id'>): RawBuilder<unknown> =>
  sql`left join products p on p.account_id = ${account_id} and p.id = r.product_id`

/** SQL of the attributes of a row `r`: a field for the SELECT list, and the join that it needs. */
export function attributesOfRow({ account_id }: Pick<ListKey, 'account_id'>) {
  const join = sql`left join product_attributes pa on pa.account_id = ${account_id} and pa.code = r.code`
  return { field: sql`, pa.attributes`, join }
}

/** SQL of the price set for row `r` on a day; null if none was. */
export function setOnDay(
  { list, fromMonths }: ListRows,
  { dimension, month, place }: DayPlace,
): RawBuilder<number | null> {
  return sql`(
    select m.prices[${place}] from ${fromMonths}
    where ${ofList(list, 'm')} and m.row_id = r.id
      and m.dimension = ${dimension} and m.month = ${month}
  )`
}

/** SQL of the price of row `r` in a dimension (by index) and, in a calendar list, on a day; null if none was set. */
export function priceOf(
  rows: ListRows,
  index: number,
  date: string | undefined,
): RawBuilder<number | null> {
  const dimension = sql.lit(index + 1)
  if (date === undefined) return sql`r.prices[${dimension}]`
  const { month, place } = monthPlace(date)
  const at = { dimension, month: sql`${month}::date`, place: sql`${place}::integer` }
  return setOnDay(rows, at)
}

/** SQL of the prices of row `r` by dimension, in a calendar list on one day; null where none was set. */
export function pricesOf(
  { price_dimensions }: PriceList,
  rows: ListRows,
  date: string | undefined,
): RawBuilder<(number | null)[]> {
  return sql`array[${sql.join(price_dimensions.map((_, index) => priceOf(rows, index, date)))}]`
}
