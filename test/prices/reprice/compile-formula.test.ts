import fc from 'fast-check'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Column } from '../../../src/catalog/columns.ts'
import { compilePriceFormula } from '../../../src/prices/reprice/compile-formula.ts'
import { parsePriceFormula } from '../../../src/prices/reprice/price-formula.ts'
import { type Cell, newPrice, priceFormulas } from '../../helpers/price-formula.ts'

const cost = (letter: string, name: string, ordinal: number): Column => ({
  letter,
  name,
  ordinal,
  kind: 'cost',
  type: 'number',
  allowed_values: null,
})
const costs = [cost('D', 'purchase', 1), cost('AA', 'Handling', 2), cost('F', 'freight "in"', 3)]

// The formulas need no table.
const connectionString = process.env.TEST_DATABASE_URL
const pool = new pg.Pool({ connectionString, max: 1 })
const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
t.teardown(() => database.destroy())

interface Priced {
  value: string | null
  reason: string | null
}

/** The new prices of cells, which are JSON with a column for each input. */
async function price(formula: string, cells: object[], decimals = 2): Promise<Priced[]> {
  const compiled = compilePriceFormula(parsePriceFormula(formula, costs, decimals), decimals)
  const rows = sql`(select * from json_to_recordset(${JSON.stringify(cells)}::json) as cell (
    id integer, price numeric, costs numeric[], comp_min numeric, comp_max numeric, comp_avg numeric,
    comp_median numeric, comp_count numeric, sales_qty numeric, sales_revenue numeric, sales_avg numeric
  )) as cell`
  const priced = compiled.pricedCells(rows, ['id'])
  const { rows: found } = await sql<Priced>`
    select value::text, reason from ${priced} order by id`.execute(database)
  return found
}

const decimal = (millionths: bigint | null) => {
  if (millionths === null) return null
  const text = String(millionths).padStart(7, '0')
  return `${text.slice(0, -6)}.${text.slice(-6)}`
}

const amounts = fc.oneof(
  { weight: 10, arbitrary: fc.bigInt({ min: 0n, max: 10n ** 9n }) },
  { weight: 3, arbitrary: fc.constantFrom(0n, 1_000_000n, 990_000n, 500_000n, 1n) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(10n ** 21n - 1n, 10n ** 306n, 10n ** 156n, 3n * 10n ** 310n),
  },
)
const missing = fc.option(amounts, { freq: 8 })
const cellsOf = fc.array(
  fc.record({
    price: amounts,
    costs: fc.array(missing, { minLength: 3, maxLength: 3 }),
    figures: fc.record({
      comp_min: missing,
      comp_max: missing,
      comp_avg: missing,
      comp_median: missing,
      comp_count: amounts,
      sales_qty: amounts,
      sales_revenue: amounts,
      sales_avg: missing,
    }),
  }),
  { minLength: 20, maxLength: 20 },
)

/** JSON with decimals as texts, which PostgreSQL reads as they are. */
const stored = ({ price, costs, figures }: Cell, id: number) => ({
  id,
  price: decimal(price),
  costs: costs.map(decimal),
  ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, decimal(value)])),
})

const cell = {
  price: '10',
  costs: ['2', '3', null],
  comp_min: '12.5',
  comp_count: '2',
  comp_max: null,
  sales_qty: '0',
}

/** Checks the new price of `cell`, or the reason why there is none. */
async function check(
  t: Test,
  cases: readonly (readonly [formula: string, expected: string])[],
  decimals = 2,
): Promise<void> {
  for (const [formula, expected] of cases) {
    const [priced] = await price(`= ${formula}`, [cell], decimals)
    t.equal(priced?.value ?? priced?.reason, expected, formula)
  }
}

t.test('numerator and denominator are carried', async (t) => {
  await check(t, [
    ['1 / 3 * 0.015', '0.01'],
    ['1 / 3 * 3', '1'],
    ['2 / 3', '0.67'],
    ['IF(1 / 3 * 3 = 1, 1, 2)', '1'],
    ['IF(1 / 3 < 0.333333333333333333333333333333, 1, 2)', '2'],
    ['CEILING(1 / 3 * 3, 1)', '1'],
    ['FLOOR(1 / 7 * 7, 1)', '1'],
    ['ENDING(2.97 / 3, 0.99)', '0.99'],
    ['1 / (1 / 3) / -3 + 2', '1'],
    ['0.1 + 0.2 - 0.3', '0'],
  ])
})

t.test('the result rounds half up to the decimals', async (t) => {
  await check(t, [
    ['1.005', '1.01'],
    ['1.004999', '1'],
    ['Price', '10'],
    ['1 / 8', '0.13'],
  ])
  await check(t, [['2.5', '3']], 0)
  await check(t, [['1 / 3', '0.333333']], 6)
})

t.test('names are not case-sensitive', async (t) => {
  await check(t, [
    ['price + D', '12'],
    ['d + "PURCHASE"', '4'],
    ['COMP_min * comp_Count', '25'],
    ['if(Sales_Qty = 0, max(1, 2), 3)', '2'],
    ['"handling" + 0', '3'],
  ])
})

t.test('null in, null out', async (t) => {
  await check(t, [
    ['COSTS', 'no_value'],
    ['MAX(Price, F)', 'no_value'],
    ['MIN(F, Price)', 'no_value'],
    ['MIN(1, 2, 3, COMP_MAX)', 'no_value'],
    ['0 * F', 'no_value'],
    ['IF(F > 1, 1, 2)', 'no_value'],
    ['ROUND(F, 1)', 'no_value'],
    ['CEILING(1, F)', 'no_value'],
    ['FLOOR(F, 1)', 'no_value'],
    ['ENDING(F, 0.5)', 'no_value'],
    ['ENDING(1, F)', 'no_value'],
    ['1 / 0', 'no_value'],
    ['0 / (Price - 10)', 'no_value'],
    ['IFNULL(F, COMP_MAX)', 'no_value'],
    ['IFNULL(F, Price / 3)', '3.33'],
    ['IFNULL(Price / 3, F)', '3.33'],
    ['IFNULL(1 / 0, 7)', '7'],
  ])
})

t.test('only the condition and the chosen branch of IF count', async (t) => {
  await check(t, [
    ['IF(1 < 2, Price, 1 / 0)', '10'],
    ['IF(1 > 2, F, Price / 3)', '3.33'],
    ['IF(1 >= 1, 1 / 3, 1 / F)', '0.33'],
    ['IF(1 / 3 <> 2 / 6, 1, 2)', '2'],
    ['IF(1 <= 0, 1, IF(-1 < 0, 4, 5))', '4'],
    [`IF(1 = 1, 3, ${'9'.repeat(401)})`, '3'],
  ])
})

t.test('MIN and MAX take up to ten terms', async (t) => {
  await check(t, [
    ['MIN(3, 1 / 3, 2, Price, 4, 5, 6, 7, 8, 9)', '0.33'],
    ['MAX(3, 1 / 3, 2, Price, 4, 5, 6, 7, 8, 9)', '10'],
    ['MAX(-1 / 3, -1 / 2) + 1', '0.67'],
  ])
})

t.test('ROUND rounds halves away from zero', async (t) => {
  await check(t, [
    ['ROUND(2.345, 2)', '2.35'],
    ['ROUND(-2.5, 0) + 10', '7'],
    ['ROUND(7 / -2, 0) + 10', '6'],
    ['ROUND(5 / 2, 0)', '3'],
    ['ROUND(1 / 3, 1)', '0.3'],
    ['ROUND(0.0000005, 6) * 1000000', '1'],
  ])
})

t.test('CEILING and FLOOR find multiples of a step above 0', async (t) => {
  await check(t, [
    ['CEILING(10.01, 0.05)', '10.05'],
    ['CEILING(10.05, 0.05)', '10.05'],
    ['FLOOR(10.04, 0.05)', '10'],
    ['CEILING(-2.5, 2) + 10', '8'],
    ['FLOOR(-2.5, 2) + 10', '6'],
    ['CEILING(Price, 10 / 3)', '10'],
    ['FLOOR(Price / 3, 1 / 7)', '3.29'],
    ['CEILING(Price, SALES_QTY)', 'no_value'],
    ['FLOOR(Price, 2 - D - 1)', 'no_value'],
  ])
})

t.test('ENDING finds the smallest number not below that ends so', async (t) => {
  await check(t, [
    ['ENDING(12.34, 0.99)', '12.99'],
    ['ENDING(12.99, 0.99)', '12.99'],
    ['ENDING(12.991, 0.99)', '13.99'],
    ['ENDING(0, 0.99)', '0.99'],
    ['ENDING(0, 0)', '0'],
    ['ENDING(12.01, 0)', '13'],
    ['ENDING(Price / 3, 0.5)', '3.5'],
    ['ENDING(Price, 1 / 3)', '10.33'],
    ['ENDING(-0.5, 0.99)', 'no_value'],
    ['ENDING(Price, D / 2)', 'no_value'],
    ['ENDING(Price, D - 3)', 'no_value'],
    ['ENDING(MAX(COMP_MIN * 0.99, (D + AA) / 0.8), 0.99)', '12.99'],
  ])
})

t.test('a result below 0 is negative, before it is rounded', async (t) => {
  await check(t, [
    ['0 - 0.001', 'negative'],
    ['-1000000000000000000000', 'negative'],
    ['D - 2', '0'],
  ])
})

t.test('a price has at most 15 significant digits and fits a JSON number', async (t) => {
  await check(t, [
    ['9999999999999.99', '9999999999999.99'],
    ['99999999999999.99', 'too_large'],
    ['999999999999999', '999999999999999'],
    ['1000000000000001', 'too_large'],
    ['1000000000000001.5 - 0.5 - 1', '1000000000000000'],
    [`1${'0'.repeat(308)}`, `1${'0'.repeat(308)}`],
    [`2${'0'.repeat(308)}`, 'too_large'],
  ])
})

t.test('a step of more than 400 digits in lowest terms is too large', async (t) => {
  const nines = '9'.repeat(400)
  await check(t, [
    [`1 + 0 * ${nines}`, '1'],
    [`1 + 0 * ${nines}9`, 'too_large'],
    [`1 + 0 * (${nines} + 1)`, 'too_large'],
    [`(${nines} + 1) / ${nines}`, 'too_large'],
    [`${nines} / ${nines}`, '1'],
    [`${nines} / 7 * 7 / ${nines}`, '1'],
    [`MIN(1, ${nines}0)`, 'too_large'],
    [`IF(${nines}0 > 1, 1, 2)`, 'too_large'],
    [`IFNULL(${nines}0, 2)`, 'too_large'],
    [`ROUND(1 / 3 / ${nines}, 2)`, 'too_large'],
    [`1 / (10 - Price) * ${nines}0`, 'no_value'],
  ])
  await check(t, [
    [`999999${' * 999999'.repeat(70)}`, 'too_large'],
    [`1${' * D / D'.repeat(120)}`, '1'],
    [`Price / AA${' + Price / AA'.repeat(70)}`, '236.67'],
  ])
})

t.test('long formulas do not grow in SQL', async (t) => {
  await check(t, [
    [`1${'+1'.repeat(498)}`, '499'],
    [`1${'/D'.repeat(300)}`, '0'],
    [`${'MAX(AA/D,'.repeat(32)}1${')'.repeat(32)}`, '1.5'],
    [`${'1/(D+'.repeat(32)}1${')'.repeat(32)}`, '0.41'],
    [`${'IF(D>1/AA,'.repeat(32)}1${',2/AA)'.repeat(32)}`, '1'],
  ])
})

t.test('a formula names the columns that it reads', async (t) => {
  const inputs = (formula: string) => [
    ...compilePriceFormula(parsePriceFormula(formula, costs, 2), 2).inputs,
  ]
  t.same(inputs('= 120'), [])
  t.same(inputs('= Price + COSTS - D'), ['price', 'costs'])
  t.same(inputs('= MIN(COMP_MIN, SALES_AVG)'), ['comp_min', 'sales_avg'])
})

t.test('without cost columns their sum is 0', async (t) => {
  const compiled = compilePriceFormula(parsePriceFormula('= COSTS', [], 2), 2)
  const { rows } = await sql<Priced>`
    select value::text, reason from ${compiled.pricedCells(sql`(select 1 as id) as cell`, ['id'])}
  `.execute(database)
  t.same(rows, [{ value: '0', reason: null }])
})

t.test('agrees with whole numbers of any size on every formula', async (t) => {
  const seen = new Map<string | null, number>()
  const agrees = fc.asyncProperty(
    priceFormulas,
    cellsOf,
    fc.nat({ max: 4 }).map((more) => more + 2),
    async ({ text, value }, cells, decimals) => {
      const actual = await price(`= ${text}`, cells.map(stored), decimals)
      const expected = cells.map((cell) => newPrice(value(cell), decimals))
      for (const { reason } of expected) seen.set(reason, (seen.get(reason) ?? 0) + 1)
      t.same(actual, expected, text)
      return JSON.stringify(actual) === JSON.stringify(expected)
    },
  )
  await fc.assert(agrees, { numRuns: 600 })
  t.comment(JSON.stringify(Object.fromEntries(seen)))
  for (const reason of [null, 'no_value', 'negative', 'too_large'])
    t.ok((seen.get(reason) ?? 0) > 20, `${reason}: ${seen.get(reason)} cells`)
})
