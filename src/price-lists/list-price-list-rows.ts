import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { anyOf, pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { isInCalendar, lastCalendarDay, monthPlace, priceOnDay } from './calendar.ts'
import { parseMarginFormula } from './margin-formula.ts'
import { isPublished } from './publication.ts'
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
    const isDraft = query.version === 'draft'
    const isMember = isDraft ? sql<boolean>`r.removed_version is null` : isPublished
    const shown = { isMember, prices: pricesOf(list, date) }
    const { count, rows } = await findPage(trx, list, shown, { offset, limit })
    const show = isDraft ? () => ({}) : publishedFields(list, columns)
    return {
      count,
      results: await mapCooperatively(rows, (row) => ({
        ...keyFields(row, columns),
        ...show(row),
      })),
    }
  })

interface StoredRow {
  id: number
  product_id: number
  code: string
  extensions: string[]
  prices: number[]
  dynamic_attributes: Record<string, unknown> | null
  costs: (number | null)[]
}

/** Count and rows are of the same publication. */
function findPage(
  trx: Trx,
  list: PriceList,
  { isMember, prices }: { isMember: RawBuilder<boolean>; prices: RawBuilder<number[]> },
  { offset, limit }: { offset: number; limit: number },
) {
  const members = sql`
    from price_lists l
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and ${isMember}`
  const isList = sql`l.account_id = ${list.account_id} and l.id = ${list.id}`
  const ids = sql`select r.id ${members} where ${isList} order by r.id offset ${offset} limit ${limit}`
  const page = sql<StoredRow>`
    select r.id, r.product_id, r.code, r.extensions, ${prices} as prices, r.dynamic_attributes, p.costs
    from price_list_rows r
    join products p on p.account_id = ${list.account_id} and p.id = r.product_id
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.id = ${anyOf(ids)}`
  return readPageOfLargeRows(trx, { all: sql`select ${members} where ${isList}`, page })
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

/** SQL of the prices of a row by dimension; in a calendar list those of one day. */
export function pricesOf(list: PriceList, date: string | undefined): RawBuilder<number[]> {
  if (date === undefined) return sql`r.prices`
  const { month, place } = monthPlace(date)
  const price = priceOnDay(list, {
    dimension: sql`d`,
    month: sql`${month}::date`,
    place: sql`${place}::integer`,
  })
  return sql`array(
    select ${price} from generate_series(1, ${list.price_dimensions.length}::integer) d order by d)`
}

function keyFields(row: StoredRow, columns: Columns): Schemas['PriceListRow'] {
  return {
    pk: row.id,
    extended_catalog_id: row.product_id,
    code: row.code,
    ...Object.fromEntries(columnEntries(columns.extensions, row.extensions)),
  }
}

function publishedFields(list: PriceList, columns: Columns) {
  const marginOf = parseMarginFormula(list.margin_formula, columns.costs)
  return (row: StoredRow) => {
    const byDimension = list.price_dimensions.map(
      (name, index) => [name, row.prices[index] as number] as const,
    )
    return {
      prices: Object.fromEntries(byDimension),
      margin: Object.fromEntries(
        byDimension.map(([name, price]) => [name, marginOf(price, row.costs)]),
      ),
      dynamic_attributes: row.dynamic_attributes ?? {},
    }
  }
}
