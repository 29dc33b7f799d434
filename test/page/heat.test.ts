import fc from 'fast-check'
import t from 'tap'
import { heatOf, rangeOf, steps } from '../../src/page/heat.js'

t.test('prices go from the first step to the last; what is not set has none', async (t) => {
  t.strictSame(heatOf([null, 10, 20, 30]), [0, 1, 4, 7])
  t.strictSame(heatOf([5, 5, null]), [4, 4, 0], 'prices that are all the same are in the middle')
  t.strictSame(heatOf([null, null]), [0, 0])
  t.strictSame(heatOf([null, 10, 0, 30]), [0, 3, 1, 7], '0 is a price')
  t.strictSame(heatOf([0, null]), [4, 0])
  t.strictSame(heatOf([]), [])
})

t.test('a higher price is never on a lower step', async (t) => {
  const prices = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 50 })
  fc.assert(
    fc.property(prices, (values) => {
      const sorted = [...values].sort((a, b) => a - b)
      const heat = heatOf(sorted)
      return heat.every((step, at) => step >= (heat[at - 1] ?? 0) && step >= 0 && step <= steps)
    }),
  )
  t.pass()
})

t.test('the range names the first day of the lowest and the highest price', async (t) => {
  t.strictSame(rangeOf([2, 3, 1, 3, 1]), { low: 1, high: 3, lowAt: 2, highAt: 1 })
  t.strictSame(rangeOf([null, 3, null]), { low: 3, high: 3, lowAt: 1, highAt: 1 })
  t.strictSame(rangeOf([0]), { low: 0, high: 0, lowAt: 0, highAt: 0 })
  t.strictSame(rangeOf([null]), { low: 0, high: 0, lowAt: -1, highAt: -1 })
})
