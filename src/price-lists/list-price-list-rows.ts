import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { Answer, type Handler, type Schemas } from '../contract/operation.ts'
import { anyOf, pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { horizonDays, isInCalendar, lastCalendarDay, monthPlace } from './calendar.ts'
import { findMoment } from './history/moments.ts'
import { rowsAsOf } from './history/past-rows.ts'
import { revisionHeader } from './history/record-revision.ts'
import { type ListRows, publishedRows, setOnDay } from './list-rows.ts'
import { parseMarginFormula } from './margin-formula.ts'
import {
  type Position,
  type PositionFields,
  positionFields,
  positionReader,
  withPositions,
} from './position-fields.ts'
import { findPriceList, type PriceList } from './queries.ts'

/** One page of the rows of a list. Published rows have prices, margins and dynamic attributes; draft rows do not. */
export const listPriceListRows: Handler<'listPriceListRows'> = ({
  account,
  params,
  query,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const list = await findPriceList(trx, account, { id: params.id })
    const date = readDate(list, query.date)
    const columns = await findColumns(trx, account)
    const shown = await shownRows(trx, list, query)
    const { count, rows } = await findPage(trx, { ...shown, date }, { offset, limit })
    const show = shown.version === 'draft' ? () => ({}) : publishedFields(list, columns, shown)
    const positioned = await addPositions(trx, { shown, columns, date }, rows)
    const results = await mapCooperatively(positioned, (row) => ({
      ...keyFields(row, columns),
      ...show(row),
    }))
    return new Answer({ count, results }, revisionHeader(shown.revision))
  })

/** The rows of a list that a request asks for. */
export interface ShownRows {
  list: PriceList
  version: 'draft' | 'published' | 'past'
  revision: number
  rows: ListRows
  /** The fields of the position, if any is asked for. */
  position?: PositionFields
}

interface RowsQuery {
  include?: string
  version?: string
  lines?: string
  as_of?: string
  priced?: string
}

/** Throws `invalid-request` for the draft of a moment, or its prices, and as `findMoment` does. */
export async function shownRows(trx: Trx, list: PriceList, query: RowsQuery): Promise<ShownRows> {
  if (query.include !== undefined) rejectUnpositioned(query)
  const found = await rowsOf(trx, list, query)
  const shown = query.include ? { ...found, position: positionFields(query.include) } : found
  if (query.priced === undefined) return shown
  if (shown.version === 'draft') {
    const message = 'the draft has no prices'
    throw invalidRequest([{ pointer: '/query/priced', code: 'not_allowed', message }])
  }
  const { rows } = shown
  const isPriced = sql`(${hasAllPrices(list, rows)}) = ${query.priced === 'true'}`
  const isMember = sql<boolean>`${rows.isMember} and ${isPriced}`
  return { ...shown, rows: { ...rows, fromKeys: rows.from, isMember } }
}

/** Adds the position of each price, if it is asked for. */
async function addPositions(
  trx: Trx,
  { shown, columns, date }: { shown: ShownRows; columns: Columns; date: string | undefined },
  rows: StoredRow[],
): Promise<StoredRow[]> {
  if (!shown.position) return rows
  const read = await positionReader(trx, shown.list, columns, shown.position)
  const cellsOf = ({ prices }: StoredRow) => prices.map((price, index) => ({ index, date, price }))
  return withPositions(rows, cellsOf, read)
}

/** Only prices of now have a position. Throws `invalid-request`. */
function rejectUnpositioned({ version, lines, as_of }: RowsQuery): void {
  if (version !== 'draft' && lines !== 'dynamic_attributes' && as_of === undefined) return
  const message = 'only prices of the published version, as they are now, have a position'
  throw invalidRequest([{ pointer: '/query/include', code: 'not_allowed', message }])
}

/** SQL that is true for a row `r` whose every cell has a price. */
function hasAllPrices(list: PriceList, { fromMonths }: ListRows): RawBuilder<boolean> {
  if (!list.is_calendar) return sql`array_position(r.prices, null) is null`
  return sql`(
    select coalesce(sum(cardinality(array_remove(m.prices, null))), 0) from ${fromMonths}
    where m.account_id = ${list.account_id} and m.price_list_id = ${list.id} and m.row_id = r.id
  ) = ${horizonDays * list.price_dimensions.length}::integer`
}

async function rowsOf(
  trx: Trx,
  list: PriceList,
  { version, lines, as_of }: RowsQuery,
): Promise<ShownRows> {
  const { version: revision } = list
  const rows = publishedRows(list)
  if (as_of === undefined) {
    const isDraft = version === 'draft'
    if (!isDraft) return { list, revision, version: 'published', rows }
    const isMember = sql<boolean>`r.removed_version is null`
    return { list, revision, version: 'draft', rows: { ...rows, isMember } }
  }
  const place = { pointer: '/query/as_of' }
  if (version === 'draft' || lines === 'dynamic_attributes') {
    const what = version === 'draft' ? 'the draft has' : 'dynamic attributes have'
    throw invalidRequest([{ ...place, code: 'not_allowed', message: `${what} no history` }])
  }
  const moment = await findMoment(trx, list, as_of, place)
  return {
    list,
    version: 'past',
    revision: moment.revision,
    rows: await rowsAsOf(trx, list, moment.revision),
  }
}

interface StoredRow {
  id: number
  product_id: number
  code: string
  extensions: string[]
  /** null where none was set. */
  prices: (number | null)[]
  dynamic_attributes: Record<string, unknown> | null
  costs: (number | null)[]
  attributes?: (string | null)[] | null
  positions?: Position[]
}

/** Count and rows are of the same publication. */
function findPage(
  trx: Trx,
  { list, rows, version, date, position }: ShownRows & { date: string | undefined },
  { offset, limit }: { offset: number; limit: number },
) {
  const ofList = sql`r.account_id = ${list.account_id} and r.price_list_id = ${list.id}`
  const members = sql`from ${rows.fromKeys} where ${ofList} and ${rows.isMember}`
  const ids = sql`select r.id ${members} order by r.id offset ${offset} limit ${limit}`
  const page = sql<StoredRow>`
    select r.id, r.product_id, r.code, r.extensions, ${pricesOf(list, rows, date)} as prices,
      ${version === 'past' ? sql`null` : sql`r.dynamic_attributes`} as dynamic_attributes, p.costs
      ${position ? attributesOfRow(list).field : sql``}
    from ${rows.from}
    left join products p on p.account_id = ${list.account_id} and p.id = r.product_id
    ${position ? attributesOfRow(list).join : sql``}
    where ${ofList} and ${rows.isMember} and r.id = ${anyOf(ids)}`
  return readPageOfLargeRows(trx, { all: sql`select ${members}`, page })
}

/** SQL of the attributes of a row `r`. */
export function attributesOfRow({ account_id }: PriceList) {
  const join = sql`left join product_attributes pa on pa.account_id = ${account_id} and pa.code = r.code`
  return { field: sql`, pa.attributes`, join }
}

/**
 * The day to read of a calendar list, by default `valid_from`. Throws `invalid-request` for a day outside the calendar.
 */
export function readDate(list: PriceList, date: string | undefined): string | undefined {
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

/** SQL of the prices of a row by dimension; in a calendar list those of one day. null where none was set. */
export function pricesOf(
  { price_dimensions }: PriceList,
  rows: ListRows,
  date: string | undefined,
): RawBuilder<(number | null)[]> {
  const prices = price_dimensions.map((_, index) => {
    const dimension = sql.lit(index + 1)
    if (date === undefined) return sql`r.prices[${dimension}]`
    const { month, place } = monthPlace(date)
    const at = { dimension, month: sql`${month}::date`, place: sql`${place}::integer` }
    return setOnDay(rows, at)
  })
  return sql`array[${sql.join(prices)}]`
}

function keyFields(row: StoredRow, columns: Columns): Schemas['PriceListRow'] {
  return {
    pk: row.id,
    extended_catalog_id: row.product_id,
    code: row.code,
    ...Object.fromEntries(columnEntries(columns.extensions, row.extensions)),
  }
}

function publishedFields(
  list: PriceList,
  columns: Columns,
  { version }: ShownRows,
): (row: StoredRow) => object {
  const pricesOfRow = (row: StoredRow) =>
    list.price_dimensions.map((name, index) => [name, row.prices[index] ?? 0] as const)
  if (version === 'past') return (row) => ({ prices: Object.fromEntries(pricesOfRow(row)) })
  const marginOf = parseMarginFormula(list.margin_formula, columns.costs)
  return (row: StoredRow) => {
    const byDimension = pricesOfRow(row)
    return {
      prices: Object.fromEntries(byDimension),
      margin: Object.fromEntries(
        byDimension.map(([name, price]) => [name, marginOf(price, row.costs)]),
      ),
      dynamic_attributes: row.dynamic_attributes ?? {},
      ...positionByDimension(list, row),
    }
  }
}

function positionByDimension({ price_dimensions }: PriceList, { positions }: StoredRow): object {
  const [first] = positions ?? []
  const fields = Object.keys(first ?? {}) as (keyof Position)[]
  const ofField = (field: keyof Position) =>
    price_dimensions.map((name, index) => [name, positions?.[index]?.[field]])
  return Object.fromEntries(fields.map((field) => [field, Object.fromEntries(ofField(field))]))
}
