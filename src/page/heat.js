/** Steps of the color scale, from the lowest price to the highest. */
export const steps = 7

/**
 * The step of each price, from 1 (lowest) to `steps` (highest); 0 where the price is 0 or null. Equal prices get the
 * middle step.
 *
 * @param {(number | null)[]} prices
 */
export function heatOf(prices) {
  const { low, high } = rangeOf(prices)
  if (low === high) return prices.map((price) => (price ? Math.ceil(steps / 2) : 0))
  return prices.map((price) =>
    price ? Math.min(steps, 1 + Math.floor((steps * (price - low)) / (high - low))) : 0,
  )
}

/**
 * The lowest and highest price, with the index of the first day of each. Null and 0 count as not set.
 *
 * @param {(number | null)[]} prices
 */
export function rangeOf(prices) {
  const set = prices.flatMap((price) => price || [])
  const low = set.reduce((least, price) => Math.min(least, price), Number.POSITIVE_INFINITY)
  const high = set.reduce((most, price) => Math.max(most, price), Number.NEGATIVE_INFINITY)
  return set.length === 0
    ? { low: 0, high: 0, lowAt: -1, highAt: -1 }
    : { low, high, lowAt: prices.indexOf(low), highAt: prices.indexOf(high) }
}
