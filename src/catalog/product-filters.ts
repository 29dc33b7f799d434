import { type RawBuilder, sql } from 'kysely'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { canonicalText, findTypeFault } from './column-value.ts'
import type { Column, Columns, ColumnValue } from './columns.ts'

/** From `code`, an attribute or an extension to the allowed values. */
export type ProductFilters = Record<string, ColumnValue[]>

/** A filter ready to be evaluated: every condition must hold, each by any of its texts. */
export interface FilterCondition {
  kind: 'code' | 'attribute' | 'extension'
  ordinal: number
  texts: string[]
}

type FilterColumn = Pick<Column, 'type' | 'ordinal'> & Pick<FilterCondition, 'kind'>

const codeColumn: FilterColumn = { kind: 'code', type: 'string', ordinal: 0 }

/** Names the filter keys that are no `code`, attribute or extension, and the values that are not of the column's type. */
export function rejectFaultyFilters(
  filters: ProductFilters,
  columns: Columns,
  position: number,
  errors: RowErrors,
): void {
  for (const [name, values] of Object.entries(filters)) {
    const field = `product_filters/${pointerSegment(name)}`
    const column = name === 'code' ? codeColumn : findFilterColumn(columns, name)
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
 * The conditions of checked filters, in the order of the columns: that of the keys depends on their names, and so would
 * the statement. A column that the catalog no longer has matches nothing, and one that has another type now only values
 * that are of it, too.
 */
export function compileFilters(filters: ProductFilters, columns: Columns): FilterCondition[] {
  const conditions = Object.entries(filters).map(([name, values]): FilterCondition => {
    const column = name === 'code' ? codeColumn : findFilterColumn(columns, name)
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
 * SQL that is true for a product `p` (and its attributes `a`, left joined by code) which the conditions allow, else
 * false or null (the planner makes the left join an inner one when it may). Names and values are bound; the text depends
 * on the number and kind of the conditions only.
 */
export function filterSql(conditions: FilterCondition[]): RawBuilder<boolean> {
  const parts = conditions.map(({ kind, ordinal, texts }) => {
    if (kind === 'code') return sql<boolean>`p.code = any(${texts}::text[])`
    const place = sql`[${ordinal}::integer]`
    if (kind === 'extension') return sql<boolean>`p.extensions${place} = any(${texts}::text[])`
    return sql<boolean>`(a.code is not null and a.attributes${place} = any(${texts}::text[]))`
  })
  return parts.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(parts, sql` and `)})`
}

function findFilterColumn(
  { attributes, extensions }: Columns,
  name: string,
): FilterColumn | undefined {
  const kinds = { attribute: attributes, extension: extensions } as const
  for (const kind of ['attribute', 'extension'] as const) {
    const column = kinds[kind].find((column) => column.name === name)
    if (column) return { ...column, kind }
  }
  return undefined
}
