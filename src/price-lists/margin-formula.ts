import type { Column } from '../catalog/columns.ts'
import {
  add,
  divide,
  type Fraction,
  fraction,
  multiply,
  roundHalfAway,
  subtract,
} from '../lib/decimal.ts'
import {
  type ArithmeticOperator,
  arithmeticTokens,
  costFault,
  FormulaParser,
  findCost,
  type Grammar,
  type Term,
  type Token,
} from './formula.ts'

export { FormulaError } from './formula.ts'

/**
 * The margin at a price, given the costs of a row by ordinal. Null on division by zero, if a cost is missing, if a step
 * has more than 1,000 digits, or if a JSON number cannot hold the result.
 */
export type Margin = (price: number, costs: readonly (number | null)[]) => number | null

/** Parses a margin formula over the account's cost columns into a syntax tree. Throws FormulaError. */
export function parseMarginTerm(formula: string, costs: readonly Column[]): Term {
  return new FormulaParser(formula, marginGrammar(costs)).parse()
}

/** Compiles a margin formula over the account's cost columns. Throws FormulaError. */
export function parseMarginFormula(formula: string, costs: readonly Column[]): Margin {
  const ordinals = new Set<number>()
  const evaluate = evaluation(parseMarginTerm(formula, costs), ordinals)
  return (price, rowCosts) => {
    const values: (Fraction | null)[] = [fraction(price)]
    for (const ordinal of ordinals) {
      const cost = rowCosts[ordinal - 1] ?? null
      values[ordinal] = cost === null ? null : fraction(cost)
    }
    const result = evaluate(values)
    const margin = result && roundHalfAway(result)
    return Number.isFinite(margin) ? margin : null
  }
}

const operators = new Set(arithmeticTokens)

function marginGrammar(costs: readonly Column[]): Grammar<never> {
  const readNamed = (token: Token, parser: FormulaParser<never>): Term => {
    const { kind, text } = token
    if (kind === 'letter' && text === 'Price') return { kind: 'price' }
    const cost = findCost(token, costs)
    if (cost) return cost
    const wanted = kind === 'name' ? 'a' : 'Price or the letter of a'
    throw parser.fault(token, costFault(token, costs, wanted))
  }
  return { operators, levelsMax: Number.POSITIVE_INFINITY, isNumber: () => true, readNamed }
}

/** Part of a formula, as a function of the price (at 0) and the costs of a row (at their ordinals). */
type Evaluate = (values: readonly (Fraction | null)[]) => Fraction | null

type Operator = (a: Fraction, b: Fraction) => Fraction | null

const operatorFunctions: Record<ArithmeticOperator, Operator> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
}

/** Compiles a term; adds the ordinals of its costs to `ordinals`. */
function evaluation(term: Term, ordinals: Set<number>): Evaluate {
  switch (term.kind) {
    case 'number': {
      const value = fraction(term.text)
      return () => value
    }
    case 'price':
      return (values) => values[0] ?? null
    case 'costs': {
      const [ordinal = 0] = term.ordinals
      ordinals.add(ordinal)
      return (values) => values[ordinal] ?? null
    }
    case 'operation': {
      const [left, right] = [evaluation(term.left, ordinals), evaluation(term.right, ordinals)]
      return combined(operatorFunctions[term.operator], left, right)
    }
  }
}

/** Applies an operator to two parts; null if a part is null or the result is too long. */
function combined(operator: Operator, left: Evaluate, right: Evaluate): Evaluate {
  return (values) => {
    const a = left(values)
    const b = a && right(values)
    const value = a && b && operator(a, b)
    return value && isHandy(value) ? value : null
  }
}

/** The time of a multiplication grows with the square of the digits: `=B*B*B...` over large prices took 50 ms a row. */
const partMax = 10n ** 1000n

function isHandy({ n, d }: Fraction): boolean {
  return n < partMax && n > -partMax && d < partMax
}
