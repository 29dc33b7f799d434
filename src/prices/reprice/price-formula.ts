import type { Column } from '../../catalog/columns.ts'
import {
  arithmeticTokens,
  costFault,
  FormulaParser,
  findCost,
  type Grammar,
  isOperator,
  type Term,
  type Token,
} from '../../price-lists/formula.ts'

/** The syntax tree of a price formula. */
export type PriceTerm = Term<PriceFunction>

/** What price formulas add to the arithmetic of margin formulas. */
type PriceFunction = { kind: 'figure'; name: Figure } | FunctionCall | If

export interface FunctionCall {
  kind: 'function'
  name: FunctionName
  terms: [PriceTerm, PriceTerm, ...PriceTerm[]]
}

export interface If {
  kind: 'if'
  comparator: Comparator
  left: PriceTerm
  right: PriceTerm
  then: PriceTerm
  otherwise: PriceTerm
}

/** Figures of competitors and sales; in lower case they are columns of a cell. */
const figures = [
  'COMP_MIN',
  'COMP_MAX',
  'COMP_AVG',
  'COMP_MEDIAN',
  'COMP_COUNT',
  'SALES_QTY',
  'SALES_REVENUE',
  'SALES_AVG',
] as const
type Figure = (typeof figures)[number]

const comparators = ['<', '<=', '>', '>=', '=', '<>'] as const
type Comparator = (typeof comparators)[number]

/** The most terms that each function takes; all take at least two. */
const termsMax = { MIN: 10, MAX: 10, IFNULL: 2, ROUND: 2, CEILING: 2, FLOOR: 2, ENDING: 2 }
export type FunctionName = keyof typeof termsMax

const operators = new Set([...arithmeticTokens, ...comparators, ','])

/**
 * Parses a price formula over the account's cost columns. Prices round to `decimals`, so a literal ending may not have
 * more. Throws FormulaError.
 */
export function parsePriceFormula(
  formula: string,
  costs: readonly Column[],
  decimals: number,
): PriceTerm {
  const grammar: Grammar<PriceFunction> = {
    operators,
    levelsMax: 32,
    isNumber: (text) => /^\d+(\.\d+)?$/.test(text),
    readNamed: (token, parser) =>
      (token.kind === 'letter' ? readWord(token, parser, costs, decimals) : undefined) ??
      readCost(token, parser, costs),
  }
  return new FormulaParser(formula, grammar).parse()
}

/**
 * Reads a word of the formula language; undefined for any other. A cost letter that spells such a word means the word.
 */
function readWord(
  token: Token,
  parser: FormulaParser<PriceFunction>,
  costs: readonly Column[],
  decimals: number,
): PriceTerm | undefined {
  const word = token.text.toUpperCase()
  if (word === 'PRICE') return { kind: 'price' }
  if (word === 'COSTS')
    return { kind: 'costs', name: word, ordinals: costs.map(({ ordinal }) => ordinal) }
  if (word === 'IF') return parser.deeper(token, () => readIf(parser))
  if (isOneOf(figures, word)) return { kind: 'figure', name: word }
  if (!isOneOf(functionNames, word)) return undefined
  const terms = parser.deeper(token, () => readTerms(word, parser, decimals))
  return { kind: 'function', name: word, terms }
}

const functionNames = Object.keys(termsMax) as FunctionName[]

function isOneOf<Word extends string>(words: readonly Word[], word: string): word is Word {
  return (words as readonly string[]).includes(word)
}

function readIf(parser: FormulaParser<PriceFunction>): PriceTerm {
  parser.expect('(')
  const left = parser.expression()
  const token = parser.take()
  const comparator = comparators.find((one) => isOperator(token, one))
  if (!comparator) throw parser.fault(token, 'expected a comparison')
  const right = parser.expression()
  parser.expect(',')
  const then = parser.expression()
  parser.expect(',')
  const otherwise = parser.expression()
  parser.expect(')')
  return { kind: 'if', comparator, left, right, then, otherwise }
}

/** Reads a function's terms, in parentheses. */
function readTerms(
  name: FunctionName,
  parser: FormulaParser<PriceFunction>,
  decimals: number,
): FunctionCall['terms'] {
  parser.expect('(')
  const terms = [parser.expression()]
  while (terms.length < 2 || (terms.length < termsMax[name] && isOperator(parser.peek(), ','))) {
    parser.expect(',')
    const token = parser.peek()
    const term = parser.expression()
    const fault = findFault(name, term, decimals)
    if (fault) throw parser.fault(token, fault)
    terms.push(term)
  }
  parser.expect(')')
  return terms as FunctionCall['terms']
}

/** Why this cannot be a term after the first; undefined if it can. Computed terms are checked with each row. */
function findFault(name: FunctionName, term: PriceTerm, decimals: number): string | undefined {
  const text = term.kind === 'number' ? term.text : undefined
  if (name === 'ROUND' && !/^0*[0-6](\.0*)?$/.test(text ?? ''))
    return 'expected a whole number from 0 to 6'
  if (text === undefined) return undefined
  if ((name === 'CEILING' || name === 'FLOOR') && /^-|^[0.]*$/.test(text))
    return 'expected a step above 0'
  if (name !== 'ENDING') return undefined
  const [, written] = /^0*(?:\.(\d*?)0*)?$/.exec(text) ?? []
  if (!/^0*(\.|$)/.test(text)) return 'expected an ending from 0 to less than 1'
  return (written ?? '').length > decimals
    ? `expected an ending with at most ${decimals} decimals`
    : undefined
}

/** Finds a cost column by letter or name. Names that differ only in case must be written exactly. */
function readCost(
  token: Token,
  parser: FormulaParser<PriceFunction>,
  costs: readonly Column[],
): PriceTerm {
  const cost = findCost(token, costs) ?? findCost(token, costs, (text) => text.toLowerCase())
  if (cost) return cost
  const wanted = token.kind === 'name' ? 'a' : 'a function, a figure or the letter of a'
  throw parser.fault(token, costFault(token, costs, wanted))
}
