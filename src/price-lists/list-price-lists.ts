import { type RawBuilder, sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import { orderKeys, readOrderedPage, rowsOfTable } from '../contract/list-order.ts'
import { type OperationRequest, transaction } from '../contract/operation.ts'
import { onPage } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { utcTimestamp } from '../lib/formats.ts'
import type { PriceList } from './queries.ts'
import { priceListOf } from './read-price-list.ts'

/** One page of price lists, by id. */
export const listPriceLists = transaction<'listPriceLists'>(async (trx, { account, query }) => {
  const { include } = query
  const rows = sql`(${wantedLists(trx, account, query).select('id')})`
  const ordered = rowsOfTable('price_lists', account, { rows, keys: orderKeys(undefined, {}) })
  const page = sql<PriceList>`select * from price_lists where account_id = ${account} and id = ${onPage}`
  const { count, rows: found } = await readOrderedPage(trx, ordered, query, page)
  return {
    count,
    results: found.map((list) => ({
      ...priceListOf(list),
      ...(include && { row_count: list.row_count }),
    })),
  }
})

type Query = OperationRequest<'listPriceLists'>['query']

function wantedLists(trx: Trx, account: number, query: Query) {
  const { name, search, name_contains, changed_after } = query
  const texts = [search, name_contains].filter((text) => text !== undefined)
  return trx
    .selectFrom('price_lists')
    .where((list) =>
      list.and([
        list('account_id', '=', account),
        ...(name === undefined ? [] : [list('name', '=', name)]),
        ...texts.map((text) => containsText([sql.ref('name')], text)),
        ...(changed_after === undefined ? [] : [changedAfter(account, changed_after)]),
      ]),
    )
}

/** SQL that is true for a list whose prices or rows changed after a moment. */
function changedAfter(account: number, moment: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from list_revisions v where v.account_id = ${account} and v.price_list_id = price_lists.id
      and v.at > ${utcTimestamp(moment)}::timestamptz
  )`
}
