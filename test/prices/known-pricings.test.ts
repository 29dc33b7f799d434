import t from 'tap'
import { groupColumns } from '../../src/catalog/columns.ts'
import { KnownPricings, type Pricing } from '../../src/prices/known-pricings.ts'
import { compilePromotions } from '../../src/promotions/promoted-prices.ts'

const columns = groupColumns([])
const codes = Array.from({ length: 20_000 }, (_, index) => `P${index}`)
const promotion = { name: 'P', kind: 'amount', value: 1, price_dimensions: null } as const

function pricing(product_filters: Record<string, string[]>, ofList = {}): Pricing {
  const promotions = compilePromotions([{ ...promotion, product_filters }], columns)
  return { columns, promotions, list: { product_filters: ofList } } as unknown as Pricing
}

/** Adds a hundred; answers whether the first is still known. */
function keepsHundred(one: Pricing): boolean {
  const known = new KnownPricings()
  for (let key = 0; key < 100; key++) known.add(`${key}`, one)
  t.equal(known.find('99'), one)
  return known.find('0') !== undefined
}

t.test('pricings are kept as long as they take some 100 MB together', async (t) => {
  t.equal(keepsHundred(pricing({})), true)
  t.equal(keepsHundred(pricing({ code: codes })), false, 'a promotion weighs what its filters do')
  t.equal(keepsHundred(pricing({}, { code: codes })), false, 'and a list')
})
