import { type RawBuilder, sql } from 'kysely'
import { type Column, type Columns, keyOrder } from '../../catalog/columns.ts'
import type { WantedRow } from './wanted-rows.ts'

/**
 * SQL that is true if the given columns are equal. A column that only some rows give is null in the others, which
 * matches any value.
 */
function matches(
  columns: Column[],
  named: (string | null)[][],
  textAt: (place: RawBuilder<unknown>) => RawBuilder<unknown>,
  wanted: RawBuilder<unknown>,
): RawBuilder<boolean> {
  const each = columns.flatMap(({ ordinal }, index) => {
    const place = sql`[${ordinal}::integer]`
    const isEqual = sql`${textAt(place)} = ${wanted}${place}`
    const unnamed = named.filter((values) => values[index] === null).length
    if (unnamed === named.length) return []
    // Without an `or`, PostgreSQL uses a hash join instead of comparing each row with each.
    return unnamed === 0 ? isEqual : sql`(${wanted}${place} is null or ${isEqual})`
  })
  return each.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(each, sql` and `)})`
}

/** SQL that is true if the extensions of row `r` match those of the input row. */
export function matchesExtensions({ extensions }: Columns, rows: WantedRow[]): RawBuilder<boolean> {
  const named = rows.map((row) => row.extensions)
  return matches(extensions, named, (place) => sql`r.extensions${place}`, sql`input.extensions`)
}

/**
 * SQL that is true if row `r` has the code `a`, and its attributes and extensions match the input row. The redundant
 * coalesce with `a.code` keeps PostgreSQL from joining by extension first: it estimates 200 values, and would join the
 * input to half of the list.
 */
export function matchesAttributes(columns: Columns, rows: WantedRow[]): RawBuilder<boolean> {
  const [attributes, extensions] = [
    rows.map((row) => row.attributes),
    rows.map((row) => row.extensions),
  ]
  const attributeAt = (place: RawBuilder<unknown>) => sql`a.attributes${place}`
  const extensionAt = (place: RawBuilder<unknown>) => sql`coalesce(r.extensions${place}, a.code)`
  return sql<boolean>`r.code = a.code
    and ${matches(columns.attributes, attributes, attributeAt, sql`input.attributes`)}
    and ${matches(columns.extensions, extensions, extensionAt, sql`input.extensions`)}`
}

/** Each group becomes one SELECT of a UNION. */
const groupsMax = 64

/** Encodes which columns a row gives. */
const namesOf = ({ extensions, attributes }: WantedRow): string =>
  [...extensions, ...attributes].map((value) => (value === null ? '-' : '+')).join('')

/** Groups rows that give the same columns. If there are too many groups, the smallest are merged. */
export function groupByNames<Row extends WantedRow>(rows: Row[]): Row[][] {
  const groups = [...Map.groupBy(rows, namesOf).values()]
  if (groups.length <= groupsMax) return groups
  const bySize = groups.sort((a, b) => b.length - a.length)
  return [...bySize.slice(0, groupsMax - 1), bySize.slice(groupsMax - 1).flat()]
}

/** How often a read scans the list for rows without a code: once per group, or once per row in a merged group. */
export function countScans(rows: WantedRow[]): number {
  return [rows.filter(namesAttribute), rows.filter((row) => !namesAttribute(row))]
    .flatMap(groupByNames)
    .reduce((sum, group) => sum + (isMixed(group) ? group.length : 1), 0)
}

const isMixed = (group: WantedRow[]): boolean =>
  group.length > 1 && group.some((row) => namesOf(row) !== namesOf(group[0] as WantedRow))

/** Whether a row names an attribute. */
export const namesAttribute = ({ attributes }: WantedRow): boolean =>
  attributes.some((value) => value !== null)

/** SQL that orders by payload position, then code and extensions. */
export function orderBy(columns: Columns, wanted: WantedRow[]): RawBuilder<unknown> {
  const place = wanted.length > 1 ? sql`at, ` : sql``
  return sql`order by ${place}${keyOrder(columns)}`
}
