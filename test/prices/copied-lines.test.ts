import t from 'tap'
import type { Columns } from '../../src/catalog/columns.ts'
import { linesWriter } from '../../src/prices/read/copied-lines.ts'
import { priceRowWriter } from '../../src/prices/read/price-rows.ts'
import { compilePromotions, promotedPrices } from '../../src/promotions/promoted-prices.ts'

const columns: Columns = { all: [], attributes: [], extensions: [], costs: [] }
const list = { id: 1, name: 'L', price_dimensions: ['price'] }
const row = { row: {}, code: null, extensions: [], attributes: [], dimension: 1 }
const extras = { costs: false, dynamicAttributes: false, attributes: false }

/** The rows of each part in which 30 lines are written where so many promotions cover them all. */
async function partsOf(promoted: number): Promise<{ code: string }[][]> {
  const given = Array.from({ length: promoted }, (_, index) => ({
    name: `P${index}`,
    kind: 'amount',
    value: 1,
    product_filters: null,
    price_dimensions: null,
  }))
  const promotions = await compilePromotions(given as never, columns, 6)
  const promotedPrice = promotedPrices(promotions)
  const write = priceRowWriter({ list: list as never, columns, include: new Set(), promotedPrice })
  const pricing = { promotions, columns, list }
  const read = { pricing, wanted: [row], extras, write, isBare: false }
  const lines = Array.from({ length: 30 }, (_, index) => `0\t1\t${index}\t10\tC${index}\n`)
  return [...linesWriter(read as never)(lines.join(''))].map(({ text, rows }) => {
    const part = JSON.parse(`[${text}]`)
    if (part.length !== rows) throw new Error(`${rows} rows are ${part.length}`)
    return part
  })
}

t.test('the more promotions there are, the fewer rows are written at once', async (t) => {
  const codes = Array.from({ length: 30 }, (_, index) => `C${index}`)
  for (const [promoted, parts] of [
    [10, 1],
    [2000, 4],
    [20_000, 30],
  ] as const) {
    const written = await partsOf(promoted)
    t.equal(written.length, parts, `${promoted} promotions`)
    t.strictSame(
      written.flat().map(({ code }) => code),
      codes,
    )
  }
})
