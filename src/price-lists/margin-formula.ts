import type { Column } from '../catalog/columns.ts'
import {
  add,
  divide,
  type Fraction,
  fraction,
  multiply,
  negate,
  roundHalfUp,
  subtract,
} from '../contract/decimal.ts'

/** A fault in a formula; the message says what and at which character (from 1). */
export class FormulaError extends Error {}

/**
 * The margin for a price and the costs of a row by ordinal; null on division by zero, when a cost is absent, when a
 * step takes more than 1,000 digits, or when a JSON number cannot hold it.
 */
export type Margin = (price: number, costs: readonly (number | null)[]) => number | null

/** What a part of a formula makes of the price (place 0) and the costs (at their ordinals) of a row. */
type Term = (values: readonly (Fraction | null)[]) => Fraction | null
/** `at` counts characters (code points), from 0. */
type Token = { kind: 'number' | 'letter' | 'name' | 'operator' | 'end'; text: string; at: number }
type Operator = (a: Fraction, b: Fraction) => Fraction | null

const tokenPattern = /\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z_]\w*)|"((?:[^"]|"")*)"|([-+*/()]))/y
const operators = new Map<string, { binding: number; apply: Operator }>([
  ['+', { binding: 1, apply: add }],
  ['-', { binding: 1, apply: subtract }],
  ['*', { binding: 2, apply: multiply }],
  ['/', { binding: 2, apply: divide }],
])
const unaryBinding = 3

/** Parses a margin formula over the account's cost columns. Throws FormulaError. */
export function parseMarginFormula(formula: string, costs: Column[]): Margin {
  const tokens = tokenize(formula)
  const ordinals = new Set<number>()
  let next = 0
  const take = () => tokens[next++] as Token
  const peek = () => tokens[next] as Token

  const parseOperand = (): Term => {
    const token = take()
    if (token.kind === 'number')
      return constant(fraction(token.text.replace(/\.$/, '').replace(/^\./, '0.')))
    if (token.kind === 'letter' && token.text === 'Price') return ([price]) => price ?? null
    if (token.kind === 'letter' || token.kind === 'name') {
      const { ordinal } = costColumn(token, costs)
      ordinals.add(ordinal)
      return (values) => values[ordinal] ?? null
    }
    if (token.text === '-')
      return apply((_, value) => negate(value), constant(zero), parseExpression(unaryBinding))
    if (token.text === '(') {
      const inner = parseExpression(0)
      const closing = take()
      if (closing.kind !== 'operator' || closing.text !== ')') throw fault(closing, 'expected ")"')
      return inner
    }
    throw fault(token, 'expected a number, Price, a cost column or "("')
  }
  const parseExpression = (bindingMin: number): Term => {
    let left = parseOperand()
    for (;;) {
      const operator = operators.get(peek().text)
      if (peek().kind !== 'operator' || !operator || operator.binding <= bindingMin) return left
      take()
      left = apply(operator.apply, left, parseExpression(operator.binding))
    }
  }
  const root = parseExpression(0)
  if (peek().kind !== 'end') throw fault(peek(), 'expected an operator')
  return (price, rowCosts) => {
    const values: (Fraction | null)[] = [fraction(price)]
    for (const ordinal of ordinals) {
      const cost = rowCosts[ordinal - 1] ?? null
      values[ordinal] = cost === null ? null : fraction(cost)
    }
    const result = root(values)
    const margin = result && roundHalfUp(result)
    return Number.isFinite(margin) ? margin : null
  }
}

/** The formula of a list that names none: price minus the sum of the costs, by price, in percent. */
export function defaultMarginFormula(costs: Column[]): string {
  const sum = costs.length === 0 ? '0' : `(${costs.map(({ letter }) => letter).join(' + ')})`
  return `= (Price - ${sum}) / Price * 100`
}

const zero: Fraction = { n: 0n, d: 1n }
const constant =
  (value: Fraction): Term =>
  () =>
    value

function apply(operator: Operator, left: Term, right: Term): Term {
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

function costColumn(token: Token, columns: Column[]): Column {
  const column = columns.find(
    ({ letter, name }) => token.text === (token.kind === 'letter' ? letter : name),
  )
  if (column) return column
  const kind = token.kind === 'name' ? 'a' : 'Price or the letter of a'
  throw fault(token, `"${token.text}" is not ${kind} cost column`)
}

function tokenize(formula: string): Token[] {
  if (!formula.startsWith('=')) throw new FormulaError('must start with "=" (character 1)')
  const tokens: Token[] = []
  let index = 1
  while (formula.slice(index).trim() !== '') {
    tokenPattern.lastIndex = index
    const match = tokenPattern.exec(formula)
    const [character = ''] = formula.slice(index).trimStart()
    const at = [...formula].length - [...formula.slice(index).trimStart()].length
    if (!match) throw new FormulaError(`unexpected "${character}" at character ${at + 1}`)
    tokens.push(tokenOf(match, at))
    index = tokenPattern.lastIndex
  }
  return [...tokens, { kind: 'end', text: '', at: formula.length }]
}

function tokenOf([, number, letter, name, operator]: RegExpExecArray, at: number): Token {
  if (number !== undefined) return { kind: 'number', text: number, at }
  if (letter !== undefined) return { kind: 'letter', text: letter, at }
  if (name !== undefined) return { kind: 'name', text: name.replaceAll('""', '"'), at }
  return { kind: 'operator', text: operator ?? '', at }
}

function fault({ kind, text, at }: Token, message: string): FormulaError {
  return new FormulaError(
    `${message} ${kind === 'end' ? 'at the end' : `at character ${at + 1}, found "${text}"`}`,
  )
}
