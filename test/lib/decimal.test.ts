import fc from 'fast-check'
import t from 'tap'
import {
  add,
  divide,
  type Fraction,
  fraction,
  hasDecimals,
  multiply,
  negate,
  roundHalfAway,
  roundHalfUp,
  subtract,
} from '../../src/lib/decimal.ts'

const fractions = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
    fc.bigInt({ min: 1n, max: 10n ** 12n }),
  )
  .map(([n, d]): Fraction => ({ n, d }))
/** Numbers of at most 15 significant digits and 6 decimals, as text. */
const decimals = fc
  .tuple(fc.integer({ min: -999_999_999, max: 999_999_999 }), fc.nat({ max: 999_999 }))
  .map(([whole, millionths]) => `${whole}.${String(millionths).padStart(6, '0')}`)

const isEqual = (a: Fraction | null, b: Fraction | null) => !!a && !!b && a.n * b.d === b.n * a.d

t.test('a number is taken for the decimal that it prints as', async (t) => {
  const cases: [number | string, bigint, bigint][] = [
    [0, 0n, 1n],
    [-0, 0n, 1n],
    [19.99, 1999n, 100n],
    [-0.5, -5n, 10n],
    [0.1, 1n, 10n],
    [1e-7, 1n, 10_000_000n],
    [1.5e-9, 15n, 10_000_000_000n],
    [1e21, 10n ** 21n, 1n],
    [1.25e22, 125n * 10n ** 20n, 1n],
    ['0.30', 30n, 100n],
    ['7', 7n, 1n],
  ]
  for (const [value, n, d] of cases) t.ok(isEqual(fraction(value), { n, d }), String(value))
})

t.test('sums, differences, products and quotients are exact', async (t) => {
  fc.assert(
    fc.property(fractions, fractions, fractions, (a, b, c) => {
      const distributed = add(multiply(a, c), multiply(b, c))
      return (
        isEqual(add(a, b), add(b, a)) &&
        isEqual(subtract(add(a, b), b), a) &&
        isEqual(subtract(a, b), negate(subtract(b, a))) &&
        isEqual(multiply(add(a, b), c), distributed) &&
        (b.n === 0n || isEqual(multiply(divide(a, b) as Fraction, b), a))
      )
    }),
  )
  t.ok(isEqual(add(fraction(0.1), fraction(0.2)), fraction(0.3)), '0.1 + 0.2 is 0.3')
  t.equal(divide(fraction(1), fraction(0)), null)
  t.ok((divide(fraction(1), fraction(-3)) as Fraction).d > 0n, 'denominators stay positive')
})

t.test('a long sum keeps its digits few', async (t) => {
  const sum = Array.from({ length: 500 }, () => fraction(0.000001)).reduce(add, fraction(0))
  t.ok(sum.d <= 1_000_000n)
})

t.test('what was written is what is read: a decimal of 6 places rounds to itself', async (t) => {
  fc.assert(fc.property(decimals, (text) => roundHalfUp(fraction(text)) === Number(text) + 0))
  t.pass()
})

t.test('halves round up, or away from zero', async (t) => {
  const cases: [n: bigint, d: bigint, expected: number][] = [
    [5n, 10_000_000n, 0.000001],
    [4_999_999n, 10n ** 13n, 0],
    [-5n, 10_000_000n, 0],
    [-15n, 10_000_000n, -0.000001],
    [-16n, 10_000_000n, -0.000002],
    [-4n, 10_000_000n, 0],
    [1n, 3n, 0.333333],
    [2n, 3n, 0.666667],
    [-2n, 3n, -0.666667],
    [9_999_995n, 10_000_000n, 1],
    [12_345_675n, 10_000_000n, 1.234568],
    [0n, 7n, 0],
    [10n ** 20n, 1n, 1e20],
  ]
  for (const [n, d, expected] of cases) t.equal(roundHalfUp({ n, d }), expected, `${n}/${d}`)
  t.ok(Object.is(roundHalfUp({ n: -1n, d: 10n ** 9n }), 0), 'no -0')
  t.equal(roundHalfUp({ n: 2005n, d: 1000n }, 2), 2.01)
  t.equal(roundHalfUp({ n: 2004_999n, d: 1000_000n }, 2), 2)
  t.equal(roundHalfUp({ n: 1n, d: 2n }, 0), 1)
  t.ok(Object.is(roundHalfUp({ n: -1n, d: 2n }, 0), 0))
  t.equal(roundHalfAway({ n: -1n, d: 2n }, 0), -1)
  t.equal(roundHalfAway({ n: 1n, d: 2n }, 0), 1)
  t.ok(Object.is(roundHalfAway({ n: -1n, d: 10n ** 9n }), 0), 'no -0')
})

t.test('a number has the decimals that it prints', async (t) => {
  const cases: [value: number, decimals: number][] = [
    [0, 0],
    [19, 0],
    [19.9, 1],
    [0.01, 2],
    [1.005, 3],
    [999_999_999.99, 2],
    [999_999_999.999999, 6],
    [0.000001, 6],
    [123_456_789_012.5, 1],
    [99_999_999_999_999.9, 1],
    [1e20, 0],
    [1.5e20, 0],
  ]
  for (const [value, least] of cases)
    for (let decimals = 0; decimals <= 6; decimals++)
      t.equal(hasDecimals(value, decimals), decimals >= least, `${value} in ${decimals}`)
})

t.test('the rounded value is the nearest of 6 decimals', async (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }),
      fc.bigInt({ min: 1n, max: 10n ** 6n }),
      (n, d) => {
        const millionths = BigInt(Math.round(roundHalfUp({ n, d }) * 1e6))
        const distance = millionths * d - n * 1_000_000n
        return 2n * (distance < 0n ? -distance : distance) <= d
      },
    ),
  )
  t.pass()
})
