import type { ArithmeticOperator } from './formula.ts'
import type { SqlSteps } from './sql-steps.ts'

/** SQL of a number, with the most digits that it may have before and after the decimal point. */
export interface Part {
  text: string
  whole: number
  scale: number
}

/**
 * SQL of a fraction, because a quotient of numerics would be rounded. `n` is null if a value is missing, and NaN if the
 * fraction, or one it was computed from, is too long.
 */
export interface SqlFraction {
  n: Part
  /** Positive where `n` is not null; undefined means 1. */
  d?: Part | undefined
}

/** The most digits that numerator and denominator may have in lowest terms. */
const digitsMax = 400
/** The digits assumed for a number that may be NaN. */
export const unknownDigits = { whole: digitsMax, scale: digitsMax }

/** Computes a fraction from others. */
export type FractionOperation = (
  steps: SqlSteps,
  a: SqlFraction,
  b: SqlFraction,
  ...others: SqlFraction[]
) => SqlFraction

export const operations: Record<ArithmeticOperator, FractionOperation> = {
  '+': sum('+'),
  '-': sum('-'),
  '*': (_, a, b) => ({ n: times(a.n, b.n), d: times(a.d, b.d) }),
  '/': (steps, a, b) => {
    const divisor = keep(steps, b.n)
    const sign = { text: `nullif(sign(${divisor.text}), 0)`, whole: 0, scale: 0 }
    const size = { ...divisor, text: `abs(${divisor.text})` }
    return { n: times(a.n, b.d, sign), d: times(size, a.d) }
  },
}

function sum(sign: '+' | '-'): FractionOperation {
  return (steps, ...terms) => {
    const [left, right] = overOneDenominator(steps, terms) as [SqlFraction, SqlFraction]
    const n = `(${left.n.text} ${sign} ${right.n.text})`
    return { n: { text: n, ...mostDigits([left.n, right.n], Math.log10(2)) }, d: left.d }
  }
}

/** The same fractions over one denominator, the product of theirs. */
export function overOneDenominator(
  steps: SqlSteps,
  fractions: readonly SqlFraction[],
): SqlFraction[] {
  const parts = fractions.map(({ d }) => d && keep(steps, d))
  const d = parts.reduce((a, b) => times(a, b), undefined)
  return fractions.map(({ n }, index) => {
    const others = parts.filter((_, other) => other !== index)
    return { n: times(n, ...others), d }
  })
}

/** The same part, its text made a step unless it is a name or a number. */
export const keep = (steps: SqlSteps, part: Part): Part => ({
  ...part,
  text: steps.keep(part.text),
})

/** The product of the defined parts; undefined if there are none. */
export function times<First extends Part | undefined>(
  first: First,
  ...factors: (Part | undefined)[]
): First extends Part ? Part : Part | undefined {
  const product = factors.reduce(
    (a, b) => {
      if (!a || !b) return a ?? b
      const text = `(${a.text} * ${b.text})`
      return { text, whole: a.whole + b.whole, scale: a.scale + b.scale }
    },
    first as Part | undefined,
  )
  return product as Part
}

/** The most digits that any of these parts may have. */
export function mostDigits(parts: readonly Part[], carry = 0): { whole: number; scale: number } {
  return {
    whole: Math.max(...parts.map(({ whole }) => whole)) + carry,
    scale: Math.max(...parts.map(({ scale }) => scale)),
  }
}

/** Also true of a fraction that may be NaN, and of any computed from it. */
export function mayBeTooLong({ n, d }: SqlFraction): boolean {
  const { whole, scale } = mostDigits(d ? [n, d] : [n])
  return whole + scale > digitsMax
}

/** Reduces a fraction that may be too long; NaN if it still is. */
export function inLimits(steps: SqlSteps, fraction: SqlFraction): SqlFraction {
  if (!mayBeTooLong(fraction)) return fraction
  const n = steps.keep(fraction.n.text)
  const d = fraction.d ? steps.keep(fraction.d.text) : undefined
  const fits = [n, ...(d ? [d] : [])].map(isShort).join(' and ')
  const reduced = (part: string) => `div(${part}, gcd(${n}, ${d ?? 1}))`
  const isTooLong = `abs(${reduced(n)}) >= 1e${digitsMax} or ${reduced(d ?? '1')} >= 1e${digitsMax}`
  const numerator = `case when ${fits} then ${n} when ${isTooLong} then ${n} * 'NaN'
    else ${d ? reduced(n) : n} end`
  return {
    n: { text: numerator, ...unknownDigits },
    d:
      d === undefined
        ? d
        : { text: `case when ${fits} then ${d} else ${reduced(d)} end`, ...unknownDigits },
  }
}

/** Scaled to whole numbers, parts within this limit are within `digitsMax`. */
const isShort = (part: string) =>
  `abs(${part}) < 1e${digitsMax / 2} and scale(${part}) <= ${digitsMax / 2}`
