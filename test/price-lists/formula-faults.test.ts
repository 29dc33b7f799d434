import fc from 'fast-check'
import t from 'tap'
import type { Column } from '../../src/catalog/columns.ts'
import { FormulaError, parseMarginFormula } from '../../src/price-lists/margin-formula.ts'

const cost = (letter: string, name: string, ordinal: number): Column => ({
  letter,
  name,
  ordinal,
  kind: 'cost',
  type: 'number',
  allowed_values: null,
})
const costs = [cost('D', 'purchase', 1), cost('AA', 'a "b" 😀', 2), cost('F', 'Price', 3)]

const faults: [formula: string, message: RegExp][] = [
  ['', /character 1/],
  ['1', /character 1/],
  [' =1', /character 1/],
  ['=', /at the end/],
  ['=  ', /at the end/],
  ['=1+', /at the end/],
  ['=(1', /"\)" at the end/],
  ['=()', /character 3/],
  ['=1)', /character 3/],
  ['=(1")"', /expected "\)" at character 4/],
  ['=1 2', /character 4/],
  ['=1.2.3', /character 5/],
  ['=1e5', /character 3/],
  ['=1,5', /character 3/],
  ['=+1', /character 2/],
  ['=1*/2', /character 4/],
  ['=2Price', /character 3/],
  ['=Price Price', /character 8/],
  ['=price', /character 2/],
  ['=d', /character 2/],
  ['=A', /character 2/],
  ['=B', /character 2/],
  ['=G', /character 2/],
  ['=D1', /character 2/],
  ['=1+"freight"', /character 4/],
  ['=1+"Purchase"', /character 4/],
  ['=1+purchase', /character 4/],
  ['=1+"D"', /character 4/],
  ['=""', /character 2/],
  ['=1+"purchase', /character 4/],
  ["=1+'purchase'", /character 4/],
  ['=Price^2', /character 7/],
  ['=Price%', /character 7/],
  ['=SUM(D)', /character 2/],
  ['=process.exit()', /character 9/],
  ['=constructor', /character 2/],
  ['=__proto__', /character 2/],
  ['==1', /character 2/],
  ['=1;2', /character 3/],
  ['=😀', /"😀" at character 2/],
  ['="a ""b"" 😀"+?', /"\?" at character 14/],
  ['=１', /character 2/],
  ['=1−1', /character 3/],
  ['=\u00001', /character 2/],
]

t.test('a fault is named with its character, from 1', async (t) => {
  for (const [formula, message] of faults) {
    t.throws(() => parseMarginFormula(formula, costs), { message }, JSON.stringify(formula))
  }
})

t.test('depth and length cost no more than reading them', async (t) => {
  const nested = `=${'('.repeat(900)}1${')'.repeat(900)}`
  t.equal(parseMarginFormula(nested, [])(1, []), 1)
  t.equal(parseMarginFormula(`=${'-'.repeat(998)}1`, [])(1, []), 1)
  t.equal(parseMarginFormula(`=1${'+1'.repeat(499)}`, [])(1, []), 500)
  for (const bomb of ['('.repeat(900), '-'.repeat(999), `1${')'.repeat(900)}`, '"'.repeat(999)]) {
    t.throws(() => parseMarginFormula(`=${bomb}`, []), { message: /at (character|the end)/ })
  }
})

t.test('garbage is a FormulaError with a place, or a formula', async (t) => {
  const pieces = fc.constantFrom(...'()+-*/."', '1', 'D', 'AA', 'Price', ' ', '\n', '😀', '=', '\\')
  const garbage = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces).map((all) => all.join('')),
  )
  const read = (text: string) => {
    try {
      return typeof parseMarginFormula(`=${text}`, costs) === 'function'
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error
      const length = [...text].length + 1
      const place = /at character (\d+)/.exec(error.message)?.[1]
      return place
        ? Number(place) >= 2 && Number(place) <= length
        : / at the end/.test(error.message)
    }
  }
  fc.assert(fc.property(garbage, read), { numRuns: 5000 })
  t.pass()
})
