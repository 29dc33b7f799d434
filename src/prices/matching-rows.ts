import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../catalog/columns.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import { isPublished } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { WantedRow } from './wanted-rows.ts'

/** What the published list has for a wanted row. */
export interface MatchingRow {
  position: number
  id: number
  product_id: number
  code: string
  extensions: string[]
  price: number
  costs?: (number | null)[]
  dynamic_attributes?: Record<string, unknown> | null
  attributes?: (string | null)[] | null
}

/** Columns to read beyond the price. */
export interface Extras {
  costs: boolean
  dynamicAttributes: boolean
  attributes: boolean
}

/**
 * The published rows that match, in payload order, then by code and extensions; at most `rowsMax`. One statement, so
 * that a publication is seen whole or not at all. Fully named rows are looked up by key, rows with a code by its index.
 */
export async function findMatchingRows(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  wanted: WantedRow[],
  extras: Extras,
  rowsMax: number,
): Promise<MatchingRow[]> {
  const isExact = (row: WantedRow) => row.code !== null && !row.extensions.includes(null)
  const byKey = wanted.filter(isExact)
  const byCode = wanted.filter((row) => row.code !== null && !isExact(row))
  const byAnything = wanted.filter((row) => row.code === null)
  const matchesExtensions = matches(columns.extensions, sql`r.extensions`, sql`input.extensions`)
  const parts = [
    { rows: byKey, on: sql`r.code = input.code and r.extensions = input.extensions` },
    { rows: byCode, on: sql`r.code = input.code and ${matchesExtensions}` },
    {
      rows: byAnything,
      on: sql`${matchesExtensions} and ${matchesAttributes(list, columns, byAnything)}`,
    },
  ].filter(({ rows }) => rows.length > 0)
  if (parts.length === 0) return []
  const selects = parts.map(({ rows, on }) => selectMatching(list, rows, on, extras))
  const { rows } = await sql<MatchingRow>`
    select * from (${sql.join(selects, sql` union all `)}) as matching
    ${byKey.length === wanted.length ? sql`` : orderBy(columns)} limit ${rowsMax}`.execute(trx)
  return byKey.length === wanted.length ? rows.sort((a, b) => a.position - b.position) : rows
}

function selectMatching(
  list: PriceList,
  rows: WantedRow[],
  on: RawBuilder<unknown>,
  extras: Extras,
): RawBuilder<unknown> {
  return sql`
    select input.position, r.id, r.product_id, r.code, r.extensions, ${priceOf(list)} as price
      ${extras.costs ? sql`, p.costs` : sql``}
      ${extras.dynamicAttributes ? sql`, r.dynamic_attributes` : sql``}
      ${extras.attributes ? sql`, pa.attributes` : sql``}
    from ${inputRows(rows)}
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and ${on} and ${isPublished}
    ${extras.costs ? sql`join products p on p.account_id = ${list.account_id} and p.id = r.product_id` : sql``}
    ${extras.attributes ? sql`left join product_attributes pa on pa.account_id = ${list.account_id} and pa.code = r.code` : sql``}`
}

function inputRows(rows: WantedRow[]): RawBuilder<unknown> {
  const places = rows.map(({ date }) => (date === undefined ? null : monthPlace(date)))
  const columns = [
    sql`${rows.map(({ position }) => position)}::integer[]`,
    sql`${rows.map(({ code }) => code)}::text[]`,
    sql`${rows.map(({ extensions }) => arrayLiteral(extensions))}::text[]`,
    sql`${rows.map(({ attributes }) => arrayLiteral(attributes))}::text[]`,
    sql`${rows.map(({ dimension }) => dimension)}::integer[]`,
    sql`${places.map((place) => place?.month ?? null)}::date[]`,
    sql`${places.map((place) => place?.place ?? null)}::integer[]`,
  ]
  return sql`(
    select position, code, extensions::text[] as extensions, attributes::text[] as attributes, dimension, month, place
    from unnest(${sql.join(columns)}) as input (position, code, extensions, attributes, dimension, month, place)
  ) as input`
}

function priceOf(list: PriceList): RawBuilder<number> {
  if (!list.is_calendar) return sql`r.prices[input.dimension]`
  return sql`coalesce((
    select m.prices[input.place] from calendar_months m
    where m.account_id = ${list.account_id} and m.price_list_id = ${list.id} and m.row_id = r.id
      and m.dimension = input.dimension and m.month = input.month
  ), 0)`
}

/** Each column equals the text of the input row, where that is not null. */
function matches(
  columns: Column[],
  texts: RawBuilder<unknown>,
  wanted: RawBuilder<unknown>,
): RawBuilder<boolean> {
  const each = columns.map(({ ordinal }) => {
    const place = sql`[${ordinal}::integer]`
    return sql`(${wanted}${place} is null or ${texts}${place} = ${wanted}${place})`
  })
  return each.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(each, sql` and `)})`
}

/** Attributes are kept by code; only those that some row names are compared. */
function matchesAttributes(
  list: PriceList,
  columns: Columns,
  rows: WantedRow[],
): RawBuilder<boolean> {
  const named = columns.attributes.filter((_, index) =>
    rows.some(({ attributes }) => attributes[index] !== null),
  )
  if (named.length === 0) return sql<boolean>`true`
  const isUnnamed = sql`input.attributes = array_fill(null::text, array[cardinality(input.attributes)])`
  return sql<boolean>`(${isUnnamed} or exists (
    select from product_attributes a
    where a.account_id = ${list.account_id} and a.code = r.code
      and ${matches(named, sql`a.attributes`, sql`input.attributes`)}
  ))`
}

/** Numbers order as numbers, everything else as text in code point order. */
function orderBy(columns: Columns): RawBuilder<unknown> {
  if (!columns.extensions.some(({ type }) => type === 'integer' || type === 'number')) {
    return sql`order by position, code, extensions`
  }
  const keys = columns.extensions.map(({ type, ordinal }) =>
    type === 'integer' || type === 'number'
      ? sql`(extensions[${ordinal}::integer])::numeric`
      : sql`extensions[${ordinal}::integer]`,
  )
  return sql`order by ${sql.join([sql`position`, sql`code`, ...keys])}`
}
