import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import {
  filtersOf,
  type PageQuery,
  pageOf,
  readPageOfLargeRows,
  withoutAbsent,
} from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { utcTimestamp } from '../lib/formats.ts'
import { isValidOn, promotionsAsOf } from './queries.ts'

/** One page of promotions in the order of their ids. */
export const listPromotions: Handler<'listPromotions'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const promotions = filtered(trx, account, query)
    const page = promotions.select(fields).orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPageOfLargeRows(trx, { all: promotions, page })
    return { count, results: rows.map(withoutAbsent) as Schemas['Promotion'][] }
  })

/** All promotions that the filters leave, in the order of their ids. */
export const exportPromotions: Export<'listPromotions'> = async (trx, { account, query }) => ({
  columns: fields,
  query: filtered(trx, account, query).select(fields).orderBy('id'),
  rowsOf: (promotion: object) => [withoutAbsent(promotion)],
})

const fields = [
  'id',
  'name',
  'kind',
  'value',
  'valid_from',
  'valid_to',
  'price_lists',
  'product_filters',
  'price_dimensions',
] as const

interface Filters extends PageQuery {
  name?: string
  valid_on?: string
  as_of?: string
}

function filtered(trx: Trx, account: number, query: Filters) {
  const { valid_on, as_of, ...filters } = filtersOf(query)
  const moment = as_of === undefined ? undefined : utcTimestamp(as_of)
  return trx
    .selectFrom(promotionsAsOf(account, moment))
    .where((promotion) => promotion.and({ account_id: account, ...filters }))
    .$if(valid_on !== undefined, (all) => all.where(isValidOn(valid_on ?? '')))
}
