import fc from 'fast-check'
import t from 'tap'
import { canonicalText } from '../../src/catalog/column-value.ts'
import { type Column, type ColumnValue, groupColumns } from '../../src/catalog/columns.ts'
import {
  compilePromotions,
  type PromotedRow,
  promotedPrices,
} from '../../src/promotions/promoted-prices.ts'
import { compileReprice } from '../../src/promotions/promotion-price.ts'
import type { Promotion } from '../../src/promotions/queries.ts'

const column = (kind: Column['kind'], name: string, ordinal: number): Column => ({
  name,
  kind,
  type: 'string',
  allowed_values: null,
  ordinal,
  letter: '',
})
const columns = groupColumns([
  column('attribute', 'colour', 1),
  column('attribute', 'size', 2),
  column('extension', 'country', 1),
  column('extension', 'shop', 2),
])

const few = <T>(...values: T[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 })
const filters = fc.record(
  {
    code: few('A', 'B', 'C'),
    colour: few('red', 'blue'),
    size: few('1', '2'),
    country: few('UK', 'FR'),
    shop: few('x', 'y'),
    gone: few('x'),
  },
  { requiredKeys: [] },
)
const promotions: fc.Arbitrary<Promotion[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('percentage', 'amount', 'fixed_price'),
      value: fc.integer({ min: 0, max: 100 }),
      product_filters: fc.option(filters),
      price_dimensions: fc.option(few('retail', 'wholesale')),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.map((promotion, index) => ({ name: `P${10 + index}`, ...promotion })))
const colours = fc.option(fc.constantFrom('red', 'green'))
const sizes = fc.option(fc.constantFrom('1', '3'))
const rows: fc.Arbitrary<PromotedRow[]> = fc.array(
  fc.record({
    code: fc.constantFrom('A', 'B', 'D'),
    extensions: fc.tuple(fc.constantFrom('UK', 'FR', 'DE'), fc.constantFrom('x', 'z')),
    attributes: fc.option(fc.tuple(colours, sizes), { nil: null }),
    dimension: fc.constantFrom('retail', 'wholesale', 'staff'),
    price: fc.option(fc.integer({ min: 0, max: 150 })),
  }),
  { maxLength: 20 },
)

/** Whether a promotion covers a row, read off the rule word by word. */
function covers({ kind, product_filters, price_dimensions }: Promotion, row: PromotedRow): boolean {
  if (row.price === null && kind !== 'fixed_price') return false
  if (price_dimensions && !price_dimensions.includes(row.dimension)) return false
  const texts: Record<string, string | null | undefined> = {
    code: row.code,
    colour: row.attributes?.[0],
    size: row.attributes?.[1],
    country: row.extensions[0],
    shop: row.extensions[1],
  }
  return Object.entries(product_filters ?? {}).every(([name, values]) =>
    values.some((value: ColumnValue) => canonicalText(value) === texts[name]),
  )
}

t.test(
  'rows get what each promotion that covers them gives, whatever was read before',
  async () => {
    await fc.assert(
      fc.asyncProperty(promotions, rows, fc.option(fc.constant('P10')), async (all, read, only) => {
        const priceOf = promotedPrices(await compilePromotions(all, columns, 6))
        for (const row of [...read, ...read]) {
          const expected = all
            .filter(
              (promotion) => covers(promotion, row) && (only ?? promotion.name) === promotion.name,
            )
            .map((promotion) => ({
              name: promotion.name,
              value: compileReprice(promotion, 6)(row.price ?? 0),
            }))
          const active_price = Math.min(row.price ?? 0, ...expected.map(({ value }) => value))
          const found = priceOf(row, only ?? undefined)
          if (JSON.stringify(found) !== JSON.stringify({ active_price, promotions: expected }))
            return false
        }
        return true
      }),
      { numRuns: 1000 },
    )
  },
)

t.test('attributes are read only where a promotion filters by one', async (t) => {
  const promotion = { name: 'P', kind: 'amount', value: 1, price_dimensions: null } as const
  const uses = async (product_filters: Promotion['product_filters']) =>
    (await compilePromotions([{ ...promotion, product_filters }], columns, 6)).usesAttributes
  t.equal(await uses(null), false)
  t.equal(await uses({ code: ['A'], country: ['UK'] }), false)
  t.equal(await uses({ code: ['A'], size: ['1'] }), true)
})

t.test('a million different rows are priced without keeping them all', async (t) => {
  const promotion = { name: 'P', kind: 'amount', value: 1, price_dimensions: null } as const
  const rules = await compilePromotions(
    [{ ...promotion, product_filters: { code: ['7'] } }],
    columns,
    6,
  )
  const priceOf = promotedPrices(rules)
  const row = { extensions: ['UK', 'x'], dimension: 'retail', price: 10 }
  for (let code = 0; code < 120_000; code++) priceOf({ ...row, code: String(code) })
  t.strictSame(priceOf({ ...row, code: '7' }), {
    active_price: 9,
    promotions: [{ name: 'P', value: 9 }],
  })
  t.strictSame(priceOf({ ...row, code: '8' }), { active_price: 10, promotions: [] })
})
