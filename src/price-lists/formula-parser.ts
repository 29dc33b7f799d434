import type { Column } from '../catalog/columns.ts'
import { fraction } from '../lib/decimal.ts'
import {
  combined,
  constant,
  given,
  negated,
  operators,
  type Term,
  unaryBinding,
} from './formula-terms.ts'
import { FormulaTokens, type Token } from './formula-tokens.ts'

/** Reads a formula over the price and the account's cost columns. Throws FormulaError. */
export class FormulaParser {
  /** Of the cost columns that the formula names. */
  readonly ordinals = new Set<number>()
  readonly #tokens: FormulaTokens
  readonly #costs: readonly Column[]

  constructor(formula: string, costs: readonly Column[]) {
    this.#tokens = new FormulaTokens(formula)
    this.#costs = costs
  }

  /** The whole formula. */
  parse(): Term {
    const root = this.#expression(0)
    const rest = this.#tokens.peek()
    if (rest.kind !== 'end') throw this.#tokens.fault(rest, 'expected an operator')
    return root
  }

  /** As far as operators bind more tightly than `bindingMin`. */
  #expression(bindingMin: number): Term {
    let left = this.#operand()
    for (;;) {
      const { kind, text } = this.#tokens.peek()
      const operator = kind === 'operator' ? operators.get(text) : undefined
      if (!operator || operator.binding <= bindingMin) return left
      this.#tokens.take()
      left = combined(operator.apply, left, this.#expression(operator.binding))
    }
  }

  #operand(): Term {
    const token = this.#tokens.take()
    const { kind, text } = token
    if (kind === 'number') return constant(fraction(text.replace(/\.$/, '').replace(/^\./, '0.')))
    if (kind === 'letter' && text === 'Price') return given(0)
    if (kind === 'letter' || kind === 'name') return this.#cost(token)
    if (text === '-') return negated(this.#expression(unaryBinding))
    if (text === '(') return this.#group()
    throw this.#tokens.fault(token, 'expected a number, Price, a cost column or "("')
  }

  /** Up to the closing parenthesis. */
  #group(): Term {
    const inner = this.#expression(0)
    const closing = this.#tokens.take()
    if (closing.kind === 'operator' && closing.text === ')') return inner
    throw this.#tokens.fault(closing, 'expected ")"')
  }

  #cost(token: Token): Term {
    const { kind, text } = token
    const column = this.#costs.find(
      ({ letter, name }) => text === (kind === 'letter' ? letter : name),
    )
    if (!column) {
      const wanted = kind === 'name' ? 'a' : 'Price or the letter of a'
      throw this.#tokens.fault(token, `"${text}" is not ${wanted} cost column`)
    }
    this.ordinals.add(column.ordinal)
    return given(column.ordinal)
  }
}
