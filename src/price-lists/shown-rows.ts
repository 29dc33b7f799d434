import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { findProducts, type ProductSearch } from '../catalog/product-search.ts'
import type { Schemas } from '../contract/operation.ts'
import type { PageQuery } from '../contract/read-page.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { horizonDays, isInCalendar, lastCalendarDay } from './calendar.ts'
import { findMoment } from './history/moments.ts'
import { rowsAsOf } from './history/past-rows.ts'
import { type ListRows, publishedRows } from './list-rows.ts'
import { type Position, type PositionFields, positionFields } from './position-fields.ts'
import { ofList, type PriceList } from './queries.ts'

/** The rows of a list that a request selects. */
export interface ShownRows {
  list: PriceList
  columns: Columns
  version: 'draft' | 'published' | 'past'
  revision: number
  rows: ListRows
  /** Whether filters narrow the rows of the version. */
  isNarrowed: boolean
  /** The day of the prices in a calendar list. */
  date: string | undefined
  /** The position fields, if any are requested. */
  position?: PositionFields
}

/** A row as it is read, whatever else a request shows of it. */
export interface ListedRow {
  id: number
  product_id: number
  code: string
  extensions: string[]
  costs: (number | null)[]
  attributes?: (string | null)[] | null
  positions?: Position[]
}

/** The fields that tell which row it is. */
export const rowKey = (row: ListedRow, { extensions }: Columns): Schemas['PriceListRow'] => ({
  pk: row.id,
  extended_catalog_id: row.product_id,
  code: row.code,
  ...Object.fromEntries(columnEntries(extensions, row.extensions)),
})

export interface RowsQuery extends ProductSearch, PageQuery {
  include?: string
  version?: string
  lines?: string
  as_of?: string
  priced?: string
  date?: string
  price_dimension?: string
}

/**
 * Resolves what a request selects. Throws `invalid-request` for what the version does not have, such as prices of the
 * draft, and as `findMoment` does.
 */
export async function shownRows(trx: Trx, list: PriceList, query: RowsQuery): Promise<ShownRows> {
  const date = readDate(list, query.date)
  const columns = await findColumns(trx, list.account_id)
  if (query.include !== undefined) rejectUnpositioned(query)
  const { rows, ...found } = await rowsOf(trx, list, query)
  const { join, condition } = findProducts(query, list.account_id, columns, sql`r`)
  const conditions = [rows.isMember, condition]
  if (query.priced !== undefined) {
    if (found.version === 'draft') rejectPriced()
    conditions.push(sql`(${hasAllPrices(list, rows)}) = ${query.priced === 'true'}`)
  }
  const isSearched = query.filters !== undefined || query.contains !== undefined
  const fromAll = sql`${isSearched ? rows.from : rows.fromAll} ${join}`
  return {
    ...found,
    list,
    columns,
    date,
    isNarrowed: isSearched || query.priced !== undefined,
    ...(query.include !== undefined && { position: positionFields(query.include) }),
    rows: {
      ...rows,
      from: sql`${rows.from} ${join}`,
      fromAll,
      fromKeys: query.priced === undefined ? sql`${rows.fromKeys} ${join}` : fromAll,
      isMember: sql<boolean>`${sql.join(conditions, sql` and `)}`,
    },
  }
}

function rejectPriced(): never {
  const message = 'the draft has no prices'
  throw invalidRequest([{ pointer: '/query/priced', code: 'not_allowed', message }])
}

/**
 * The day of a calendar list to read, by default `valid_from`. Throws `invalid-request` for a day outside the calendar.
 */
function readDate(list: PriceList, date: string | undefined): string | undefined {
  const reject = (code: 'not_allowed' | 'date_outside_calendar', message: string) => {
    throw invalidRequest([{ pointer: '/query/date', code, message }])
  }
  if (!list.is_calendar)
    return date === undefined ? undefined : reject('not_allowed', 'only a calendar list has dates')
  if (date !== undefined && !isInCalendar(date, list.valid_from)) {
    const days = `${list.valid_from} to ${lastCalendarDay(list.valid_from)}`
    return reject('date_outside_calendar', `must be from ${days}`)
  }
  return date ?? list.valid_from
}

/** Throws `invalid-request` unless the prices are current: others have no position. */
function rejectUnpositioned({ version, lines, as_of }: RowsQuery): void {
  if (version !== 'draft' && lines !== 'dynamic_attributes' && as_of === undefined) return
  const message = 'only prices of the published version, as they are now, have a position'
  throw invalidRequest([{ pointer: '/query/include', code: 'not_allowed', message }])
}

/** SQL that is true for a row `r` with a price in every cell. */
function hasAllPrices(list: PriceList, { fromMonths }: ListRows): RawBuilder<boolean> {
  if (!list.is_calendar) return sql`array_position(r.prices, null) is null`
  return sql`(
    select coalesce(sum(cardinality(array_remove(m.prices, null))), 0) from ${fromMonths}
    where ${ofList(list, 'm')} and m.row_id = r.id
  ) = ${horizonDays * list.price_dimensions.length}::integer`
}

async function rowsOf(
  trx: Trx,
  list: PriceList,
  { version, lines, as_of }: RowsQuery,
): Promise<Pick<ShownRows, 'version' | 'revision' | 'rows'>> {
  const { version: revision } = list
  const rows = publishedRows(list)
  if (as_of === undefined) {
    const isDraft = version === 'draft'
    if (!isDraft) return { revision, version: 'published', rows }
    const isMember = sql<boolean>`r.removed_version is null`
    return { revision, version: 'draft', rows: { ...rows, isMember } }
  }
  const place = { pointer: '/query/as_of' }
  if (version === 'draft' || lines === 'dynamic_attributes') {
    const what = version === 'draft' ? 'the draft has' : 'dynamic attributes have'
    throw invalidRequest([{ ...place, code: 'not_allowed', message: `${what} no history` }])
  }
  const moment = await findMoment(trx, list, as_of, place)
  const { revision: past } = moment
  return { version: 'past', revision: past, rows: await rowsAsOf(trx, list, past) }
}
