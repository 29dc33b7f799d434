import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { type PageQuery, readPageOfLargeRows } from './read-page.ts'
import { invalidRequest } from './row-errors.ts'

/** A sort key: a value of each row of `listed`. Nulls come last, ascending and descending. */
export interface OrderKey {
  value: RawBuilder<unknown>
  isNullable?: boolean
  isDescending?: boolean
  /** No index has the key, so all rows are read: most are dropped before they are sorted. */
  isScanned?: boolean
}

export interface OrderedRows {
  /** A FROM item of the listed rows, with `id` and the columns that the keys name. */
  rows: RawBuilder<unknown>
  /** The same for the row with an id, listed or not. */
  rowOf: (id: number) => RawBuilder<unknown>
  /** The last key is unique. */
  keys: OrderKey[]
  /** The number of all rows, if it is known without counting them. */
  count?: RawBuilder<number>
}

/** Makes the OrderedRows of a table whose rows have an account and an id. */
export function rowsOfTable(
  table: string,
  account: number,
  { rows, keys }: Pick<OrderedRows, 'rows' | 'keys'>,
): OrderedRows {
  const rowOf = (id: number) =>
    sql`(select * from ${sql.table(table)} where account_id = ${account} and id = ${id})`
  return { rows, rowOf, keys }
}

const idKey: OrderKey = { value: sql.ref('listed.id') }

/**
 * Returns the keys of `order`; `-price` is `price`, descending. Ties are broken by `ties`, then by id. Without an
 * order, rows are sorted by id.
 */
export function orderKeys(
  order: string | undefined,
  keys: Readonly<Record<string, OrderKey>>,
  ties: readonly OrderKey[] = [],
): OrderKey[] {
  if (order === undefined) return [idKey]
  const isDescending = order.startsWith('-')
  const key = keys[isDescending ? order.slice(1) : order]
  if (!key) throw new Error(`no such order: ${order}`)
  return [{ ...key, isDescending }, ...ties.filter((tie) => tie !== key), idKey]
}

/** Sort keys that are columns of a table. */
export function columnKeys(
  columns: readonly string[],
  nullable: readonly string[] = [],
): Record<string, OrderKey> {
  return Object.fromEntries([
    ...columns.map((name) => [name, { value: sql.ref(`listed.${name}`) }]),
    ...nullable.map((name) => [name, { value: sql.ref(`listed.${name}`), isNullable: true }]),
  ])
}

/** SQL of ORDER BY. A key that is never null omits NULLS LAST, which no index serves in descending order. */
export function orderBy(keys: readonly OrderKey[]): RawBuilder<unknown> {
  const written = keys.map(({ value, isDescending, isNullable }) => {
    if (!isDescending) return value
    return isNullable ? sql`${value} desc nulls last` : sql`${value} desc`
  })
  return sql.join(written)
}

/** All rows up to the offset are sorted. Beyond this many, that costs more than the first page. */
const orderedOffsetMax = 10_000

/** A page of ordered rows, which may be searched. */
interface OrderedQuery extends PageQuery {
  filters?: string
  contains?: string
}

/**
 * Counts ordered rows and reads a page of them; `page` selects its rows by `id = ${onPage}`. Throws `invalid-request`
 * for an offset that is too deep and for an `after` row that does not exist.
 */
export async function readOrderedPage<Row extends { id: number }>(
  trx: Trx,
  ordered: OrderedRows,
  query: OrderedQuery,
  page: Expression<Row>,
) {
  const { count } = ordered
  const chosen = await chooseIds(trx, ordered, query)
  return readPageOfLargeRows(trx, { ...chosen, page, ...(count && { count }) })
}

/**
 * Returns SQL that counts all rows (`all`) and finds the ids of a page. A search reads every row, so it runs once for
 * both (`found`).
 */
async function chooseIds(
  trx: Trx,
  ordered: OrderedRows,
  { filters, contains, ...query }: OrderedQuery,
): Promise<{ all: RawBuilder<unknown>; ids: RawBuilder<number>; found?: RawBuilder<unknown> }> {
  const { rows } = ordered
  if (filters === undefined && contains === undefined)
    return { all: sql`select from ${rows} as listed`, ids: await idsOfPage(trx, ordered, query) }
  const ids = await idsOfPage(trx, { ...ordered, rows: sql`found` }, query)
  return { found: rows, all: sql`select from found`, ids }
}

async function idsOfPage(
  trx: Trx,
  { rows, rowOf, keys }: OrderedRows,
  { offset = 0, limit = 25, after, order }: PageQuery,
): Promise<RawBuilder<number>> {
  if (order !== undefined && offset > orderedOffsetMax) {
    const message = `must be <= ${orderedOffsetMax} with order; go on with after`
    throw invalidRequest([{ pointer: '/query/offset', code: 'range', message }])
  }
  if (after !== undefined) await rejectAbsent(trx, rowOf(after))
  const isBehind =
    after === undefined
      ? sql`true`
      : comesAfter(keys, (value) => sql`(select ${value} from ${rowOf(after)} as listed)`)
  const isNear = isWithinSample(keys, sql`(select * from ${rows} as listed limit ${sampleRows})`, {
    isBehind,
    last: sql`offset ${offset + limit - 1}::bigint`,
  })
  return sql<number>`
    select listed.id from ${rows} as listed where ${isBehind} and ${isNear}
    order by ${orderBy(keys)} offset ${offset} limit ${limit}`
}

/** The last row of the sample's page bounds the page of all rows: few rows of a million are left to sort. */
const sampleRows = sql.lit(20_000)

/** SQL that is true for rows that may be on the page, as far as a sample of the rows can tell. */
function isWithinSample(
  [key]: readonly OrderKey[],
  sample: RawBuilder<unknown>,
  { isBehind, last }: { isBehind: RawBuilder<unknown>; last: RawBuilder<unknown> },
): RawBuilder<unknown> {
  if (!key?.isScanned) return sql`true`
  const { value, isDescending } = key
  const bound = sql`(
    select ${value} from ${sample} as listed where ${isBehind} order by ${orderBy([key])} ${last} fetch first row only
  )`
  // Without a bound all rows may be on the page.
  return sql`(${value} ${isDescending ? sql`>=` : sql`<=`} ${bound}) is not false`
}

async function rejectAbsent(trx: Trx, row: RawBuilder<unknown>): Promise<void> {
  const { rows } = await sql`select id from ${row} as place`.execute(trx)
  if (rows.length > 0) return
  const message =
    'is not the id of a row that is there: begin again without `after`, or page with `offset`'
  throw invalidRequest([{ pointer: '/query/after', code: 'not_allowed', message }])
}

/** SQL that is true for rows after the one whose values `of` returns. */
function comesAfter(
  [key, ...others]: readonly OrderKey[],
  of: (value: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<boolean> {
  if (!key) return sql<boolean>`false`
  const { value, isNullable, isDescending } = key
  const at = of(value)
  const sign = isDescending ? sql`<` : sql`>`
  const rest = comesAfter(others, of)
  if (!isNullable)
    // An index can serve the first condition.
    return sql<boolean>`(${value} ${sign}= ${at} and (${value} ${sign} ${at} or ${rest}))`
  const isEqual = sql`${value} is not distinct from ${at}`
  return sql<boolean>`(${value} ${sign} ${at} or ${value} is null and ${at} is not null or ${isEqual} and ${rest})`
}
