import type { Handler, Schemas } from '../contract/operation.ts'
import { withoutAbsent } from '../contract/read-page.ts'
import { findPriceList, type PriceList } from './queries.ts'

/** One price list. */
export const readPriceList: Handler<'readPriceList'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => priceListOf(await findPriceList(trx, account, { id: params.id })))

/** A price list as the contract shows it. */
export function priceListOf({
  account_id: _account,
  oldest_revision: _revision,
  oldest_at: _at,
  row_count: _rows,
  version,
  published_at,
  product_filters,
  ...list
}: PriceList): Schemas['PriceList'] {
  return withoutAbsent({
    ...list,
    product_filters: product_filters as Schemas['PriceList']['product_filters'],
    is_published: version > 0,
    revision: version,
    published_at: published_at?.toISOString(),
  }) as Schemas['PriceList']
}
