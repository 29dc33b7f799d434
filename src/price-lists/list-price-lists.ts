import { type RawBuilder, sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import { utcTimestamp } from '../lib/formats.ts'
import { priceListOf } from './read-price-list.ts'

/** One page of price lists in the order of their ids. */
export const listPriceLists: Handler<'listPriceLists'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { offset: _, limit: __, search, include, changed_after, ...filters } = query
    const lists = trx
      .selectFrom('price_lists')
      .where((list) => list.and({ account_id: account, ...filters }))
      .$if(search !== undefined, (lists) => lists.where(nameContains(search ?? '')))
      .$if(changed_after !== undefined, (lists) =>
        lists.where(changedAfter(account, changed_after ?? '')),
      )
    const page = lists.selectAll().orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPageOfLargeRows(trx, { all: lists, page })
    return {
      count,
      results: rows.map((list) => ({
        ...priceListOf(list),
        ...(include && { row_count: list.row_count }),
      })),
    }
  })

/** SQL that is true for a list whose prices or rows have changed after a moment. */
function changedAfter(account: number, moment: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from list_revisions v where v.account_id = ${account} and v.price_list_id = price_lists.id
      and v.at > ${utcTimestamp(moment)}::timestamptz
  )`
}

/**
 * Compares in upper case, where the Greek sigma has one form. ASCII is folded in "C", because Turkish maps I to another
 * i; other letters in the database's collation, because "C" does not fold them.
 */
function nameContains(text: string): RawBuilder<boolean> {
  const upper = (value: unknown) => sql`upper(lower(lower(${value} collate "C") collate "default"))`
  return sql`strpos(${upper(sql.ref('name'))}, ${upper(sql`${text}::text`)}) > 0`
}
