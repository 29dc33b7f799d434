import { type RawBuilder, sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import { parseShort } from '../contract/json.ts'
import { invalidRequest, RowErrors } from '../contract/row-errors.ts'
import { compileSchema } from '../contract/validation.ts'
import { ValueFault } from '../contract/value-faults.ts'
import type { Columns } from './columns.ts'
import {
  compileFilters,
  filterSql,
  type ProductFilters,
  rejectFaultyFilters,
} from './product-filters.ts'

/** Narrows a list of products, or of rows about products. */
export interface ProductSearch {
  /** `product_filters` as JSON. */
  filters?: string
  /** Part of the code, an extension or an attribute. */
  contains?: string
}

export interface FoundProducts {
  /** Joins the attributes `a` if the condition uses them. */
  join: RawBuilder<unknown>
  condition: RawBuilder<boolean>
}

/** SQL that searches the products or rows called `alias`. Throws `invalid-request` for faulty filters. */
export function findProducts(
  { filters, contains }: ProductSearch,
  account: number,
  columns: Columns,
  alias: RawBuilder<unknown>,
): FoundProducts {
  const wanted = filters === undefined ? {} : readFilters(filters, columns)
  const conditions = compileFilters(wanted, columns)
  const texts = columns.attributes.filter(({ type }) => type === 'string')
  const hasAttributes =
    conditions.some(({ kind }) => kind === 'attribute') ||
    (contains !== undefined && texts.length > 0)
  const isFiltered = filterSql(conditions, alias)
  const join = hasAttributes
    ? sql`left join product_attributes a on a.account_id = ${account} and a.code = ${alias}.code`
    : sql``
  if (contains === undefined) return { join, condition: isFiltered }
  const values = [
    sql`${alias}.code`,
    ...columns.extensions.map(({ ordinal }) => sql`${alias}.extensions[${ordinal}::integer]`),
    ...texts.map(({ ordinal }) => sql`a.attributes[${ordinal}::integer]`),
  ]
  const isFound = containsText(values, contains)
  return { join, condition: sql<boolean>`${isFiltered} and ${isFound}` }
}

const place = '/query/filters'

function readFilters(text: string, columns: Columns): ProductFilters {
  const value = parseShort(text)
  if (value === undefined || value instanceof ValueFault) {
    const message = value?.reason ?? 'must be JSON, such as {"category": ["toys"]}'
    throw invalidRequest([{ pointer: place, code: 'format', message }])
  }
  const faults = compileSchema('ProductFilters')(value)
  if (faults.length > 0)
    throw invalidRequest(faults.map((fault) => ({ ...fault, pointer: place + fault.pointer })))
  const errors = new RowErrors('')
  rejectFaultyFilters(value as ProductFilters, columns, 0, errors)
  if (errors.count > 0)
    throw invalidRequest(
      errors.all().map(({ code, message, pointer }) => {
        return { pointer: pointer.replace('/0/product_filters', place), code, message }
      }),
      errors.count,
    )
  return value as ProductFilters
}
