import type { RawBuilder } from 'kysely'
import type { FunctionCall, FunctionName, If, PriceTerm } from './price-formula.ts'
import {
  type Fraction,
  inLimits,
  mayBeTooLong,
  mostDigits,
  type Operation,
  operations,
  overOneDenominator,
  times,
} from './sql-fraction.ts'
import { SqlSteps } from './sql-steps.ts'

/** Prices, costs and figures: JSON numbers end at 1.8e308, and sums of them are a little longer. */
const inputDigits = { whole: 320, scale: 6 }

export interface CompiledFormula {
  /** The columns of cells that it reads: `price`, `costs` and figures in lower case. */
  inputs: ReadonlySet<string>
  /**
   * A FROM item called `priced`, made from one of cells: it has these columns of the cells, `value` (the new price) and
   * `reason`, why there is none: `no_value`, `negative` or `too_large`.
   */
  pricedCells: (cells: RawBuilder<unknown>, columns: readonly string[]) => RawBuilder<unknown>
}

/** Compiles a formula to SQL. Prices round half up to `decimals`. */
export function compilePriceFormula(root: PriceTerm, decimals: number): CompiledFormula {
  const steps = new SqlSteps()
  const { n, ...rest } = compile(steps, root)
  const result = { n: steps.keep(n), ...rest }
  const price = steps.keep(`trim_scale(${roundedTo(decimals, steps, result)})`)
  const reason = steps.keep(`case when ${result.n} is null then 'no_value'
    when ${result.n} = 'NaN' then 'too_large' when ${result.n} < 0 then 'negative'
    when not (${isMoney(price)}) then 'too_large' end`)
  const value = `case when ${reason} is null then ${price} end`
  const pricedCells: CompiledFormula['pricedCells'] = (cells, columns) =>
    steps.select(cells, columns, { value, reason })
  return { inputs: steps.inputs, pricedCells }
}

/** Whether a price of at most 6 decimals has at most 15 significant digits, and a JSON number holds it. */
const isMoney = (price: string) =>
  `${price} < 1e9 or ${price} < 1.797693134862315e308
    and length(trim(both '0' from replace(${price}::text, '.', ''))) <= 15`

function compile(steps: SqlSteps, term: PriceTerm): Fraction {
  switch (term.kind) {
    case 'number':
      return inLimits(steps, { n: steps.number(term.text), ...digitsOf(term.text) })
    case 'price':
      return { n: steps.input('price'), ...inputDigits }
    case 'figure':
      return { n: steps.input(term.name.toLowerCase()), ...inputDigits }
    case 'costs':
      return { n: sumOfCosts(steps, term.ordinals), ...inputDigits }
    case 'negation': {
      const { n, ...rest } = compile(steps, term.operand)
      return { n: `(-${n})`, ...rest }
    }
    case 'operation': {
      const [left, right] = [compile(steps, term.left), compile(steps, term.right)]
      return inLimits(steps, operations[term.operator](steps, left, right))
    }
    case 'if':
      return compileIf(steps, term)
    case 'function':
      return inLimits(steps, compileFunction(steps, term))
  }
}

function compileFunction(steps: SqlSteps, { name, terms }: FunctionCall): Fraction {
  const [first, second, ...others] = terms
  const a = compile(steps, first)
  if (name !== 'ROUND')
    return functions[name](
      steps,
      a,
      compile(steps, second),
      ...others.map((term) => compile(steps, term)),
    )
  const decimals = Number((second as { text: string }).text)
  return { n: roundedTo(decimals, steps, a), whole: wholeDigits(a) + 1, scale: decimals }
}

function sumOfCosts(steps: SqlSteps, ordinals: readonly number[]): string {
  if (ordinals.length === 0) return steps.number('0')
  const costs = ordinals.map((ordinal) => `${steps.input('costs')}[${ordinal}]`)
  return costs.length === 1 ? costs.join() : `(${costs.join(' + ')})`
}

function digitsOf(number: string): { whole: number; scale: number } {
  const [whole = '', decimals = ''] = number.replace('-', '').split('.')
  return { whole: whole.length, scale: decimals.length }
}

function compileIf(steps: SqlSteps, { comparator, left, right, then, otherwise }: If): Fraction {
  const compared = [compile(steps, left), compile(steps, right)]
  const [a, b] = overOneDenominator(steps, compared).map(({ n }) => steps.keep(n))
  const [yes, no] = [compile(steps, then), compile(steps, otherwise)]
  const isDivided = yes.d !== undefined || no.d !== undefined
  const condition = `(${a} ${comparator} ${b})`
  const holds = isDivided ? steps.keep(condition) : condition
  const chosen = `case ${holds} when true then ${yes.n} when false then ${no.n} end`
  const failing = `case when ${a} + ${b} = 'NaN' then 'NaN' else ${chosen} end`
  return {
    n: compared.some(mayBeTooLong) ? failing : chosen,
    d: isDivided ? `case when ${holds} then ${yes.d ?? 1} else ${no.d ?? 1} end` : undefined,
    ...mostDigits(yes, no),
  }
}

/** The SQL of the functions, whose terms are null or NaN where the result must be. */
const functions: Record<Exclude<FunctionName, 'ROUND'>, Operation> = {
  MIN: (steps, ...terms) => extreme(steps, '-', terms),
  MAX: (steps, ...terms) => extreme(steps, '', terms),
  IFNULL: (steps, a, b) => {
    const n = steps.keep(a.n)
    const isDivided = a.d !== undefined || b.d !== undefined
    const d = isDivided ? `case when ${n} is null then ${b.d ?? 1} else ${a.d ?? 1} end` : undefined
    return { n: `coalesce(${n}, ${b.n})`, d, ...mostDigits(a, b) }
  },
  CEILING: (steps, a, step) => multiple(steps, 'ceil', a, step),
  FLOOR: (steps, a, step) => multiple(steps, 'floor', a, step),
  ENDING: (steps, a, ending) => {
    const [n, e, d] = [steps.keep(a.n), steps.keep(ending.n), ending.d && steps.keep(ending.d)]
    const [left, right] = overOneDenominator(steps, [
      { ...a, n },
      { ...ending, n: e, d },
    ])
    const outside = `${n} < 0 or ${e} < 0 or (${e} >= ${d ?? 1} and ${e} < 'NaN')`
    const whole = wholeQuotient(steps, 'ceil', `(${left.n} - ${right.n})`, left.d)
    const result = `case when ${outside} then null else ${times(whole, d)} + ${e} end`
    return { n: result, d, whole: wholeDigits(a) + ending.whole + 1, scale: ending.scale }
  },
}

/** Digits of a quotient before its point. */
const wholeDigits = ({ d, whole, scale }: Fraction) => (d ? whole + scale : whole)

/** The greatest term or, with every sign turned, the least: PostgreSQL takes NaN for the greatest number. */
function extreme(steps: SqlSteps, sign: '-' | '', terms: Fraction[]): Fraction {
  const scaled = overOneDenominator(steps, terms)
  const parts = scaled.map(({ n }) => steps.keep(n))
  const areGiven = parts.map((part) => `${part} is not null`).join(' and ')
  const greatest = `greatest(${parts.map((part) => `${sign}${part}`).join(', ')})`
  return { ...(scaled[0] as Fraction), n: `case when ${areGiven} then ${sign}${greatest} end` }
}

/** The multiple of a step next to `a`; null for a step of 0 or less. */
function multiple(steps: SqlSteps, name: 'ceil' | 'floor', a: Fraction, step: Fraction): Fraction {
  const size = steps.keep(step.n)
  const count = wholeQuotient(steps, name, times(a.n, step.d), times(size, a.d))
  const n = `case when ${size} > 0 then ${count} * ${size} end`
  const whole = Math.max(wholeDigits(a), wholeDigits(step)) + step.whole + 1
  return { n, d: step.d, whole, scale: step.scale }
}

/** The quotient rounded up or down to a whole number, exactly: `div` cuts it off, and `mod` has the sign of `n`. */
function wholeQuotient(steps: SqlSteps, name: 'ceil' | 'floor', n: string, d?: string): string {
  if (d === undefined) return `${name}(${n})`
  const [a, b] = [steps.keep(n), steps.keep(d)]
  const correction = name === 'ceil' ? 'greatest' : 'least'
  return `(div(${a}, ${b}) + ${correction}(sign(mod(${a}, ${b})), 0))`
}

/** Rounds halves away from zero. */
function roundedTo(decimals: number, steps: SqlSteps, { n, d }: Fraction): string {
  if (d === undefined) return `round(${n}, ${decimals})`
  const [a, b] = [steps.keep(n), steps.keep(d)]
  const size = `div(2 * abs(${a}) * ${10 ** decimals} + ${b}, 2 * ${b})`
  return `(sign(${a}) * ${size} * ${(10 ** -decimals).toFixed(decimals)})`
}
