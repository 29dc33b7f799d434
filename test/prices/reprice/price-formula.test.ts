import t from 'tap'
import type { Column } from '../../../src/catalog/columns.ts'
import { parsePriceFormula } from '../../../src/prices/reprice/price-formula.ts'

const cost = (letter: string, name: string, ordinal: number): Column => ({
  letter,
  name,
  ordinal,
  kind: 'cost',
  type: 'number',
  allowed_values: null,
})
const costs = [
  cost('D', 'purchase', 1),
  cost('IF', 'Insurance', 2),
  cost('F', 'say "hi"', 3),
  cost('G', 'Net', 4),
  cost('H', 'NET', 5),
]

const faults: [formula: string, message: RegExp][] = [
  ['', /"=" \(character 1\)/],
  ['Price', /character 1/],
  ['=', /at the end/],
  ['= Prices', /"Prices" is not a function, a figure .* at character 3/],
  ['= A', /character 3/],
  ['= SUM(D)', /"SUM" is not a function.* at character 3/],
  ['= COMP_MODE', /character 3/],
  ['= "Price"', /"Price" is not a cost column at character 3/],
  ['= "D"', /character 3/],
  ['= "net"', /"net" is not a cost column at character 3/],
  ['= purchase / 2', /name of a cost column in double quotes at character 3, found "purchase"/],
  ['= .5', /digits on both sides of the point at character 3, found "\.5"/],
  ['= Price + 5.', /both sides of the point at character 11, found "5\."/],
  ['= 1 & 2', /unexpected "&" at character 5/],
  ['= 1,5', /expected an operator at character 4/],
  ['= 1e5', /character 4/],
  ['= 1 <', /no comparison outside the condition of IF at character 5/],
  ['= Price > 3', /no comparison outside the condition of IF at character 9/],
  ['= (Price > 3)', /expected "\)" at character 10/],
  ['= MIN(1 < 2, 3)', /expected "," at character 9/],
  ['= IF(1 < 2 < 3, 1, 2)', /expected "," at character 12/],
  ['= IF(1 =< 2, 1, 2)', /character 9/],
  ['= IF(1 == 2, 1, 2)', /character 9/],
  ['= IF(1 != 2, 1, 2)', /unexpected "!" at character 8/],
  ['= IF(1, 2, 3)', /expected a comparison at character 7/],
  ['= IF((1 < 2), 2, 3)', /expected "\)" at character 9/],
  ['= IF(1 < 2, 3)', /expected "," at character 14/],
  ['= IF(1 < 2, 3, 4, 5)', /expected "\)" at character 17/],
  ['= IF', /expected "\(" at the end/],
  ['= if + 1', /expected "\(" at character 6/],
  ['= MIN', /expected "\(" at the end/],
  ['= MIN()', /character 7/],
  ['= MIN(1)', /expected "," at character 8/],
  ['= MAX(1, 2', /expected "\)" at the end/],
  ['= MAX(1,2,3,4,5,6,7,8,9,10,11)', /expected "\)" at character 27/],
  ['= MAX(1,,2)', /character 9/],
  ['= IFNULL(1)', /expected "," at character 11/],
  ['= IFNULL(1, 2, 3)', /expected "\)" at character 14/],
  ['= ROUND(1)', /expected "," at character 10/],
  ['= ROUND(1, 7)', /whole number from 0 to 6 at character 12/],
  ['= ROUND(1, -1)', /character 12/],
  ['= ROUND(1, 0.5)', /character 12/],
  ['= ROUND(1, D)', /character 12/],
  ['= ROUND(1, 1 + 1)', /character 12/],
  ['= CEILING(1, 0)', /a step above 0 at character 14/],
  ['= CEILING(1, 0.00)', /character 14/],
  ['= FLOOR(1, -0.05)', /character 12/],
  ['= FLOOR(1, (0))', /character 12/],
  ['= ENDING(1, 1)', /from 0 to less than 1 at character 13/],
  ['= ENDING(1, 0999.5)', /character 13/],
  ['= ENDING(1, -0.5)', /character 13/],
  ['= ENDING(1, 0.995)', /at most 2 decimals at character 13/],
  ['= ENDING(1, 0.5, 2)', /expected "\)" at character 16/],
  ['= (1', /expected "\)" at the end/],
  ['= 1)', /character 4/],
  ['= "purchase', /unexpected """ at character 3/],
  ['= "say "hi""', /character 3/],
  ['= 😀', /"😀" at character 3/],
]

t.test('a fault is named with its character, from 1', async (t) => {
  for (const [formula, message] of faults) {
    t.throws(() => parsePriceFormula(formula, costs, 2), { message }, formula)
  }
})

t.test('parentheses, signs and functions stand in each other up to 32 levels', async (t) => {
  const nests: [open: string, close: string][] = [
    ['(', ')'],
    ['-', ''],
    ['MIN(1,', ')'],
    ['IF(1<2,', ',3)'],
    ['1-(', ')'],
  ]
  for (const [open, close] of nests) {
    const nested = (levels: number) => `=${open.repeat(levels)}Price${close.repeat(levels)}`
    t.ok(parsePriceFormula(nested(32), costs, 2), open)
    const at = 2 + 32 * open.length + (open.startsWith('1') ? 2 : 0)
    const message = new RegExp(`expected at most 32 levels at character ${at},`)
    t.throws(() => parsePriceFormula(nested(33), costs, 2), { message }, open)
  }
  const side = `(${'('.repeat(31)}1${')'.repeat(31)})`
  t.ok(parsePriceFormula(`=${side}+${side}`, costs, 2), 'levels that have ended do not count')
})

t.test(
  'a cost letter that spells a function is the function, its quoted name the cost',
  async (t) => {
    t.same(parsePriceFormula('= "insurance"', costs, 2), {
      kind: 'costs',
      name: 'Insurance',
      ordinals: [2],
    })
    t.same(parsePriceFormula('= "say ""HI"""', costs, 2), {
      kind: 'costs',
      name: 'say "hi"',
      ordinals: [3],
    })
    t.match(parsePriceFormula('= IF(1<2,3,4)', costs, 2), { kind: 'if' })
  },
)

t.test('of names that differ in case only, each is found as it is written', async (t) => {
  t.same(parsePriceFormula('= "Net"', costs, 2), { kind: 'costs', name: 'Net', ordinals: [4] })
  t.same(parsePriceFormula('= "NET"', costs, 2), { kind: 'costs', name: 'NET', ordinals: [5] })
})

t.test(
  'an ending may have as many decimals as the price, zeros after them do not count',
  async (t) => {
    t.ok(parsePriceFormula('= ENDING(Price, 0.990)', costs, 2))
    t.ok(parsePriceFormula('= ENDING(Price, 0.995)', costs, 3))
    t.ok(parsePriceFormula('= ENDING(Price, 0)', costs, 0))
    t.throws(() => parsePriceFormula('= ENDING(Price, 0.5)', costs, 0), { message: /character 17/ })
  },
)
