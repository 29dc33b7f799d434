import { add, divide, type Fraction, multiply, negate, subtract } from '../lib/decimal.ts'

/** What a part of a formula makes of the price (place 0) and the costs (at their ordinals) of a row. */
export type Term = (values: readonly (Fraction | null)[]) => Fraction | null

type Operator = (a: Fraction, b: Fraction) => Fraction | null

/** How tightly each operator binds, and what it does. */
export const operators = new Map<string, { binding: number; apply: Operator }>([
  ['+', { binding: 1, apply: add }],
  ['-', { binding: 1, apply: subtract }],
  ['*', { binding: 2, apply: multiply }],
  ['/', { binding: 2, apply: divide }],
])

/** Unary minus binds more tightly than any operator. */
export const unaryBinding = 3

/** The same for every row. */
export function constant(value: Fraction): Term {
  return () => value
}

/** The price or a cost; null when the row does not have it. */
export function given(place: number): Term {
  return (values) => values[place] ?? null
}

/** Unary minus. */
export function negated(operand: Term): Term {
  return (values) => {
    const value = operand(values)
    return value && negate(value)
  }
}

/** An operator between two terms; null when either is, or when the result is too long. */
export function combined(operator: Operator, left: Term, right: Term): Term {
  return (values) => {
    const a = left(values)
    const b = a && right(values)
    const value = a && b && operator(a, b)
    return value && isHandy(value) ? value : null
  }
}

/** Digits grow with each factor, and work with their square: `=B*B*B...` over large prices took 50 ms a row. */
const partMax = 10n ** 1000n

function isHandy({ n, d }: Fraction): boolean {
  return n < partMax && n > -partMax && d < partMax
}
