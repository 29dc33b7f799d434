import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { Problem } from './problem.ts'
import { withinReadTime } from './read-cost.ts'

interface Pages<Row> {
  /** The rows of all pages, which are counted. */
  all: Expression<unknown>
  /** The same rows with the columns of a page; without it, `all` has them, and is computed once. */
  rows?: Expression<Row>
  query: PageQuery
  /** The order of the ids. */
  order?: 'asc' | 'desc'
}

/** A page of rows that are looked up by their ids. */
interface PageOfIds<Row> {
  /** A FROM item that is read once; `all` and `ids` call it `found`. */
  found?: RawBuilder<unknown>
  /** The rows of all pages, which are counted. */
  all: Expression<unknown>
  /** The number of all rows, if it is known without counting them. */
  count?: RawBuilder<number>
  /** The ids of the page, in its order. */
  ids: Expression<unknown>
  /** The rows with these ids: `id = ${onPage}`. */
  page: Expression<Row>
}

/**
 * SQL of the ids of the page, used as `id = ${onPage}`: without it Postgres computes the selected columns of every row
 * that the offset skips. An array, because `in` compared each of 30,000 new rows with all of them, for 30 s.
 */
export const onPage: RawBuilder<number> = sql`any((select ids from chosen)::bigint[])`

const narrower =
  'Narrow it by a filter, or take all rows as a file, where there is one (`Accept: text/csv`).'

/**
 * Reads a page and counts all rows in one statement, so both are of one moment. Sorts by id, ascending by default.
 * Throws `too-costly`.
 */
export async function readPage<Row extends { id: number }>(
  trx: Trx,
  { all, rows, query: { offset = 0, limit = 25 }, order = 'asc' }: Pages<Row>,
): Promise<{ count: number; rows: Omit<Row, 'count'>[] }> {
  const direction = sql.raw(order)
  const [counted, listed] = rows ? [sql`(${all})`, sql`(${rows})`] : [sql`once`, sql`once`]
  const page = sql`select * from ${listed} as listed order by id ${direction} offset ${offset} limit ${limit}`
  const statement = sql<Row & { count: number }>`
    ${rows ? sql`` : sql`with once as materialized (${all})`}
    select counted.count, page.*
    from (select count(*) from ${counted} as everything) as counted
    left join (${page}) as page on true
    order by page.id ${direction}`
  const { rows: read } = await withinReadTime(narrower, () => statement.execute(trx))
  // An empty page is one row without an id.
  const found = read.filter(({ id }) => id !== null)
  return { count: read[0]?.count ?? 0, rows: found.map(({ count: _, ...row }) => row) }
}

/** A page is held in memory as a whole. */
const bytesMax = 32_000_000
/**
 * Postgres compresses a text to a ninetieth at best, so a page of fewer stored bytes is never too large. It is not
 * measured, which would take a third of its time; nor is a single row, which is always returned.
 */
const storedMax = 300_000

/**
 * Like `readPage`, in the order of the ids, for rows of megabytes each. Throws `result-too-large` if several rows are
 * too large together.
 */
export async function readPageOfLargeRows<Row extends { id: number }>(
  trx: Trx,
  { found, all, count: known, ids, page }: PageOfIds<Row>,
): Promise<{ count: number; rows: Omit<Row, keyof Measured>[] }> {
  const counted = known ?? sql`(select count(*) from (${all}) as everything)`
  const statement = sql<Row & Measured>`
    with ${found ? sql`found as materialized (select * from ${found} as listed),` : sql``}
    chosen as materialized (select array(${ids}) as ids),
    page as materialized (${page}),
    stored as (select count(*) as size, sum(pg_column_size(page)) as bytes from page),
    measured as (
      select size, case when size > 1 and bytes > ${storedMax}
        then (select sum(octet_length(to_json(page)::text)) from page)::bigint else 0 end as bytes
      from stored)
    select ${counted} as count, measured.*, page.*
    from measured left join page on bytes <= ${bytesMax}
    order by array_position((select ids from chosen), page.id)`
  const { rows } = await withinReadTime(narrower, () => statement.execute(trx))
  const { count = 0, size = 0, bytes = 0 } = rows[0] ?? {}
  if (bytes > bytesMax) rejectTooLarge(size, bytes)
  const present = rows.filter(({ id }) => id !== null)
  return { count, rows: present.map(({ count: _, size: __, bytes: ___, ...row }) => row) }
}

export interface Measured {
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

/** Query parameters of list operations. */
export interface PageQuery {
  offset?: number
  limit?: number
  bom?: string
  /** The id of the row that the page comes after. */
  after?: number
  order?: string
}

/** Returns the filters of a query, without the parameters of a page. */
export function filtersOf<Query extends PageQuery>(query: Query): Omit<Query, keyof PageQuery> {
  const { offset: _, limit: __, bom: ___, after: ____, order: _____, ...filters } = query
  return filters
}

/** Returns the object without the keys whose value is null or undefined. */
export function withoutAbsent<T extends object>(row: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined),
  ) as {
    [K in keyof T]: Exclude<T[K], null>
  }
}
