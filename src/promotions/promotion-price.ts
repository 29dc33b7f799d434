import { type Fraction, fraction, multiply, roundHalfUp, subtract } from '../lib/decimal.ts'
import type { Promotion } from './queries.ts'

/** From a published price to the promotional price. */
export type Reprice = (price: number) => number

/** Below this, a price times a million is nearest to its own integer, so that millionths are exact. */
const millionthsMax = 2 ** 30
const zero: Fraction = { n: 0n, d: 1n }

/** The rule of a promotion: exact, never below 0, rounded half up to 6 decimals. */
export function compileReprice({ kind, value }: Pick<Promotion, 'kind' | 'value'>): Reprice {
  if (kind === 'percentage') return takePercentage(value)
  return kind === 'amount' ? takeAmount(value) : () => value
}

function takePercentage(percentage: number): Reprice {
  const whole = 100_000_000
  const left = whole - millionths(percentage)
  const divisor = greatestCommonDivisor(left, whole)
  return (price) => roundPromotionPrice(price, left / divisor, whole / divisor)
}

/** The price times n / d, rounded half up to 6 decimals. Only a percentage has more decimals to round. */
function roundPromotionPrice(price: number, n: number, d: number): number {
  // Exact doubles take a tenth of the time of big integers, and there are as many as prices times promotions.
  const product = millionths(price) * n
  if (price > millionthsMax || product > Number.MAX_SAFE_INTEGER)
    return roundHalfUp(multiply(fraction(price), { n: BigInt(n), d: BigInt(d) }))
  const rest = product % d
  return ((product - rest) / d + (rest * 2 >= d ? 1 : 0)) / 1e6
}

function takeAmount(amount: number): Reprice {
  const exact = fraction(amount)
  return (price) => {
    if (price <= millionthsMax) return Math.max(millionths(price) - millionths(amount), 0) / 1e6
    const rest = subtract(fraction(price), exact)
    return roundHalfUp(rest.n < 0n ? zero : rest)
  }
}

const millionths = (value: number) => Math.round(value * 1e6)

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
