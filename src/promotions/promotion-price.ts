import { type Fraction, fraction, multiply, roundHalfUp, subtract } from '../lib/decimal.ts'
import type { Promotion } from './queries.ts'

/** Maps a published price to the promotional price. */
export type Reprice = (price: number) => number

/** Up to this price, a price times a million rounds to the right integer, so that millionths are exact. */
const millionthsMax = 2 ** 30
const zero: Fraction = { n: 0n, d: 1n }

/** Compiles a promotion's rule: exact, never below 0, rounded half up to the list's decimals. */
export function compileReprice(
  { kind, value }: Pick<Promotion, 'kind' | 'value'>,
  decimals: number,
): Reprice {
  if (kind === 'percentage') return takePercentage(value, decimals)
  if (kind === 'amount') return takeAmount(value, decimals)
  const fixed = roundHalfUp(fraction(value), decimals)
  return () => fixed
}

function takePercentage(percentage: number, decimals: number): Reprice {
  const whole = 100_000_000
  const left = whole - millionths(percentage)
  const divisor = greatestCommonDivisor(left, whole)
  const [n, d] = [left / divisor, whole / divisor]
  const exact = { n: BigInt(n), d: BigInt(d) }
  return (price) => {
    // Exact doubles take a tenth of the time of BigInt, and there are as many as prices times promotions.
    const product = millionths(price) * n
    return price > millionthsMax || product > Number.MAX_SAFE_INTEGER
      ? roundHalfUp(multiply(fraction(price), exact), decimals)
      : roundMillionths(product, d, decimals)
  }
}

function takeAmount(amount: number, decimals: number): Reprice {
  const exact = fraction(amount)
  return (price) => {
    if (price <= millionthsMax)
      return roundMillionths(Math.max(millionths(price) - millionths(amount), 0), 1, decimals)
    const rest = subtract(fraction(price), exact)
    return roundHalfUp(rest.n < 0n ? zero : rest, decimals)
  }
}

/** n / d millionths, rounded half up. */
function roundMillionths(n: number, d: number, decimals: number): number {
  const unit = d * 10 ** (6 - decimals)
  const rest = n % unit
  return ((n - rest) / unit + (rest * 2 >= unit ? 1 : 0)) / 10 ** decimals
}

const millionths = (value: number) => Math.round(value * 1e6)

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
