import { sql } from 'kysely'
import type { Handler, Schemas } from '../contract/operation.ts'
import { pageOf, withoutAbsent } from '../contract/page.ts'
import { isValidOn } from './queries.ts'

/** One page of promotions in the order of their ids. */
export const listPromotions: Handler<'listPromotions'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { name, valid_on } = query ?? {}
    const promotions = trx
      .selectFrom('promotions')
      .where('account_id', '=', account)
      .$if(name !== undefined, (all) => all.where('name', '=', name ?? ''))
      .$if(valid_on !== undefined, (all) => all.where(isValidOn(valid_on ?? '')))
    const { count } = await promotions
      .select(sql<number>`count(*)`.as('count'))
      .executeTakeFirstOrThrow()
    const page = await promotions
      .select(['id', 'name', 'kind', 'value', 'valid_from', 'valid_to'])
      .select(['price_lists', 'product_filters', 'price_dimensions'])
      .orderBy('id')
      .offset(offset)
      .limit(limit)
      .execute()
    return { count, results: page.map(withoutAbsent) as Schemas['Promotion'][] }
  })
