import type { ArithmeticOperator } from '../../price-lists/formula.ts'
import type { SqlSteps } from './sql-steps.ts'

/**
 * A fraction in SQL, because a quotient of numerics would be rounded. `n` is null if a value is missing, and NaN if the
 * fraction, or one that it comes from, is too long.
 */
export interface Fraction {
  n: string
  /** Positive where `n` is not null; undefined: 1. */
  d?: string | undefined
  /** The digits before and after the point that `n` and `d` have at most. */
  whole: number
  scale: number
}

/** The digits that the numerator and the denominator may have in lowest terms. */
const digitsMax = 400
/** Reduces a fraction that is not known to be short; NaN if that does not help. */
export function inLimits(steps: SqlSteps, fraction: Fraction): Fraction {
  if (!mayBeTooLong(fraction)) return fraction
  const [n, d] = [steps.keep(fraction.n), fraction.d && steps.keep(fraction.d)]
  const fits = [n, ...(d ? [d] : [])].map(isShort).join(' and ')
  const divisor = `gcd(${n}, ${d ?? 1})`
  const reduced = (part: string) => `div(${part}, ${divisor})`
  const isTooLong = `abs(${reduced(n)}) >= 1e${digitsMax} or ${reduced(d ?? '1')} >= 1e${digitsMax}`
  return {
    n: `case when ${fits} then ${n} when ${isTooLong} then ${n} * 'NaN' else ${d ? reduced(n) : n} end`,
    d: d && `case when ${fits} then ${d} else ${reduced(d)} end`,
    whole: digitsMax,
    scale: digitsMax,
  }
}

/** True of every fraction that may be NaN, too: digits add up. */
export const mayBeTooLong = ({ whole, scale }: Fraction) => whole + scale > digitsMax

/** As whole numbers, parts within this are within `digitsMax`. */
const isShort = (part: string) =>
  `abs(${part}) < 1e${digitsMax / 2} and scale(${part}) <= ${digitsMax / 2}`

/** The product of texts, without those that are undefined; undefined for none. */
export function times<Text extends string | undefined>(
  ...factors: [Text, ...(string | undefined)[]]
) {
  const given = factors.filter((factor) => factor !== undefined)
  return (given.length > 1 ? `(${given.join(' * ')})` : given[0]) as Text
}

/** What makes a fraction of others. */
export type Operation = (
  steps: SqlSteps,
  a: Fraction,
  b: Fraction,
  ...others: Fraction[]
) => Fraction

export const operations: Record<ArithmeticOperator, Operation> = {
  '+': sum('+'),
  '-': sum('-'),
  '*': (_, a, b) => ({ n: times(a.n, b.n), d: times(a.d, b.d), ...addedDigits(a, b) }),
  '/': (steps, a, b) => {
    const divisor = steps.keep(b.n)
    const n = times(a.n, b.d, `nullif(sign(${divisor}), 0)`)
    return { n, d: times(`abs(${divisor})`, a.d), ...addedDigits(a, b) }
  },
}

function sum(sign: '+' | '-'): Operation {
  return (steps, a, b) => {
    const [left, right] = overOneDenominator(steps, [a, b])
    const { whole, ...rest } = left
    return { ...rest, n: `(${left.n} ${sign} ${right.n})`, whole: whole + 1 }
  }
}

/** Digits of products. */
export function addedDigits(...fractions: Fraction[]): { whole: number; scale: number } {
  const total = (digits: number[]) => digits.reduce((sum, count) => sum + count, 0)
  return {
    whole: total(fractions.map(({ whole }) => whole)),
    scale: total(fractions.map(({ scale }) => scale)),
  }
}

/** Digits of one of these. */
export function mostDigits(...fractions: Fraction[]): { whole: number; scale: number } {
  return {
    whole: Math.max(...fractions.map(({ whole }) => whole)),
    scale: Math.max(...fractions.map(({ scale }) => scale)),
  }
}

export function overOneDenominator<Fractions extends Fraction[]>(
  steps: SqlSteps,
  fractions: Fractions,
): Fractions {
  const parts = fractions.map(({ d }) => d && steps.keep(d))
  const d = times(...(parts as [string | undefined]))
  const digits = d ? addedDigits(...fractions) : mostDigits(...fractions)
  return fractions.map(({ n }, index) => {
    const others = parts.filter((_, other) => other !== index)
    return { n: times(n, ...others), d, ...digits }
  }) as Fractions
}
