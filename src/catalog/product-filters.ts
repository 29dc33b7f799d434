import { type RawBuilder, sql } from 'kysely'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { canonicalText, findTypeFault } from './column-value.ts'
import type { Columns, ColumnValue } from './columns.ts'
import { type MatchColumn, matchColumns } from './matching.ts'

/** Allowed values by `code`, attribute or extension. */
export type ProductFilters = Record<string, ColumnValue[]>

/** A condition of a filter: the value is one of the texts. A filter requires all of its conditions. */
export interface FilterCondition extends Pick<MatchColumn, 'kind' | 'ordinal'> {
  texts: string[]
}

/** Reports keys that are not `code`, an attribute or an extension, and values of the wrong type. */
export function rejectFaultyFilters(
  filters: ProductFilters,
  columns: Columns,
  position: number,
  errors: RowErrors,
): void {
  const known = matchColumns(columns)
  for (const [name, values] of Object.entries(filters)) {
    const field = `product_filters/${pointerSegment(name)}`
    const column = known.get(name)
    if (!column)
      errors.add(
        position,
        field,
        'unknown_column',
        'is not "code", an attribute or an extension of the catalog',
      )
    else {
      for (const [index, value] of values.entries()) {
        const fault = findTypeFault(column.type, value)
        if (fault) errors.add(position, `${field}/${index}`, fault.code, fault.message)
      }
    }
  }
}

/**
 * The conditions of checked filters, in column order, so that the statement does not depend on the order of the keys. A
 * column that no longer exists matches nothing; values that do not fit the column's present type are ignored.
 */
export function compileFilters(filters: ProductFilters, columns: Columns): FilterCondition[] {
  const known = matchColumns(columns)
  const conditions = Object.entries(filters).map(([name, values]): FilterCondition => {
    const column = known.get(name)
    if (!column) return { kind: 'extension', ordinal: 0, texts: [] }
    const { kind, type, ordinal } = column
    const sound = values.filter((value) => !findTypeFault(type, value))
    return { kind, ordinal, texts: [...new Set(sound.map(canonicalText))] }
  })
  return conditions.sort(byColumn)
}

function byColumn(a: FilterCondition, b: FilterCondition): number {
  return a.kind === b.kind ? a.ordinal - b.ordinal : a.kind < b.kind ? -1 : 1
}

/**
 * SQL that is true for a product that meets the conditions, else false or null; attributes `a` must be left joined by
 * code. Values are bound: the text depends only on the number and kinds of the conditions.
 */
export function filterSql(
  conditions: FilterCondition[],
  product: RawBuilder<unknown> = sql`p`,
): RawBuilder<boolean> {
  const parts = conditions.map(({ kind, ordinal, texts }) => {
    if (kind === 'code') return sql<boolean>`${product}.code = any(${texts}::text[])`
    const place = sql`[${ordinal}::integer]`
    if (kind === 'extension')
      return sql<boolean>`${product}.extensions${place} = any(${texts}::text[])`
    return sql<boolean>`(a.code is not null and a.attributes${place} = any(${texts}::text[]))`
  })
  return parts.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(parts, sql` and `)})`
}
