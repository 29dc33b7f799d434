import type { Columns } from '../catalog/columns.ts'
import { type MatchedRow, textReader } from '../catalog/matching.ts'
import { compileFilters } from '../catalog/product-filters.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { compileReprice, type Reprice } from './promotion-price.ts'
import type { Promotion } from './queries.ts'

/** The values of a row that decide which promotions cover it; its attributes only if `usesAttributes`. */
interface CoveredRow extends MatchedRow {
  dimension: string
}

export interface PromotedRow extends CoveredRow {
  /** The published price. Null has none to take a percentage or an amount from: only fixed prices apply. */
  price: number | null
}

/** The active price, and the promotions that cover the row, sorted by name, with their prices. */
export interface PromotedPrice {
  active_price: number
  promotions: { name: string; value: number }[]
}

interface Condition {
  field: string
  read: (row: CoveredRow) => string | null | undefined
  texts: readonly string[]
}

interface Compiled {
  name: string
  isFixed: boolean
  reprice: Reprice
}

/** A field of conditions, with the places of its promotions by each text that meets their condition. */
interface Field {
  read: Condition['read']
  byText: Map<string, number[]>
}

/** The limit of the memo, counting prices and promotions: 50,000 rows with 100 promotions each would take 680 MB. */
const memoMax = 200_000

/** Which of some promotions cover a row. */
interface Coverage {
  /** The number of texts in their filters. */
  texts: number
  /** Whether a condition needs the attributes of rows. */
  usesAttributes: boolean
  reads: Condition['read'][]
  /** The places of the promotions that cover a row, in order. */
  covering: (row: CoveredRow) => number[]
}

/** Compiled promotions, sorted by name and shared by many reads. */
export interface PromotionRules extends Coverage {
  names: ReadonlySet<string>
  compiled: Compiled[]
}

/** Compiles promotions for the account's columns and the list's decimals. */
export async function compilePromotions(
  promotions: Promotion[],
  columns: Columns,
  decimals: number,
): Promise<PromotionRules> {
  const compiled = promotions.map(({ name, ...promotion }) => {
    const isFixed = promotion.kind === 'fixed_price'
    return { name, isFixed, reprice: compileReprice(promotion, decimals) }
  })
  const names = new Set(compiled.map(({ name }) => name))
  return { names, compiled, ...(await compileCoverage(promotions, columns)) }
}

type Covering = Pick<Promotion, 'product_filters' | 'price_dimensions'>

/** Compiles what promotions cover. Yields to other requests: five million texts take three seconds. */
export async function compileCoverage(
  promotions: readonly Covering[],
  columns: Columns,
): Promise<Coverage> {
  const conditions = await mapCooperatively(promotions, (one) => conditionsOf(one, columns))
  const fields = await indexConditions(conditions)
  return {
    texts: conditions.flat().reduce(countTexts, 0),
    usesAttributes: [...fields.keys()].some((field) => field.startsWith('attribute')),
    reads: [...fields.values()].map(({ read }) => read),
    covering: coverage(conditions, [...fields.values()]),
  }
}

/** Returns a function that prices the rows of one read. With `only`, just the promotion of that name counts. */
export function promotedPrices({ names, compiled, reads, covering }: PromotionRules) {
  const memo = new Map<string, { found: Compiled[]; byPrice: Map<number | null, PromotedPrice> }>()
  let kept = 0
  const keep = (size: number) => {
    if (kept + size > memoMax) {
      memo.clear()
      kept = 0
    }
    kept += size
  }
  const findCovering = (row: PromotedRow, only?: string) => {
    const key = JSON.stringify([only ?? null, ...reads.map((read) => read(row) ?? null)])
    const known = memo.get(key)
    if (known) return known
    const all = covering(row).map((place) => compiled[place] as Compiled)
    const found = only === undefined ? all : all.filter(({ name }) => name === only)
    keep(1 + found.length)
    const added = { found, byPrice: new Map() }
    memo.set(key, added)
    return added
  }
  return (row: PromotedRow, only?: string): PromotedPrice => {
    if (names.size === 0) return { active_price: row.price ?? 0, promotions: [] }
    const { found, byPrice } = findCovering(row, only)
    const known = byPrice.get(row.price)
    if (known) return known
    const promoted = evaluate(row.price, found)
    keep(1 + promoted.promotions.length)
    byPrice.set(row.price, promoted)
    return promoted
  }
}

function evaluate(published: number | null, covering: Compiled[]): PromotedPrice {
  const price = published ?? 0
  const promotions = covering
    .filter(({ isFixed }) => isFixed || published !== null)
    .map(({ name, reprice }) => ({ name, value: reprice(price) }))
  const lowest = promotions.reduce((least, { value }) => Math.min(least, value), price)
  return { active_price: lowest, promotions }
}

function conditionsOf(
  { product_filters, price_dimensions }: Covering,
  columns: Columns,
): Condition[] {
  const filters = compileFilters(product_filters ?? {}, columns)
  const conditions = filters.map((filter): Condition => {
    const { kind, ordinal, texts } = filter
    return { field: `${kind} ${ordinal}`, read: textReader(filter), texts }
  })
  if (price_dimensions)
    conditions.push({
      field: 'dimension',
      read: ({ dimension }) => dimension,
      texts: [...new Set(price_dimensions)],
    })
  return conditions
}

/** Indexes the promotions by field and by each text that meets their condition. */
async function indexConditions(all: Condition[][]): Promise<Map<string, Field>> {
  const fields = new Map<string, Field>()
  await mapCooperatively(all, (conditions, place) => {
    for (const { field, read, texts } of conditions) {
      const { byText } = fields.get(field) ?? { byText: new Map<string, number[]>() }
      fields.set(field, { read, byText })
      addPlace(byText, texts, place)
    }
  })
  return fields
}

function addPlace(byText: Field['byText'], texts: readonly string[], place: number): void {
  for (const text of texts) {
    const places = byText.get(text)
    if (places) places.push(place)
    else byText.set(text, [place])
  }
}

function countTexts(sum: number, { texts }: Condition): number {
  return sum + texts.length
}

/** Returns a function that finds the promotions whose conditions a row meets in full. */
function coverage(all: Condition[][], fields: Field[]): Coverage['covering'] {
  const needed = Uint8Array.from(all, ({ length }) => length)
  return (row) => {
    const left = needed.slice()
    for (const { read, byText } of fields) {
      // Canonical texts are never empty, so an absent value finds nothing.
      for (const place of byText.get(read(row) ?? '') ?? []) left[place] = (left[place] ?? 0) - 1
    }
    const places: number[] = []
    for (let place = 0; place < left.length; place++) if (left[place] === 0) places.push(place)
    return places
  }
}
