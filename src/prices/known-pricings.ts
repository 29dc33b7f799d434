import type { Columns } from '../catalog/columns.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { PromotionRules } from '../promotions/promoted-prices.ts'

/** What a read works with beside the rows: a published list, the account's columns, the promotions of a day. */
export interface Pricing {
  /** Of the account when this was read; columns and promotions are as they were as long as it is the same. */
  settingsVersion: number
  list: PriceList
  columns: Columns
  promotions: PromotionRules
}

/** What the pricings of one process take of its memory, about. */
const bytesMax = 100 * 1024 * 1024

/** Measured: a promotion with a filter of 20,000 codes takes 3 MB, one with none 0.6 kB. */
const bytesOf = { pricing: 20_000, promotion: 600, text: 150 }

/** Pricings that were read a moment ago: reading and compiling them again would take longer than reading a price. */
export class KnownPricings {
  readonly #byKey = new Map<string, Pricing>()
  #size = 0

  find(key: string): Pricing | undefined {
    return this.#byKey.get(key)
  }

  add(key: string, pricing: Pricing): void {
    this.forget(key)
    const size = sizeOf(pricing)
    if (this.#size + size > bytesMax) this.#clear()
    this.#byKey.set(key, pricing)
    this.#size += size
  }

  forget(key: string): void {
    const known = this.#byKey.get(key)
    if (!known) return
    this.#byKey.delete(key)
    this.#size -= sizeOf(known)
  }

  #clear(): void {
    this.#byKey.clear()
    this.#size = 0
  }
}

function sizeOf({ list, columns, promotions }: Pricing): number {
  const allowed = columns.all.map(({ allowed_values }) => allowed_values?.list.length ?? 0)
  const filtered = Object.values(list.product_filters ?? {}).map((values) => values.length)
  const texts = [...allowed, ...filtered].reduce((sum, count) => sum + count, promotions.texts)
  return bytesOf.pricing + bytesOf.promotion * promotions.names.size + bytesOf.text * texts
}
