import type { AgreedPrice } from '../../agreements/agreed-prices.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import type { PromotedPrice, PromotedRow } from '../../promotions/promoted-prices.ts'
import type { ClientPrices } from './client-prices.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A row with its price. */
export interface PricedRow extends PromotedPrice {
  row: WantedRow
  match: MatchingRow
  /** The agreement whose price stands in for the published one; undefined in a read for no client. */
  agreement: AgreedPrice | null | undefined
}

/** What rows are priced with. */
export interface RowPricing {
  list: PriceList
  priceOf: (row: PromotedRow, only?: string) => PromotedPrice
  client?: ClientPrices | undefined
}

/** Returns the function that prices rows. An agreed price takes the place of the published one. */
export function rowPricer({ list, priceOf, client }: RowPricing) {
  const [onlyDimension = ''] = list.price_dimensions
  return (row: WantedRow, match: MatchingRow): PricedRow => {
    const { price_dimension = onlyDimension, promotion } = row.row
    const { code, extensions, attributes = null, price } = match
    const promotedRow = { code, extensions, attributes, dimension: price_dimension, price }
    const { active_price, promotions } = priceOf(promotedRow, promotion)
    const agreement = client?.priceOf(row, match)
    const active = agreement
      ? promotions.reduce((least, { value }) => Math.min(least, value), agreement.price)
      : active_price
    return { row, match, active_price: active, promotions, agreement }
  }
}
