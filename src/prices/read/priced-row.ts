import type { AgreedPrice } from '../../agreements/agreed-prices.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import type { PromotedPrice, PromotedRow } from '../../promotions/promoted-prices.ts'
import type { ClientPrices } from './client-prices.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

export interface PricedRow extends PromotedPrice {
  row: WantedRow
  match: MatchingRow
  /** The price that promotions start from; null for an agreed price without a published one. */
  published: number | null
  /** The agreement whose price replaces the published one, null for none; undefined in a read without a client. */
  agreement: AgreedPrice | null | undefined
}

export interface RowPricing {
  list: PriceList
  promotedPrice: (row: PromotedRow, only?: string) => PromotedPrice
  client?: ClientPrices | undefined
}

/** Returns a function that prices rows. An agreed price replaces the published one. */
export function rowPricer({ list, promotedPrice, client }: RowPricing) {
  const [onlyDimension = ''] = list.price_dimensions
  return (row: WantedRow, match: MatchingRow): PricedRow => {
    const { price_dimension = onlyDimension, promotion } = row.row
    const { code, extensions, attributes = null, price } = match
    const agreement = client?.agreedPrice(row, match)
    const published = agreement && match.is_priced === false ? null : price
    const promotedRow = {
      code,
      extensions,
      attributes,
      dimension: price_dimension,
      price: published,
    }
    const { active_price, promotions } = promotedPrice(promotedRow, promotion)
    const active = agreement
      ? promotions.reduce((least, { value }) => Math.min(least, value), agreement.price)
      : active_price
    return { row, match, published, active_price: active, promotions, agreement }
  }
}
