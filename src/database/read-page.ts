import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Trx } from './pool.ts'

/** What a page is read from. */
interface Pages<Row> {
  /** The rows of all pages; they are counted. */
  all: Expression<unknown>
  /** Those of one page. */
  page: Expression<Row>
  /** By id; ascending when left out. */
  order?: 'asc' | 'desc'
}

/**
 * SQL of the ids of a page, as in `id = ${anyOf(ids)}`: what the page selects would else be computed for each row that
 * the offset passes over. An array: with `in`, 30,000 rows that were just written were compared each with all, for 30 s.
 */
export function anyOf(ids: Expression<unknown>): RawBuilder<number> {
  return sql`any(array(${ids}))`
}

/** One page of rows and how many rows all pages have, in one statement: both are of one moment. */
export async function readPage<Row extends { id: number }>(
  trx: Trx,
  { all, page, order = 'asc' }: Pages<Row>,
): Promise<{ count: number; rows: Omit<Row, 'count'>[] }> {
  const { rows } = await sql<Row & { count: number }>`
    select counted.count, page.*
    from (select count(*) from (${all}) as everything) as counted
    left join (${page}) as page on true
    order by page.id ${sql.raw(order)}`.execute(trx)
  // A page that is empty is one row without an id.
  const found = rows.filter(({ id }) => id !== null)
  return { count: rows[0]?.count ?? 0, rows: found.map(({ count: _, ...row }) => row) }
}
