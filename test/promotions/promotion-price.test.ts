import fc from 'fast-check'
import t from 'tap'
import { isMoney } from '../../src/lib/formats.ts'
import { compileReprice } from '../../src/promotions/promotion-price.ts'

type Kind = Parameters<typeof compileReprice>[0]['kind']

const cases: [Kind, number, number, number][] = [
  ['percentage', 20, 2.55, 2.04],
  ['percentage', 33.333333, 19.99, 13.326667],
  ['percentage', 0, 19.99, 19.99],
  ['percentage', 100, 19.99, 0],
  ['percentage', 50, 0.000001, 0.000001],
  ['percentage', 50.000001, 0.000001, 0],
  ['percentage', 50, 0.000003, 0.000002],
  ['percentage', 10, 0, 0],
  ['percentage', 12.5, 999999999.999999, 874999999.999999],
  ['percentage', 0.000001, 99999999.999999, 99999998.999999],
  ['percentage', 50, 100000000000000000000, 50000000000000000000],
  ['percentage', 33.333333, 999999999999999, Number('666666669999999.333333')],
  ['amount', 0.1, 0.3, 0.2],
  ['amount', 5, 19.99, 14.99],
  ['amount', 20, 19.99, 0],
  ['amount', 19.99, 19.99, 0],
  ['amount', 0.000001, 999999999, 999999998.999999],
  ['amount', 100000000000000000000, 1, 0],
  ['amount', 1, 100000000000, 99999999999],
  ['fixed_price', 7.77, 19.99, 7.77],
  ['fixed_price', 30, 19.99, 30],
  ['fixed_price', 0, 19.99, 0],
]

t.test(
  'the price with a promotion is exact, never below 0, and rounds half up to 6 decimals',
  async (t) => {
    for (const [kind, value, price, expected] of cases)
      t.equal(compileReprice({ kind, value }, 6)(price), expected, `${price} with ${kind} ${value}`)
  },
)

t.test('it rounds once, half up, to the decimals of its list', async (t) => {
  const rounded: [Kind, value: number, price: number, decimals: number, expected: number][] = [
    ['percentage', 25, 19.99, 2, 14.99],
    ['percentage', 50, 0.01, 2, 0.01],
    ['percentage', 50.000001, 0.01, 2, 0],
    ['percentage', 33.333333, 100, 0, 67],
    ['percentage', 33.333333, 999999999999999, 0, 666666669999999],
    ['amount', 0.005, 1, 2, 1],
    ['amount', 0.005001, 1, 2, 0.99],
    ['amount', 0.5, 100000000000, 0, 100000000000],
    ['amount', 5, 1, 2, 0],
    ['fixed_price', 1.994999, 3, 2, 1.99],
    ['fixed_price', 1.995, 3, 2, 2],
    ['fixed_price', 0.5, 3, 0, 1],
  ]
  for (const [kind, value, price, decimals, expected] of rounded) {
    const found = compileReprice({ kind, value }, decimals)(price)
    t.equal(found, expected, `${price} with ${kind} ${value} in ${decimals} decimals`)
  }
})

/** Millionths, computed with big integers from the digits as they are written. */
function millionths(value: number): bigint {
  const [whole = '', decimals = ''] = value.toFixed(6).split('.')
  return BigInt(whole + decimals)
}

function reference(kind: Kind, value: number, price: number, decimals: number): number {
  const [p, v] = [millionths(price), millionths(value)]
  const whole = 100_000_000n
  // In parts of a hundred millionth of a millionth.
  const exact = { fixed_price: v * whole, amount: (p - v) * whole, percentage: p * (whole - v) }[
    kind
  ]
  const unit = whole * 10n ** BigInt(6 - decimals)
  const rounded = exact > 0n ? (exact * 2n + unit) / (unit * 2n) : 0n
  const digits = rounded.toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return Number(`${digits.slice(0, point)}.${digits.slice(point)}`)
}

/** Any amount of money up to `max`, most of them with all their digits. */
const money = (max: number) =>
  fc
    .tuple(
      fc.integer({ min: 0, max }),
      fc.integer({ min: 0, max: 999_999 }),
      fc.constantFrom(0, 2, 6),
    )
    .map(([whole, decimals, digits]) =>
      Number(`${whole}.${String(decimals).padStart(6, '0').slice(0, digits)}`),
    )
    .filter(isMoney)
const prices = fc.oneof(
  money(200),
  money(999_999_999),
  fc.integer({ min: 0, max: 999_999_999_999_999 }),
)
const scales = fc.integer({ min: 0, max: 6 })
const kinds = fc.constantFrom<Kind>('amount', 'percentage', 'fixed_price')

t.test('the price with a promotion is that of big integers, for any price and value', async () => {
  const percentages = money(100).filter((value) => value <= 100)
  fc.assert(
    fc.property(
      prices,
      percentages,
      scales,
      (price, value, decimals) =>
        compileReprice({ kind: 'percentage', value }, decimals)(price) ===
        reference('percentage', value, price, decimals),
    ),
    { numRuns: 5000 },
  )
  fc.assert(
    fc.property(
      fc.constantFrom<Kind>('amount', 'fixed_price'),
      prices,
      prices,
      scales,
      (kind, price, value, decimals) =>
        compileReprice({ kind, value }, decimals)(price) ===
        reference(kind, value, price, decimals),
    ),
    { numRuns: 5000 },
  )
})

t.test('a dearer product is never cheaper under the same promotion', async () => {
  fc.assert(
    fc.property(
      kinds,
      money(100).filter((value) => value <= 100),
      prices,
      prices,
      scales,
      (kind, value, a, b, decimals) => {
        const reprice = compileReprice({ kind, value }, decimals)
        return reprice(Math.min(a, b)) <= reprice(Math.max(a, b)) && reprice(a) >= 0
      },
    ),
    { numRuns: 2000 },
  )
})
