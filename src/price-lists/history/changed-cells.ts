import { type RawBuilder, sql } from 'kysely'
import { daysInMonth } from '../calendar.ts'
import { ofList, type PriceList } from '../queries.ts'

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
  return list.is_calendar ? changedDays(list, revisions) : changedPrices(list, revisions)
}

const keyColumns = sql`product_id, code, extensions, extension_key`

/** With more changes, reading the whole list takes less time than looking up each row. */
const lookUpsMax = 100_000

/** The codes from `from` on, before `until`. */
export interface CodeRange {
  from: string
  until: string | undefined
}

/**
 * As `changedCells`, with the product and key of each row: product_id, code, extensions, extension_key. `changes` is
 * how many there are, if known.
 */
export function keyedCells(
  list: PriceList,
  revisions: Revisions,
  changes = 0,
): RawBuilder<unknown> {
  if (list.is_calendar) return keyedDays(list, revisions, sql`true`)
  return sql`(
    select cell.*, ${keyColumns} from ${changedPrices(list, revisions)} ${joinKeys(list, changes)}
  ) as cell`
}

/** As `keyedCells`, for the rows with these codes, in one revision. */
export function keyedCellsOf(
  list: PriceList,
  { revision, slices }: { revision: number; slices: number },
  { from, until }: CodeRange,
): RawBuilder<unknown> {
  const isInRange = sql`r.code >= ${from} ${until === undefined ? sql`` : sql`and r.code < ${until}`}`
  return list.is_calendar
    ? keyedDays(list, { after: revision - 1, until: revision }, isInRange)
    : cellsOfRows(list, { revision, slices }, isInRange)
}

/** SQL of the changed cells of rows `r` that meet a condition: looks up the changes of each row. */
function cellsOfRows(
  list: PriceList,
  { revision, slices }: { revision: number; slices: number },
  isMeant: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const changes = Array.from({ length: slices }, (_, slice) => slice).flatMap((slice) =>
    ['priced', 'added', 'removed'].map(
      (change) => sql`(
      select change, old_prices, new_prices, cardinality(row_ids) as rows, array_position(row_ids, r.id) as place
      from list_changes
      where ${ofList(list)} and revision = ${revision} and change = ${sql.lit(change)} and slice = ${sql.lit(slice)}
        and first_row_id <= r.id
      order by first_row_id desc limit 1)`,
    ),
  )
  const priceIn = (column: 'old_prices' | 'new_prices') =>
    sql`c.${sql.ref(column)}[(d.dimension - 1) * c.rows + c.place]`
  return sql`(
    select * from (
      select ${revision}::integer as revision, c.change, r.id as row_id, ${keyColumns}, d.dimension, null::date as date,
        ${priceIn('old_prices')} as old, ${priceIn('new_prices')} as new
      from ${keysOfEveryRow(list, isMeant)} as r
      cross join lateral (${sql.join(changes, sql` union all `)}) as c
      cross join generate_series(1, ${sql.lit(list.price_dimensions.length)}) as d (dimension)
      where c.place is not null
    ) as cell
    where change <> 'priced' or old is distinct from new
  ) as cell`
}

/** SQL that joins the product and key `r` of the row of each `cell`, of which there are about so many. */
export const joinKeys = (list: PriceList, cells: number): RawBuilder<unknown> =>
  cells > lookUpsMax
    ? sql`join ${keysOfEveryRow(list, sql`true`)} as r on r.id = cell.row_id`
    : sql`cross join ${keyOfFormerRow(list, sql`cell.row_id`)}`

/**
 * SQL of the rows `r` that the list has or had and that meet a condition, each once, although a row that a revert brought
 * back is stored once more.
 */
const keysOfEveryRow = (list: PriceList, isMeant: RawBuilder<unknown>) => sql`(
  select id, ${keyColumns} from price_list_rows r where ${ofList(list)} and ${isMeant}
  union all
  select distinct on (row_id) row_id, ${keyColumns} from removed_rows r
  where ${ofList(list)} and ${isMeant} and not exists (
    select from price_list_rows back
    where back.account_id = r.account_id and back.price_list_id = r.price_list_id and back.id = r.row_id
  )
)`

const inRevisions = (list: PriceList, { after, until }: Revisions) =>
  sql`${ofList(list)} and revision > ${after} and revision <= ${until}`

/**
 * SQL of the prices of dimension `d.dimension` in `list_changes c`, one row each: reading them one by one would
 * decompress the array every time.
 */
export const unpackedPrices = (column: 'old_prices' | 'new_prices'): RawBuilder<unknown> => sql`
  unnest(c.${sql.ref(column)}[
    (d.dimension - 1) * cardinality(c.row_ids) + 1 : d.dimension * cardinality(c.row_ids)
  ])`

function changedPrices(list: PriceList, revisions: Revisions): RawBuilder<unknown> {
  const dimensions = sql.lit(list.price_dimensions.length)
  return sql`(
    select revision, change, row_id, dimension, null::date as date, old, new
    from (
      select c.revision, c.change, d.dimension, unnest(c.row_ids) as row_id,
        ${unpackedPrices('old_prices')} as old, ${unpackedPrices('new_prices')} as new
      from list_changes c cross join generate_series(1, ${dimensions}) as d (dimension)
      where ${inRevisions(list, revisions)}
    ) as cell
    where change <> 'priced' or old is distinct from new
  ) as cell`
}

/** SQL of the changed days of rows `r` that meet a condition, with product and key. */
function keyedDays(
  list: PriceList,
  revisions: Revisions,
  isMeant: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const join = sql`cross join ${keyOfFormerRow(list, sql`at.row_id`)}`
  return changedDays(list, revisions, { join, columns: sql`, ${keyColumns}`, isMeant })
}

const noKey = { join: sql``, columns: sql``, isMeant: sql`true` }

/**
 * SQL of a FROM item with a row for each changed day. Days that a row brings, or takes with it, count only if they have a
 * price. A row that a revert brings back is stored with its former prices as old: they are no change of that revision.
 * Prices are unnested: taking each by its place would decompress the array each time. Keys are looked up once a month.
 */
function changedDays(
  list: PriceList,
  revisions: Revisions,
  key: Record<'join' | 'columns' | 'isMeant', RawBuilder<unknown>> = noKey,
): RawBuilder<unknown> {
  return sql`(
    select revision, change, row_id${key.columns}, dimension, month + day - 1 as date,
      case when change <> 'added' then old end as old, case when change <> 'removed' then new end as new
    from (
      select revision, change, row_id${key.columns}, dimension, month, generate_series(1, ${sql.lit(daysInMonth)}) as day,
        unnest(at.old_prices[place:place]) as old, unnest(at.new_prices[place:place]) as new
      from (
        select revision, change, unnest(row_ids) as row_id, unnest(dimensions) as dimension, unnest(months) as month,
          generate_subscripts(row_ids, 1) as place, old_prices, new_prices
        from calendar_changes where ${inRevisions(list, revisions)}
      ) as at ${key.join} where ${key.isMeant}
    ) as cell
    where case change when 'added' then new is not null when 'removed' then old is not null else old is distinct from new end
  ) as cell`
}

/** SQL of a FROM item `r` with the product and key of a row that the list has or had. */
export function keyOfFormerRow(list: PriceList, rowId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`lateral (
    select ${keyColumns} from price_list_rows where ${ofList(list)} and id = ${rowId}
    union all
    select ${keyColumns} from removed_rows where ${ofList(list)} and row_id = ${rowId}
    limit 1
  ) as r`
}
