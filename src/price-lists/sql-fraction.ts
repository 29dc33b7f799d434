import type { ArithmeticOperator } from './formula.ts'
import type { SqlSteps } from './sql-steps.ts'

/** SQL of a number, with the digits before and after the point that it has at most. */
export interface Part {
  text: string
  whole: number
  scale: number
}

/**
 * A fraction, because a quotient of numerics would be rounded. `n` is null if a value is missing, and NaN if the
 * fraction, or one that it comes from, is too long.
 */
export interface Fraction {
  n: Part
  /** Positive where `n` is not null; undefined: 1. */
  d?: Part | undefined
}

/** The digits that the numerator and the denominator may have in lowest terms. */
const digitsMax = 400
/** Those of a number that may be NaN. */
export const unknownDigits = { whole: digitsMax, scale: digitsMax }

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
  '*': (_, a, b) => ({ n: times(a.n, b.n), d: times(a.d, b.d) }),
  '/': (steps, a, b) => {
    const divisor = keep(steps, b.n)
    const sign = { text: `nullif(sign(${divisor.text}), 0)`, whole: 0, scale: 0 }
    const size = { ...divisor, text: `abs(${divisor.text})` }
    return { n: times(a.n, b.d, sign), d: times(size, a.d) }
  },
}

function sum(sign: '+' | '-'): Operation {
  return (steps, ...terms) => {
    const [left, right] = overOneDenominator(steps, terms) as [Fraction, Fraction]
    const n = `(${left.n.text} ${sign} ${right.n.text})`
    return { n: { text: n, ...mostDigits([left.n, right.n], Math.log10(2)) }, d: left.d }
  }
}

/** The fractions with the product of their denominators. */
export function overOneDenominator(steps: SqlSteps, fractions: readonly Fraction[]): Fraction[] {
  const parts = fractions.map(({ d }) => d && keep(steps, d))
  const d = parts.reduce((a, b) => times(a, b), undefined)
  return fractions.map(({ n }, index) => {
    const others = parts.filter((_, other) => other !== index)
    return { n: times(n, ...others), d }
  })
}

/** The same parts, with names for what is not a name or a number. */
export const keep = (steps: SqlSteps, part: Part): Part => ({
  ...part,
  text: steps.keep(part.text),
})

/** The product of the parts that there are; undefined for none. */
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

/** Digits of one of these parts. */
export function mostDigits(parts: readonly Part[], carry = 0): { whole: number; scale: number } {
  return {
    whole: Math.max(...parts.map(({ whole }) => whole)) + carry,
    scale: Math.max(...parts.map(({ scale }) => scale)),
  }
}

/** True of every fraction that may be NaN, too, and of what is made of one. */
export function mayBeTooLong({ n, d }: Fraction): boolean {
  const { whole, scale } = mostDigits(d ? [n, d] : [n])
  return whole + scale > digitsMax
}

/** Reduces a fraction that may be too long; NaN if that does not help. */
export function inLimits(steps: SqlSteps, fraction: Fraction): Fraction {
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

/** As whole numbers, parts within this are within `digitsMax`. */
const isShort = (part: string) =>
  `abs(${part}) < 1e${digitsMax / 2} and scale(${part}) <= ${digitsMax / 2}`
