import { type RawBuilder, sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { isPublished } from './publication.ts'
import type { PriceList } from './queries.ts'
import { priceListOf } from './read-price-list.ts'

/** One page of price lists in the order of their ids. */
export const listPriceLists: Handler<'listPriceLists'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { offset: _, limit: __, search, include, ...filters } = query
    const lists = trx
      .selectFrom('price_lists')
      .where((list) => list.and({ account_id: account, ...filters }))
      .$if(search !== undefined, (lists) => lists.where(nameContains(search ?? '')))
    const page = lists.selectAll().orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPageOfLargeRows(trx, { all: lists, page })
    const rowCounts = include && (await countRows(trx, account, rows))
    return {
      count,
      results: rows.map((list) => ({
        ...priceListOf(list),
        ...(rowCounts && { row_count: rowCounts.get(list.id) ?? 0 }),
      })),
    }
  })

/**
 * Compares in upper case, where the Greek sigma has one form. ASCII is folded in "C", because Turkish maps I to another
 * i; other letters in the database's collation, because "C" does not fold them.
 */
function nameContains(text: string): RawBuilder<boolean> {
  const upper = (value: unknown) => sql`upper(lower(lower(${value} collate "C") collate "default"))`
  return sql`strpos(${upper(sql.ref('name'))}, ${upper(sql`${text}::text`)}) > 0`
}

/** The number of published rows by list; lists without rows are left out. */
async function countRows(
  trx: Trx,
  account: number,
  lists: PriceList[],
): Promise<Map<number, number>> {
  const { rows } = await sql<{ id: number; count: number }>`
    select l.id, count(*)
    from price_lists l
    join price_list_rows r on r.account_id = ${account} and r.price_list_id = l.id and ${isPublished}
    where l.account_id = ${account} and l.id = any(${lists.map(({ id }) => id)}::bigint[])
    group by l.id`.execute(trx)
  return new Map(rows.map(({ id, count }) => [id, count]))
}
