import { type Fraction, fraction, multiply, roundHalfUp, subtract } from '../lib/decimal.ts'
import type { Promotion } from './queries.ts'

/** From a published price to the price with a promotion. */
export type Reprice = (price: number) => number

const millionthsOf100 = 100_000_000
/** Below this, price times a million is nearer to its integer than to any other. */
const fastPriceMax = 2 ** 30
const zero: Fraction = { n: 0n, d: 1n }

/** The rule of a promotion: exact, never below 0, rounded half up to 6 decimals. */
export function compileReprice({ kind, value }: Pick<Promotion, 'kind' | 'value'>): Reprice {
  if (kind === 'percentage') return takePercentage(value)
  return kind === 'amount' ? takeAmount(value) : () => value
}

function takePercentage(value: number): Reprice {
  const kept = millionthsOf100 - Math.round(value * 1e6)
  const divisor = greatestCommonDivisor(kept, millionthsOf100)
  const [n, d] = [kept / divisor, millionthsOf100 / divisor]
  const exact = { n: BigInt(n), d: BigInt(d) }
  return (price) => {
    // Integers that a double holds exactly cost a tenth of big ones, and prices times promotions are many.
    const product = Math.round(price * 1e6) * n
    if (price > fastPriceMax || product > Number.MAX_SAFE_INTEGER)
      return roundHalfUp(multiply(fraction(price), exact))
    const rest = product % d
    return ((product - rest) / d + (rest * 2 >= d ? 1 : 0)) / 1e6
  }
}

function takeAmount(value: number): Reprice {
  const amount = fraction(value)
  return (price) => {
    if (price <= fastPriceMax)
      return Math.max(Math.round(price * 1e6) - Math.round(value * 1e6), 0) / 1e6
    const rest = subtract(fraction(price), amount)
    return roundHalfUp(rest.n < 0n ? zero : rest)
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
