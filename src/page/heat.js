/** Steps of the color scale, from the lowest price to the highest. */
export const steps = 7

/**
 * The step of each price, from 1 (lowest) to `steps` (highest); 0 where none is set (null). Equal prices get the middle
 * step.
 *
 * @param {(number | null)[]} prices
 */
export function heatOf(prices) {
  const { low, high } = rangeOf(prices)
  if (low === high) return prices.map((price) => (price === null ? 0 : Math.ceil(steps / 2)))
  return prices.map((price) =>
    price === null ? 0 : Math.min(steps, 1 + Math.floor((steps * (price - low)) / (high - low))),
  )
}

/**
 * The lowest and highest price, with the index of the first day of each. Null is not set, 0 is a price.
 *
 * @param {(number | null)[]} prices
 */
export function rangeOf(prices) {
  const set = prices.filter((price) => price !== null)
  const low = set.reduce((least, price) => Math.min(least, price), Number.POSITIVE_INFINITY)
  const high = set.reduce((most, price) => Math.max(most, price), Number.NEGATIVE_INFINITY)
  return set.length === 0
    ? { low: 0, high: 0, lowAt: -1, highAt: -1 }
    : { low, high, lowAt: prices.indexOf(low), highAt: prices.indexOf(high) }
}
