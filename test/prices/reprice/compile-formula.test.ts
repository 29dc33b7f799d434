import fc from 'fast-check'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
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
  { weight: 1, arbitrary: fc.constantFrom(10n ** 21n - 1n, 10n ** 306n, 10n ** 156n, 3n * 10n ** 310n) },
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
  await fc.assert(agrees, { numRuns: Number(process.env.RUNS ?? 1000) })
  t.comment(JSON.stringify(Object.fromEntries(seen)))
  for (const reason of [null, 'no_value', 'negative', 'too_large'])
    t.ok((seen.get(reason) ?? 0) > 100, `${reason}: ${seen.get(reason)} cells`)
})
