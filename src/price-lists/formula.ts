import type { Column } from '../catalog/columns.ts'

/** The syntax tree of a formula; `Extra` is what its grammar adds to arithmetic over the price and the costs. */
export type Term<Extra = never> = Arithmetic<Extra> | Extra

/** The nodes that all grammars share. */
export type Arithmetic<Extra = never> =
  | { kind: 'number'; text: string }
  | { kind: 'price' }
  /** The sum of the costs with these ordinals, and its name in the formula. */
  | { kind: 'costs'; name: string; ordinals: readonly number[] }
  | { kind: 'operation'; operator: ArithmeticOperator; left: Term<Extra>; right: Term<Extra> }

export type ArithmeticOperator = '+' | '-' | '*' | '/'

/** What differs between kinds of formula. */
export interface Grammar<Extra> {
  operators: ReadonlySet<string>
  /** How deeply parentheses, signs and functions may nest. */
  levelsMax: number
  /** Whether digits with a point before, between or after them are a number. */
  isNumber: (text: string) => boolean
  /** Reads the operand that starts with this word or quoted name, which has been taken. */
  readNamed: (token: Token, parser: FormulaParser<Extra>) => Term<Extra>
}

/** A fault in a formula; the message gives the position of the character, from 1. */
export class FormulaError extends Error {}

/** Arithmetic operators and parentheses. */
export const arithmeticTokens = ['+', '-', '*', '/', '(', ')']

const bindings = new Map<string, number>([
  ['+', 1],
  ['-', 1],
  ['*', 2],
  ['/', 2],
])

/** Unary minus binds more tightly than any operator. */
const unaryBinding = 3

/** An operator-precedence parser of formulas. Its methods throw FormulaError. */
export class FormulaParser<Extra> {
  readonly #formula: string
  readonly #grammar: Grammar<Extra>
  readonly #tokens: Token[]
  #next = 0
  #level = 0

  constructor(formula: string, grammar: Grammar<Extra>) {
    this.#formula = formula
    this.#grammar = grammar
    this.#tokens = tokenize(formula, grammar.operators)
  }

  /** Parses the whole formula. */
  parse(): Term<Extra> {
    const root = this.expression()
    const rest = this.peek()
    if (rest.kind === 'end') return root
    const isComparison = rest.kind === 'operator' && /^[<>=]/.test(rest.text)
    const wanted = isComparison ? 'no comparison outside the condition of IF' : 'an operator'
    throw this.fault(rest, `expected ${wanted}`)
  }

  /** Parses while operators bind more tightly than `bindingMin`. */
  expression(bindingMin = 0): Term<Extra> {
    let left = this.#operand()
    for (;;) {
      const { kind, text } = this.peek()
      const binding = kind === 'operator' ? bindings.get(text) : undefined
      if (!binding || binding <= bindingMin) return left
      this.take()
      const right = this.expression(binding)
      left = { kind: 'operation', operator: text as ArithmeticOperator, left, right }
    }
  }

  /** Calls `read` one level deeper; the error for too many levels points at `token`. */
  deeper<Result>(token: Token, read: () => Result): Result {
    const { levelsMax } = this.#grammar
    this.#level++
    if (this.#level > levelsMax) throw this.fault(token, `expected at most ${levelsMax} levels`)
    const result = read()
    this.#level--
    return result
  }

  /** Takes the next token, which must be this operator. */
  expect(operator: string): void {
    const token = this.take()
    if (isOperator(token, operator)) return
    throw this.fault(token, `expected "${operator}"`)
  }

  peek(): Token {
    return this.#tokens[this.#next] as Token
  }

  take(): Token {
    return this.#tokens[this.#next++] as Token
  }

  fault({ kind, text, at }: Token, message: string): FormulaError {
    if (kind === 'end') return new FormulaError(`${message} at the end`)
    return new FormulaError(`${message} ${characterAt(this.#formula, at)}, found "${text}"`)
  }

  #operand(): Term<Extra> {
    const token = this.take()
    const { kind, text } = token
    if (kind === 'number' && !this.#grammar.isNumber(text))
      throw this.fault(token, 'expected digits on both sides of the point')
    if (kind === 'number')
      return { kind: 'number', text: text.replace(/\.$/, '').replace(/^\./, '0.') }
    if (kind === 'letter' || kind === 'name') return this.#grammar.readNamed(token, this)
    if (isOperator(token, '-'))
      return this.deeper(token, () => negated(this.expression(unaryBinding)))
    if (isOperator(token, '(')) return this.deeper(token, () => this.#group())
    throw this.fault(token, 'expected a number, Price, a cost column or "("')
  }

  /** Reads up to the closing parenthesis. */
  #group(): Term<Extra> {
    const inner = this.expression()
    this.expect(')')
    return inner
  }
}

/**
 * The term of the one cost column whose letter or name equals the token after `fold`; undefined for none or several.
 */
export function findCost(
  { kind, text }: Token,
  costs: readonly Column[],
  fold = (text: string) => text,
): { kind: 'costs'; name: string; ordinals: number[] } | undefined {
  const [column, ...others] = costs.filter(
    ({ letter, name }) => fold(kind === 'letter' ? letter : name) === fold(text),
  )
  if (!column || others.length > 0) return undefined
  const name = kind === 'letter' ? column.letter : inputName(column, costs)
  return { kind: 'costs', name, ordinals: [column.ordinal] }
}

/** Why a token names no cost column; `wanted` is what it could have been. */
export function costFault({ kind, text }: Token, costs: readonly Column[], wanted: string): string {
  const isUnquoted =
    kind === 'letter' && costs.some(({ name }) => name.toLowerCase() === text.toLowerCase())
  return isUnquoted
    ? 'expected the name of a cost column in double quotes'
    : `"${text}" is not ${wanted} cost column`
}

/** The name of a cost among the inputs of a formula: in quotes if without them it would mean another input. */
export function inputName({ name }: Column, costs: readonly Column[]): string {
  const isTaken = /^(Price|COSTS|(COMP|SALES)_[A-Z]+)$/.test(name)
  return isTaken || costs.some(({ letter }) => letter === name) ? `"${name}"` : name
}

/** The difference from 0; a minus before digits is part of the number, so that limits on literals see its sign. */
function negated<Extra>(operand: Term<Extra>): Term<Extra> {
  const { kind, text } = operand as { kind: string; text: string }
  const zero: Term<Extra> = { kind: 'number', text: '0' }
  if (kind !== 'number') return { kind: 'operation', operator: '-', left: zero, right: operand }
  return { kind, text: text.startsWith('-') ? text.slice(1) : `-${text}` }
}

export interface Token {
  kind: 'number' | 'letter' | 'name' | 'operator' | 'end'
  text: string
  /** In UTF-16 code units, from 0. */
  at: number
}

export function isOperator({ kind, text }: Token, operator: string): boolean {
  return kind === 'operator' && text === operator
}

/** White space, if any, and a token or else any character. */
const tokenPattern =
  /\s*(?:(?<number>\d+(?:\.\d*)?|\.\d+)|(?<letter>[A-Za-z_]\w*)|"(?<name>(?:[^"]|"")*)"|(?<operator><=|>=|<>|[-+*/()<>=,])|(?<other>\S))/gu

/** The tokens of a formula, ending with `end`. Throws FormulaError for any other character. */
function tokenize(formula: string, operators: ReadonlySet<string>): Token[] {
  if (!formula.startsWith('=')) throw new FormulaError('must start with "=" (character 1)')
  const tokens: Token[] = []
  for (const { 0: matched, index, groups } of formula.slice(1).trimEnd().matchAll(tokenPattern)) {
    const at = 1 + index + matched.length - matched.trimStart().length
    const [kind, text = ''] =
      Object.entries(groups ?? {}).find(([, text]) => text !== undefined) ?? []
    if (kind === 'other' || (kind === 'operator' && !operators.has(text)))
      throw new FormulaError(`unexpected "${[...text][0]}" ${characterAt(formula, at)}`)
    tokens.push({ kind: kind as Token['kind'], text: text.replaceAll('""', '"'), at })
  }
  return [...tokens, { kind: 'end', text: '', at: formula.length }]
}

/** Characters are code points, counted from 1. */
function characterAt(formula: string, at: number): string {
  return `at character ${[...formula.slice(0, at)].length + 1}`
}
