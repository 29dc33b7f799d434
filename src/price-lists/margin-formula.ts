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
} from '../lib/decimal.ts'

/**
 * The margin for a price and the costs of a row by ordinal. Null on division by zero, if a cost is missing, if a step
 * has more than 1,000 digits, or if a JSON number cannot hold the result.
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

/** The formula of a list that gives none: price minus costs, in percent of the price. */
export function defaultMarginFormula(costs: readonly Column[]): string {
  const sum = costs.length === 0 ? '0' : `(${costs.map(({ letter }) => letter).join(' + ')})`
  return `= (Price - ${sum}) / Price * 100`
}

/** A parser of formulas by operator precedence. Throws FormulaError. */
class FormulaParser {
  /** Ordinals of the cost columns in the formula. */
  readonly ordinals = new Set<number>()
  readonly #formula: string
  readonly #costs: readonly Column[]
  readonly #tokens: Token[]
  #next = 0

  constructor(formula: string, costs: readonly Column[]) {
    this.#formula = formula
    this.#costs = costs
    this.#tokens = tokenize(formula)
  }

  /** The whole formula. */
  parse(): Term {
    const root = this.#expression(0)
    const rest = this.#peek()
    if (rest.kind !== 'end') throw this.#fault(rest, 'expected an operator')
    return root
  }

  /** Parses as long as operators bind more tightly than `bindingMin`. */
  #expression(bindingMin: number): Term {
    let left = this.#operand()
    for (;;) {
      const { kind, text } = this.#peek()
      const operator = kind === 'operator' ? operators.get(text) : undefined
      if (!operator || operator.binding <= bindingMin) return left
      this.#take()
      left = combined(operator.apply, left, this.#expression(operator.binding))
    }
  }

  #operand(): Term {
    const token = this.#take()
    const { kind, text } = token
    if (kind === 'number') return constant(fraction(text.replace(/\.$/, '').replace(/^\./, '0.')))
    if (kind === 'letter' && text === 'Price') return given(0)
    if (kind === 'letter' || kind === 'name') return this.#cost(token)
    if (text === '-') return negated(this.#expression(unaryBinding))
    if (text === '(') return this.#group()
    throw this.#fault(token, 'expected a number, Price, a cost column or "("')
  }

  /** Up to the closing parenthesis. */
  #group(): Term {
    const inner = this.#expression(0)
    const closing = this.#take()
    if (closing.kind === 'operator' && closing.text === ')') return inner
    throw this.#fault(closing, 'expected ")"')
  }

  #cost(token: Token): Term {
    const { kind, text } = token
    const column = this.#costs.find(
      ({ letter, name }) => text === (kind === 'letter' ? letter : name),
    )
    if (!column) {
      const wanted = kind === 'name' ? 'a' : 'Price or the letter of a'
      throw this.#fault(token, `"${text}" is not ${wanted} cost column`)
    }
    this.ordinals.add(column.ordinal)
    return given(column.ordinal)
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token
  }

  #take(): Token {
    return this.#tokens[this.#next++] as Token
  }

  #fault({ kind, text, at }: Token, message: string): FormulaError {
    if (kind === 'end') return new FormulaError(`${message} at the end`)
    return new FormulaError(`${message} ${characterAt(this.#formula, at)}, found "${text}"`)
  }
}

/** A part of a formula as a function of the price (at 0) and the costs (at their ordinals) of a row. */
type Term = (values: readonly (Fraction | null)[]) => Fraction | null

type Operator = (a: Fraction, b: Fraction) => Fraction | null

/** Binding strength and function of each operator. */
const operators = new Map<string, { binding: number; apply: Operator }>([
  ['+', { binding: 1, apply: add }],
  ['-', { binding: 1, apply: subtract }],
  ['*', { binding: 2, apply: multiply }],
  ['/', { binding: 2, apply: divide }],
])

/** Unary minus binds more tightly than any operator. */
const unaryBinding = 3

function constant(value: Fraction): Term {
  return () => value
}

/** The price or a cost; null if the row does not have it. */
function given(place: number): Term {
  return (values) => values[place] ?? null
}

function negated(operand: Term): Term {
  return (values) => {
    const value = operand(values)
    return value && negate(value)
  }
}

/** An operator between two terms; null if a term is null or the result is too long. */
function combined(operator: Operator, left: Term, right: Term): Term {
  return (values) => {
    const a = left(values)
    const b = a && right(values)
    const value = a && b && operator(a, b)
    return value && isHandy(value) ? value : null
  }
}

/** Multiplication takes the square of the digits: `=B*B*B...` over large prices took 50 ms a row. */
const partMax = 10n ** 1000n

function isHandy({ n, d }: Fraction): boolean {
  return n < partMax && n > -partMax && d < partMax
}

/** A fault in a formula; the message has its character, from 1. */
export class FormulaError extends Error {}

interface Token {
  kind: 'number' | 'letter' | 'name' | 'operator' | 'end'
  text: string
  /** In UTF-16 code units, from 0. */
  at: number
}

/** A token, else any character; white space before it. */
const tokenPattern =
  /\s*(?:(?<number>\d+(?:\.\d*)?|\.\d+)|(?<letter>[A-Za-z_]\w*)|"(?<name>(?:[^"]|"")*)"|(?<operator>[-+*/()])|(?<other>\S))/gu

/** The tokens of a formula, ending with `end`. Throws FormulaError for any other character. */
function tokenize(formula: string): Token[] {
  if (!formula.startsWith('=')) throw new FormulaError('must start with "=" (character 1)')
  const tokens: Token[] = []
  for (const { 0: matched, index, groups } of formula.slice(1).trimEnd().matchAll(tokenPattern)) {
    const at = 1 + index + matched.length - matched.trimStart().length
    const [kind, text = ''] =
      Object.entries(groups ?? {}).find(([, text]) => text !== undefined) ?? []
    if (kind === 'other') throw new FormulaError(`unexpected "${text}" ${characterAt(formula, at)}`)
    tokens.push({ kind: kind as Token['kind'], text: text.replaceAll('""', '"'), at })
  }
  return [...tokens, { kind: 'end', text: '', at: formula.length }]
}

/** Characters are code points, counted from 1. */
function characterAt(formula: string, at: number): string {
  return `at character ${[...formula.slice(0, at)].length + 1}`
}
