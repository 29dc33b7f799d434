import type { RawBuilder } from 'kysely'
import { compileArithmetic, input, roundedTo } from '../../price-lists/margin-sql.ts'
import {
  type FractionOperation,
  inLimits,
  keep,
  mayBeTooLong,
  mostDigits,
  overOneDenominator,
  type Part,
  type SqlFraction,
  times,
  unknownDigits,
} from '../../price-lists/sql-fraction.ts'
import { SqlSteps } from '../../price-lists/sql-steps.ts'
import type { FunctionCall, FunctionName, If, PriceTerm } from './price-formula.ts'

export interface CompiledFormula {
  /** The cell columns that it reads: `price`, `costs`, and figures in lower case. */
  inputs: ReadonlySet<string>
  /** SQL of a JSON object with the values of the names in the formula, over its inputs. */
  named: RawBuilder<unknown>
  /**
   * Turns a FROM item of cells into one called `priced`, with these columns of the cells, `value` (the new price) and
   * `reason`, why there is none: `no_value`, `negative` or `too_large`.
   */
  pricedCells: (cells: RawBuilder<unknown>, columns: readonly string[]) => RawBuilder<unknown>
}

/** Compiles a formula to SQL. Prices round half up to `decimals`. */
export function compilePriceFormula(root: PriceTerm, decimals: number): CompiledFormula {
  const steps = new SqlSteps()
  const { n, d } = compile(steps, root)
  const exact = steps.keep(n.text)
  const rounded = roundedTo(decimals, steps, { n: { ...n, text: exact }, d })
  const price = steps.keep(`trim_scale(${rounded})`)
  const reason = steps.keep(`case when ${exact} is null then 'no_value'
    when ${exact} = 'NaN' then 'too_large' when ${exact} < 0 then 'negative'
    when not (${isMoney(price)}) then 'too_large' end`)
  const value = `case when ${reason} is null then ${price} end`
  const pricedCells: CompiledFormula['pricedCells'] = (cells, columns) =>
    steps.select(cells, columns, { value, reason })
  return { inputs: steps.inputs, named: steps.named(), pricedCells }
}

/** SQL that is true if a price of at most 6 decimals has at most 15 significant digits and fits a JSON number. */
const isMoney = (price: string) =>
  `${price} < 1e9 or ${price} < 1.797693134862315e308
    and length(trim(both '0' from replace(${price}::text, '.', ''))) <= 15`

function compile(steps: SqlSteps, term: PriceTerm): SqlFraction {
  switch (term.kind) {
    case 'figure':
      return input(steps.name(term.name, steps.input(term.name.toLowerCase())))
    case 'if':
      return compileIf(steps, term)
    case 'function':
      return inLimits(steps, compileFunction(steps, term))
    default:
      return compileArithmetic(steps, term, (operand) => compile(steps, operand))
  }
}

function compileIf(steps: SqlSteps, { comparator, left, right, then, otherwise }: If): SqlFraction {
  const compared = [compile(steps, left), compile(steps, right)]
  const [a, b] = overOneDenominator(steps, compared).map(({ n }) => steps.keep(n.text))
  const [yes, no] = [compile(steps, then), compile(steps, otherwise)]
  const isDivided = yes.d !== undefined || no.d !== undefined
  const condition = `(${a} ${comparator} ${b})`
  const holds = isDivided ? steps.keep(condition) : condition
  const chosen = `case ${holds} when true then ${yes.n.text} when false then ${no.n.text} end`
  const failing = `case when ${a} + ${b} = 'NaN' then 'NaN' else ${chosen} end`
  const n = compared.some(mayBeTooLong)
    ? { text: failing, ...unknownDigits }
    : { text: chosen, ...mostDigits([yes.n, no.n]) }
  return { n, d: isDivided ? oneOf(holds, yes.d, no.d) : undefined }
}

/** Chooses a denominator by a condition. */
function oneOf(condition: string, yes: Part = one, no: Part = one): Part {
  const text = `case when ${condition} then ${yes.text} else ${no.text} end`
  return { text, ...mostDigits([yes, no]) }
}

const one: Part = { text: '1', whole: 1, scale: 0 }

function compileFunction(steps: SqlSteps, { name, terms }: FunctionCall): SqlFraction {
  if (name === 'ROUND') {
    const a = compile(steps, terms[0])
    const decimals = Number((terms[1] as { text: string }).text)
    return {
      n: { text: roundedTo(decimals, steps, a), whole: wholeDigits(a) + 1, scale: decimals },
    }
  }
  const [a, b, ...others] = terms.map((term) => compile(steps, term))
  return functions[name](steps, a as SqlFraction, b as SqlFraction, ...others)
}

/** Compiles each function. Terms are already null or NaN where the result must be. */
const functions: Record<Exclude<FunctionName, 'ROUND'>, FractionOperation> = {
  MIN: (steps, ...terms) => extreme(steps, '-', terms),
  MAX: (steps, ...terms) => extreme(steps, '', terms),
  IFNULL: (steps, a, b) => {
    const n = steps.keep(a.n.text)
    const isDivided = a.d !== undefined || b.d !== undefined
    return {
      n: { text: `coalesce(${n}, ${b.n.text})`, ...mostDigits([a.n, b.n]) },
      d: isDivided ? oneOf(`${n} is null`, b.d, a.d) : undefined,
    }
  },
  CEILING: (steps, a, step) => multiple(steps, 'ceil', a, step),
  FLOOR: (steps, a, step) => multiple(steps, 'floor', a, step),
  ENDING: (steps, a, ending) => {
    const [n, e, d] = [keep(steps, a.n), keep(steps, ending.n), ending.d && keep(steps, ending.d)]
    const [left, right] = overOneDenominator(steps, [
      { n, d: a.d },
      { n: e, d },
    ]) as [SqlFraction, SqlFraction]
    const outside = `${n.text} < 0 or ${e.text} < 0
      or (${e.text} >= ${d?.text ?? 1} and ${e.text} < 'NaN')`
    const difference = `(${left.n.text} - ${right.n.text})`
    const count = wholeQuotient(steps, 'ceil', difference, left.d?.text)
    const whole = times({ text: count, whole: wholeDigits(a), scale: 0 }, d)
    const text = `case when ${outside} then null else ${whole.text} + ${e.text} end`
    return { n: { text, ...mostDigits([whole, e], 1) }, d }
  },
}

/** The greatest term or, with all signs flipped, the least: PostgreSQL treats NaN as the greatest number. */
function extreme(steps: SqlSteps, sign: '-' | '', terms: SqlFraction[]): SqlFraction {
  const scaled = overOneDenominator(steps, terms)
  const parts = scaled.map(({ n }) => keep(steps, n))
  const areGiven = parts.map(({ text }) => `${text} is not null`).join(' and ')
  const greatest = `greatest(${parts.map(({ text }) => sign + text).join(', ')})`
  const text = `case when ${areGiven} then ${sign}${greatest} end`
  return { n: { text, ...mostDigits(parts) }, d: scaled[0]?.d }
}

/** `a` rounded to a multiple of the step; null for a step of 0 or less. */
function multiple(
  steps: SqlSteps,
  name: 'ceil' | 'floor',
  a: SqlFraction,
  step: SqlFraction,
): SqlFraction {
  const size = keep(steps, step.n)
  const count = wholeQuotient(steps, name, times(a.n, step.d).text, times(size, a.d).text)
  const text = `case when ${size.text} > 0 then ${count} * ${size.text} end`
  const whole = Math.max(wholeDigits(a), wholeDigits(step)) + (step.d?.whole ?? 0) + 1
  return { n: { text, whole, scale: step.n.scale }, d: step.d }
}

/** Digits of a quotient before the decimal point. */
const wholeDigits = ({ n, d }: SqlFraction) => n.whole + (d?.scale ?? 0)

/** The quotient rounded up or down to a whole number, exactly: `div` truncates, and `mod` has the sign of `n`. */
function wholeQuotient(steps: SqlSteps, name: 'ceil' | 'floor', n: string, d?: string): string {
  if (d === undefined) return `${name}(${n})`
  const [a, b] = [steps.keep(n), steps.keep(d)]
  const correction = name === 'ceil' ? 'greatest' : 'least'
  return `(div(${a}, ${b}) + ${correction}(sign(mod(${a}, ${b})), 0))`
}
