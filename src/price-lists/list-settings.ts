import type { Columns } from '../catalog/columns.ts'
import { type ProductFilters, rejectFaultyFilters } from '../catalog/product-filters.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { FormulaError, parseMarginFormula } from './margin-formula.ts'

/** The settings that are checked beyond the contract. Without a formula, a list gets the default one. */
export type CheckedSettings = Pick<
  Schemas['PriceListInput'],
  'valid_from' | 'valid_to' | 'margin_formula' | 'product_filters' | 'guardrails'
>

/** Reports settings that contradict each other or the account's columns. */
export function rejectFaultySettings(
  settings: CheckedSettings,
  position: number,
  columns: Columns,
  errors: RowErrors,
): void {
  const { valid_from, valid_to, margin_formula, product_filters, guardrails } = settings
  if (valid_to < valid_from)
    errors.add(position, 'valid_to', 'range', 'must not be before valid_from')
  rejectFaultyFilters(product_filters as ProductFilters, columns, position, errors)
  const { min_price = 0, max_price = Number.POSITIVE_INFINITY } = guardrails
  if (min_price > max_price)
    errors.add(position, 'guardrails', 'range', 'min_price must not be above max_price')
  if (margin_formula === undefined) return
  try {
    parseMarginFormula(margin_formula, columns.costs)
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error
    errors.add(position, 'margin_formula', 'formula', error.message)
  }
}
