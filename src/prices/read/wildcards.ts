import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../../catalog/columns.ts'
import type { WantedRow } from './wanted-rows.ts'

/** SQL that is true where the columns that rows name are equal; of those that only some rows name, null equals any. */
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
    // Without an `or` Postgres hashes the rows, and does not compare each with each.
    return unnamed === 0 ? isEqual : sql`(${wanted}${place} is null or ${isEqual})`
  })
  return each.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(each, sql` and `)})`
}

/** SQL that is true where the extensions of row `r` are those that the input row names. */
export function matchesExtensions({ extensions }: Columns, rows: WantedRow[]): RawBuilder<boolean> {
  const named = rows.map((row) => row.extensions)
  return matches(extensions, named, (place) => sql`r.extensions${place}`, sql`input.extensions`)
}

/**
 * SQL that is true where row `r` has a code `a`, and its attributes and extensions are those that the input row names. An
 * extension is never null, and refers to `a` all the same: Postgres takes it for one of 200, would join the input to half
 * of the list by it, and look for the codes then.
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

/** Each group is matched by a statement of its own, in one. */
const groupsMax = 64

/** Which columns a row names. */
const namesOf = ({ extensions, attributes }: WantedRow): string =>
  [...extensions, ...attributes].map((value) => (value === null ? '-' : '+')).join('')

/** Rows that name the same columns together; where that makes too many groups, those of the small ones in one. */
export function groupByNames<Row extends WantedRow>(rows: Row[]): Row[][] {
  const groups = [...Map.groupBy(rows, namesOf).values()]
  if (groups.length <= groupsMax) return groups
  const bySize = groups.sort((a, b) => b.length - a.length)
  return [...bySize.slice(0, groupsMax - 1), bySize.slice(groupsMax - 1).flat()]
}

/** How often the list is looked through for rows without a code: once a group, of a mixed one once a row. */
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

/** Payload order, then code and extensions: numbers order as numbers, everything else as text in code point order. */
export function orderBy(columns: Columns, wanted: WantedRow[]): RawBuilder<unknown> {
  const keys = columns.extensions.map(({ type, ordinal }) =>
    type === 'integer' || type === 'number'
      ? sql`(extensions[${ordinal}::integer])::numeric`
      : sql`extensions[${ordinal}::integer]`,
  )
  const place = wanted.length > 1 ? [sql`at`] : []
  return sql`order by ${sql.join([...place, sql`code`, ...keys])}`
}
