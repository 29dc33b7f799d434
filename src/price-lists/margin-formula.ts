import type { Column } from '../catalog/columns.ts'
import { type Fraction, fraction, roundHalfUp } from '../lib/decimal.ts'
import { FormulaParser } from './formula-parser.ts'

/**
 * The margin for a price and the costs of a row by ordinal; null on division by zero, when a cost is absent, when a
 * step takes more than 1,000 digits, or when a JSON number cannot hold it.
 */
export type Margin = (price: number, costs: readonly (number | null)[]) => number | null

/** Parses a margin formula over the account's cost columns. Throws FormulaError. */
export function parseMarginFormula(formula: string, costs: readonly Column[]): Margin {
  const parser = new FormulaParser(formula, costs)
  const root = parser.parse()
  return (price, rowCosts) => {
    const values: (Fraction | null)[] = [fraction(price)]
    for (const ordinal of parser.ordinals) {
      const cost = rowCosts[ordinal - 1] ?? null
      values[ordinal] = cost === null ? null : fraction(cost)
    }
    const result = root(values)
    const margin = result && roundHalfUp(result)
    return Number.isFinite(margin) ? margin : null
  }
}

/** The formula of a list that names none: price minus the sum of the costs, by price, in percent. */
export function defaultMarginFormula(costs: readonly Column[]): string {
  const sum = costs.length === 0 ? '0' : `(${costs.map(({ letter }) => letter).join(' + ')})`
  return `= (Price - ${sum}) / Price * 100`
}
