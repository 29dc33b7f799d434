import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row with its index among all that are wanted. */
export type PlacedRow = WantedRow & { at: number }

/**
 * SQL of a FROM item `input` with the rows. One row is constants: joining it to each row of the list would take as long as
 * reading that.
 */
export function inputRows(rows: PlacedRow[]): RawBuilder<unknown> {
  const [row] = rows
  return row && rows.length === 1 ? constantRow(row) : unnestedRows(rows)
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

function unnestedRows(rows: PlacedRow[]): RawBuilder<unknown> {
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
