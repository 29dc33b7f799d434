import type { Columns } from '../catalog/columns.ts'
import { compileFilters, type FilterCondition } from '../catalog/product-filters.ts'
import { compileReprice, type Reprice } from './promotion-price.ts'
import type { Promotion } from './queries.ts'

/** What promotions look at in a row of a price list: canonical texts by ordinal. */
export interface PromotedRow {
  code: string
  extensions: readonly string[]
  /** Only where `usesAttributes`; null for a code without any. */
  attributes?: readonly (string | null)[] | null
  dimension: string
  /** The published price. */
  price: number
}

/** The price in force and the promotions that cover the row, by name, each with its price. */
export interface PromotedPrice {
  active_price: number
  promotions: { name: string; value: number }[]
}

interface Condition {
  field: string
  read: (row: PromotedRow) => string | null | undefined
  texts: ReadonlySet<string>
}

interface Compiled {
  name: string
  reprice: Reprice
  conditions: Condition[]
}

/** Prices kept for rows that look alike; a read of a million different rows stays in bounds. */
const memoMax = 50_000

/**
 * Evaluates promotions, given by name, on rows: which cover a row, and the price with each. With `only` a row is looked
 * at under the promotion of that name alone.
 */
export function promotedPrices(promotions: Promotion[], columns: Columns) {
  const compiled = promotions.map((promotion) => compilePromotion(promotion, columns))
  const conditions = compiled.flatMap((promotion) => promotion.conditions)
  const covering = indexPromotions(compiled)
  const fields = [...new Map(conditions.map(({ field, read }) => [field, read])).values()]
  const memo = new Map<string, PromotedPrice>()
  const priceOf = (row: PromotedRow, only?: string): PromotedPrice => {
    if (compiled.length === 0) return { active_price: row.price, promotions: [] }
    const key = JSON.stringify([
      row.price,
      only ?? null,
      ...fields.map((read) => read(row) ?? null),
    ])
    const known = memo.get(key)
    if (known) return known
    if (memo.size === memoMax) memo.clear()
    const all = covering(row)
    const promoted = evaluate(
      row.price,
      only === undefined ? all : all.filter(({ name }) => name === only),
    )
    memo.set(key, promoted)
    return promoted
  }
  return { priceOf, usesAttributes: conditions.some(({ field }) => field.startsWith('attribute')) }
}

function evaluate(price: number, covering: Compiled[]): PromotedPrice {
  const promotions = covering.map(({ name, reprice }) => ({ name, value: reprice(price) }))
  const lowest = promotions.reduce((least, { value }) => Math.min(least, value), price)
  return { active_price: lowest, promotions }
}

function compilePromotion(promotion: Promotion, columns: Columns): Compiled {
  const filters = compileFilters(promotion.product_filters ?? {}, columns).map(condition)
  const dimensions = promotion.price_dimensions
  if (dimensions)
    filters.push({
      field: 'dimension',
      read: ({ dimension }) => dimension,
      texts: new Set(dimensions),
    })
  return { name: promotion.name, reprice: compileReprice(promotion), conditions: filters }
}

function condition({ kind, ordinal, texts }: FilterCondition): Condition {
  const readers: Record<typeof kind, Condition['read']> = {
    code: ({ code }) => code,
    attribute: ({ attributes }) => attributes?.[ordinal - 1],
    extension: ({ extensions }) => extensions[ordinal - 1],
  }
  return { field: `${kind} ${ordinal}`, read: readers[kind], texts: new Set(texts) }
}

/**
 * Finds the promotions that cover a row, in their order. Each is looked up by its condition with the fewest values, so
 * that a row meets only promotions that are about it.
 */
function indexPromotions(compiled: Compiled[]): (row: PromotedRow) => Compiled[] {
  const everywhere: number[] = []
  const byField = new Map<string, { read: Condition['read']; byText: Map<string, number[]> }>()
  for (const [place, { conditions }] of compiled.entries()) {
    const [narrowest] = conditions.toSorted((a, b) => a.texts.size - b.texts.size)
    if (!narrowest) everywhere.push(place)
    else {
      const { field, read, texts } = narrowest
      const index = byField.get(field) ?? { read, byText: new Map() }
      byField.set(field, index)
      for (const text of texts) {
        const places = index.byText.get(text)
        if (places) places.push(place)
        else index.byText.set(text, [place])
      }
    }
  }
  return (row) => {
    const narrowed = [...byField.values()].flatMap(
      ({ read, byText }) => byText.get(read(row) ?? '') ?? [],
    )
    return [...everywhere, ...narrowed]
      .sort((a, b) => a - b)
      .map((place) => compiled[place] as Compiled)
      .filter(({ conditions }) => conditions.every(({ read, texts }) => texts.has(read(row) ?? '')))
  }
}
