import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { Problem } from './problem.ts'

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

/** A page is held whole while it is written, and rows may have megabytes: agreements, filters, attributes. */
const bytesMax = 32_000_000

/**
 * One page of rows and how many rows all pages have, in one statement: both are of one moment. Throws `result-too-large`
 * for a page of more than one row that has too many bytes.
 */
export async function readPage<Row extends { id: number }>(
  trx: Trx,
  { all, page, order = 'asc' }: Pages<Row>,
): Promise<{ count: number; rows: Omit<Row, keyof Counted>[] }> {
  const { rows } = await sql<Row & Counted>`
    with page as materialized (${page}),
    size as (select count(*) as size, coalesce(sum(octet_length(to_json(page)::text)), 0) as bytes from page)
    select counted.count, size.size, size.bytes::bigint, page.*
    from (select count(*) from (${all}) as everything) as counted
    cross join size
    left join page on size.bytes <= ${bytesMax} or size.size = 1
    order by page.id ${sql.raw(order)}`.execute(trx)
  const { count = 0, size = 0, bytes = 0 } = rows[0] ?? {}
  if (bytes > bytesMax && size > 1) rejectTooLarge(size, bytes)
  // A page that is empty is one row without an id.
  const found = rows.filter(({ id }) => id !== null)
  return { count, rows: found.map(({ count: _, size: __, bytes: ___, ...row }) => row) }
}

interface Counted {
  count: number
  size: number
  bytes: number
}

function rejectTooLarge(size: number, bytes: number): never {
  const [has, may] = [bytes, bytesMax].map((value) => Math.ceil(value / 1_000_000))
  const fitting = Math.max(Math.floor((size * bytesMax) / bytes), 1)
  throw new Problem(
    'result-too-large',
    `A page has at most ${may} MB, these ${size} results have ${has}. Ask for fewer with \`limit\`, such as ${fitting}.`,
  )
}
