import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../catalog/columns.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { WantedRow } from './wanted-rows.ts'

/** SQL that is true where each column equals the text of the input row, or that is null. */
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

/** SQL that is true where the extensions are those that the input row names. Only those that some row names are compared. */
export function matchesExtensions({ extensions }: Columns, rows: WantedRow[]): RawBuilder<boolean> {
  const named = extensions.filter((_, index) => rows.some((row) => row.extensions[index] !== null))
  return matches(named, sql`r.extensions`, sql`input.extensions`)
}

/**
 * SQL that is true where the attributes of the row's code are those that the input row names. Attributes are kept by
 * code; only those that some row names are compared.
 */
export function matchesAttributes(
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
