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

/** Pricings of one process together hold at most this many promotions, some 100 MB. */
const promotionsMax = 100_000

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
    if (this.#size + size > promotionsMax) this.#clear()
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

/** A pricing without promotions weighs as much as a few dozen of them. */
function sizeOf({ promotions }: Pricing): number {
  return 50 + promotions.names.size
}
