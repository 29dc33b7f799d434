import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf } from '../contract/page.ts'
import { priceListOf } from './read-price-list.ts'

/** One page of price lists in the order of their ids. */
export const listPriceLists: Handler<'listPriceLists'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const lists = trx
      .selectFrom('price_lists')
      .where('account_id', '=', account)
      .$if(query?.name !== undefined, (lists) => lists.where('name', '=', query?.name ?? ''))
    const { count } = await lists
      .select(sql<number>`count(*)`.as('count'))
      .executeTakeFirstOrThrow()
    const page = await lists.selectAll().orderBy('id').offset(offset).limit(limit).execute()
    return { count, results: page.map(priceListOf) }
  })
