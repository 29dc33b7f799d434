import fc from 'fast-check'
import t from 'tap'
import type { Column } from '../../src/catalog/columns.ts'
import { defaultMarginFormula } from '../../src/catalog/columns.ts'
import { parseMarginFormula } from '../../src/price-lists/margin-formula.ts'
import { formulas, rounded } from '../helpers/formula.ts'

const cost = (letter: string, name: string, ordinal: number): Column => ({
  letter,
  name,
  ordinal,
  kind: 'cost',
  type: 'number',
  allowed_values: null,
})
const costs = [cost('D', 'purchase', 1), cost('AA', 'a "b" 😀', 2), cost('F', 'Price', 3)]

t.test('agrees with another evaluator on every formula that the grammar allows', async (t) => {
  const names = [
    ['D', '"purchase"'],
    ['AA', '"a ""b"" 😀"'],
    ['F', '"Price"'],
  ]
  const millionths = fc.bigInt({ min: 0n, max: 10n ** 13n })
  const given = fc.record({
    price: millionths,
    costs: fc.array(fc.option(millionths, { freq: 10 }), { minLength: 3, maxLength: 3 }),
  })
  let values = 0
  fc.assert(
    fc.property(formulas(names), given, ({ text, value }, row) => {
      const margin = parseMarginFormula(`=${text}`, costs)
      const expected = value(row)
      if (expected) values++
      const number = (part: bigint | null) => (part === null ? null : Number(part) / 1e6)
      const actual = margin(number(row.price) ?? 0, row.costs.map(number))
      if (expected === null) return actual === null
      return Object.is(actual, rounded(expected))
    }),
    { numRuns: 5000 },
  )
  t.ok(values > 2000, `${values} of 5000 formulas had a value`)
})

t.test('precedence, association, unary minus and white space', async (t) => {
  const cases: [formula: string, expected: number | null][] = [
    ['=1+2*3', 7],
    ['=(1+2)*3', 9],
    ['=10-4-3', 3],
    ['=24/4/2', 3],
    ['=2*3/4', 1.5],
    ['=-2*-3', 6],
    ['=2--3', 5],
    ['=---1', -1],
    ['=-(1+2)', -3],
    ['=.5+5.', 5.5],
    ['= \t\n1 \u00a0+\u20031 ', 2],
    ['=0.1+0.2', 0.3],
    ['=1/3*3', 1],
    ['=1/3', 0.333333],
    ['=2/3', 0.666667],
    ['=0.0000005', 0.000001],
    ['=-0.0000005', -0.000001],
    ['=-0.0000004', 0],
    ['=1/(2-2)', null],
    ['=0*(1/0)', null],
    ['=Price', 10],
    ['=(Price-D)/Price*100', 70],
    ['=Price-"purchase"', 7],
    ['=D+AA', null],
    ['=0*AA', null],
  ]
  for (const [text, expected] of cases) {
    t.equal(parseMarginFormula(text, costs)(10, [3, null, 1]), expected, JSON.stringify(text))
  }
  t.equal(parseMarginFormula('=1/Price', costs)(0, []), null, 'a price of 0')
})

t.test('a value beyond what a number can hold is null', async (t) => {
  t.equal(parseMarginFormula(`=${'9'.repeat(400)}`, [])(1, []), null)
  t.equal(parseMarginFormula(`=-${'9'.repeat(400)}`, [])(1, []), null)
})

t.test('the default is price minus the sum of the costs, by price, in percent', async (t) => {
  t.equal(defaultMarginFormula([]), '= (Price - 0) / Price * 100')
  t.equal(defaultMarginFormula(costs.slice(0, 1)), '= (Price - (D)) / Price * 100')
  t.equal(defaultMarginFormula(costs.slice(0, 2)), '= (Price - (D + AA)) / Price * 100')
  t.equal(parseMarginFormula(defaultMarginFormula(costs.slice(0, 2)), costs)(10, [2, 1]), 70)
  t.equal(parseMarginFormula(defaultMarginFormula([]), [])(10, []), 100)
  t.equal(parseMarginFormula(defaultMarginFormula([]), [])(0, []), null)
})

t.test(
  'a step of more than 1,000 digits has no value, also when later steps are small',
  async (t) => {
    const large = [1e300, null, null]
    t.equal(parseMarginFormula('=D*D*D/D/D/D', costs)(1, large), 1)
    t.equal(parseMarginFormula('=D*D*D*D/D/D/D/D', costs)(1, large), null)
    t.equal(parseMarginFormula('=1/D/D/D/D', costs)(1, large), null)
    t.equal(parseMarginFormula('=0-D*D*D*D', costs)(1, large), null)
    const product = (factors: number) => `=${Array(factors).fill('D').join('*')}`
    const small = [1.000001, null, null]
    t.equal(parseMarginFormula(product(160), costs)(1, small), 1.00016)
    t.equal(parseMarginFormula(product(180), costs)(1, small), null)
  },
)

t.test('a sum of many terms stays exact, however their decimals differ', async (t) => {
  const sum = `=${Array(249).fill('D+F').join('+')}`
  t.equal(parseMarginFormula(sum, costs)(1, [0.000001, null, 12345.67]), 3074071.830249)
  t.equal(parseMarginFormula(sum, costs)(1, [1e300, null, 0.1]), 2.49e302)
})
