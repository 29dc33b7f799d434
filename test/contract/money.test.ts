import fc from 'fast-check'
import t from 'tap'
import { isDecimal, isMoney } from '../../src/lib/formats.ts'

t.test('money has at most 15 significant digits and 6 decimals', async (t) => {
  const digits = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 })
  fc.assert(
    fc.property(digits, fc.nat({ max: 6 }), (whole, places) =>
      isMoney(Number(`${whole}e-${places}`)),
    ),
  )
  const good = [
    0, -0, 0.000001, -0.000001, 19.99, 1.005, 999999999999999, 1e15, 1e20, 1e21, 1e300,
    999999999.999999,
  ]
  const bad = [1e-7, 5e-7, 1e-20, 1e-21, 1e-300, 5e-324, 0.1234567, 1234567890.1234567]
  const beyond = [9007199254740991, Number.NaN, Number.POSITIVE_INFINITY, -(2 ** 53)]
  for (const value of good) t.ok(isMoney(value), String(value))
  for (const value of [...bad, ...beyond]) t.notOk(isMoney(value), String(value))
})

t.test('whether a number is money shows in the digits that it is written with', async (t) => {
  const decimals = fc
    .tuple(fc.integer(), fc.nat({ max: 9 }))
    .map(([digits, places]) => digits / 10 ** places)
  const any = fc.double({ min: -1e12, max: 1e12, noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(fc.oneof(decimals, any), (value) => {
      const text = String(value)
      return text.includes('e') || isMoney(value) === isDecimal(text)
    }),
    { numRuns: 5000 },
  )
  t.pass()
})

t.test('a decimal in a string is what money is as a number', async (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
      fc.nat({ max: 8 }),
      (whole, places) => {
        const magnitude = String(whole < 0n ? -whole : whole).padStart(places + 1, '0')
        const [left, right] = [
          magnitude.slice(0, -places || undefined),
          magnitude.slice(-places || magnitude.length),
        ]
        const text = `${whole < 0n ? '-' : ''}${left}${right && `.${right}`}`
        const significant = `${left}${right}`.replace(/^0+/, '').replace(/0+$/, '').length
        const isExact = right.replace(/0+$/, '').length <= 6 && significant <= 15
        return isDecimal(text) === isExact
      },
    ),
    { numRuns: 2000 },
  )
  const good = [
    '0',
    '-0',
    '15.30',
    '+1',
    '.5',
    '5.',
    '0001.10',
    '1.1000000000',
    '100000000000000000000',
  ]
  const bad = [
    '',
    '.',
    '-',
    '1e5',
    '1,5',
    ' 1',
    '1 ',
    '1\n',
    '--1',
    '0x10',
    'NaN',
    'Infinity',
    '1_000',
    '١',
    '0.1234567',
    '1234567890123456',
    '1.2.3',
    `0.${'0'.repeat(50)}`,
  ]
  for (const text of good) t.ok(isDecimal(text), text)
  for (const text of bad) t.notOk(isDecimal(text), JSON.stringify(text))
})
