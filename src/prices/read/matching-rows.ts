import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../../catalog/columns.ts'
import { extensionKey } from '../../catalog/row-key.ts'
import { arrayLiteral } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { monthPlace } from '../../price-lists/calendar.ts'
import {
  attributesOfRow,
  joinProducts,
  joinRows,
  type ListRows,
  setOnDay,
} from '../../price-lists/list-rows.ts'
import { isExact, type WantedRow } from './wanted-rows.ts'
import {
  groupByNames,
  matchesAttributes,
  matchesExtensions,
  namesAttribute,
  orderBy,
} from './wildcards.ts'

/** A published row that matches a wanted row. */
export interface MatchingRow {
  /** Index of the wanted row. */
  at: number
  id: number
  product_id: number
  code: string
  extensions: string[]
  price: number
  costs?: (number | null)[]
  dynamic_attributes?: Record<string, unknown> | null
  attributes?: (string | null)[] | null
  is_priced?: boolean
}

/** Columns to read besides the price. */
export interface Extras {
  costs: boolean
  dynamicAttributes: boolean
  attributes: boolean
  priced: boolean
}

/**
 * Finds the published rows that match, sorted by wanted row, code and extensions. One statement, so that it sees one
 * publication.
 */
export async function findMatchingRows(
  trx: Trx,
  rows: ListRows,
  columns: Columns,
  wanted: WantedRow[],
  extras: Extras,
): Promise<MatchingRow[]> {
  if (wanted.length === 0) return []
  const isInOrder = wanted.every(isExact)
  const { rows: found } = await sql<MatchingRow>`
    select * from (${selectAllMatching(rows, columns, wanted, extras)}) as matching
    ${isInOrder ? sql`` : orderBy(columns, wanted)}`.execute(trx)
  return isInOrder ? found.sort((a, b) => a.at - b.at) : found
}

/**
 * SQL of all matching rows: exact rows by key, rows with a code by its index, rows with attributes by the codes that
 * have them, others by a scan of the list.
 */
export function selectAllMatching(
  rowsOfList: ListRows,
  columns: Columns,
  wanted: WantedRow[],
  extras: Extras,
): RawBuilder<unknown> {
  const rows = wanted.map((row, at) => ({ ...row, at }))
  const byKey = rows.filter(isExact)
  const byCode = rows.filter((row) => row.code !== null && !isExact(row))
  const others = rows.filter((row) => row.code === null)
  const parts = [
    {
      rows: byKey,
      join: rowsOfList.joinByCode,
      on: sql`r.code = input.code and r.extension_key = input.extension_key`,
    },
    {
      rows: byCode,
      join: rowsOfList.joinByCode,
      on: sql`r.code = input.code and ${matchesExtensions(columns, byCode)}`,
    },
    ...groupByNames(others.filter(namesAttribute)).map((group) => {
      const codes = sql`join product_attributes a on a.account_id = ${rowsOfList.list.account_id}`
      return { rows: group, codes, join: rowsOfList.join, on: matchesAttributes(columns, group) }
    }),
    ...groupByNames(others.filter((row) => !namesAttribute(row))).map((group) => {
      return { rows: group, join: joinOf(rowsOfList, group), on: matchesExtensions(columns, group) }
    }),
  ].filter(({ rows }) => rows.length > 0)
  const selects = parts.map((part) => selectMatching(rowsOfList, part, extras))
  return sql.join(selects, sql` union all `)
}

/** Joins the rows of a list for a scan: with all prices at once if a wanted row matches them all. */
function joinOf({ list, fromAll, join }: ListRows, scanning: WantedRow[]): ListRows['join'] {
  const isAll = scanning.some(({ extensions }) => extensions.every((value) => value === null))
  return isAll ? joinRows(list, fromAll) : join
}

/** Input rows with the same condition. */
interface Part {
  rows: PlacedRow[]
  /** Joined before the rows of the list, because attributes are stored by code. */
  codes?: RawBuilder<unknown>
  join: ListRows['join']
  on: RawBuilder<unknown>
}

function selectMatching(
  rowsOfList: ListRows,
  { rows, codes = sql``, join, on }: Part,
  extras: Extras,
): RawBuilder<unknown> {
  const { list, isMember } = rowsOfList
  return sql`
    select input.at, r.id, r.product_id, r.code, r.extensions, coalesce(${priceIfSet(rowsOfList)}, 0) as price
      ${extras.costs ? sql`, p.costs` : sql``}
      ${extras.dynamicAttributes ? sql`, r.dynamic_attributes` : sql``}
      ${extras.attributes ? attributesOfRow(list).field : sql``}
      ${extras.priced ? sql`, ${priceIfSet(rowsOfList)} is not null as is_priced` : sql``}
    from ${wantedInput(rows)} ${codes}
    ${join(sql`${on} and ${isMember}`)}
    ${extras.costs ? joinProducts(list) : sql``}
    ${extras.attributes ? attributesOfRow(list).join : sql``}
    ${list.hide_unpriced ? sql`where ${priceIfSet(rowsOfList)} is not null` : sql``}`
}

/**
 * SQL of the price that was set for row `r` in the dimension of `input` and, for a calendar list, in its month and
 * place. Null if none was.
 */
export function priceIfSet(rows: ListRows): RawBuilder<number | null> {
  const [dimension, month] = [sql`input.dimension`, sql`input.month`]
  if (!rows.list.is_calendar) return sql`r.prices[${dimension}]`
  return setOnDay(rows, { dimension, month, place: sql`input.place` })
}

/** A wanted row with its index. */
type PlacedRow = WantedRow & { at: number }

/**
 * SQL of a FROM item `input` with the rows. A single row becomes constants: joining it would take as long as the scan.
 */
function wantedInput(rows: PlacedRow[]): RawBuilder<unknown> {
  const [row] = rows
  return row && rows.length === 1 ? constantRow(row) : unnestedInput(rows)
}

function constantRow({ date, ...row }: PlacedRow): RawBuilder<unknown> {
  const { month, place } = date === undefined ? { month: null, place: null } : monthPlace(date)
  return sql`(
    select ${row.at}::integer as at, ${row.code}::text as code,
      ${arrayLiteral(row.extensions)}::text[] as extensions,
      ${extensionKey(row.extensions)}::text as extension_key,
      ${arrayLiteral(row.attributes)}::text[] as attributes, ${row.dimension}::integer as dimension,
      ${month}::date as month, ${place}::integer as place
  ) as input`
}

function unnestedInput(rows: PlacedRow[]): RawBuilder<unknown> {
  const places = rows.map(({ date }) => (date === undefined ? null : monthPlace(date)))
  const columns = [
    sql`${rows.map(({ at }) => at)}::integer[]`,
    sql`${rows.map(({ code }) => code)}::text[]`,
    sql`${rows.map(({ extensions }) => arrayLiteral(extensions))}::text[]`,
    sql`${rows.map(({ extensions }) => extensionKey(extensions))}::text[]`,
    sql`${rows.map(({ attributes }) => arrayLiteral(attributes))}::text[]`,
    sql`${rows.map(({ dimension }) => dimension)}::integer[]`,
    sql`${places.map((place) => place?.month ?? null)}::date[]`,
    sql`${places.map((place) => place?.place ?? null)}::integer[]`,
  ]
  return sql`(
    select at, code, extensions::text[] as extensions, extension_key, attributes::text[] as attributes,
      dimension, month, place
    from unnest(${sql.join(columns)}) as input (at, code, extensions, extension_key, attributes, dimension, month, place)
    offset 0
  ) as input`
}
