import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { analyzeLoaded } from '../database/statistics.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import { isPublished } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'

/** One price of one row: of a dimension (from 1) and, in a calendar list, of a day. */
export interface Cell {
  code: string
  extensions: string[]
  price: number
  dimension: number
  date: string | undefined
}

/** A cell whose row is known. */
export type FoundCell = Cell & { rowId: number }

export const daysInChunk = 31

/** Ids of the published rows that the keys name, in their order; null for a row that is not in the published list. */
export async function findPublishedRows(
  trx: Trx,
  list: PriceList,
  keys: { code: string; extensions: string[] }[],
): Promise<(number | null)[]> {
  const { rows } = await sql<{ ids: (number | null)[] | null }>`
    select array_agg(r.id order by position) as ids
    from unnest(
      ${keys.map(({ code }) => code)}::text[],
      ${keys.map(({ extensions }) => extensionKey(extensions))}::text[]
    ) with ordinality as input (code, extension_key, position)
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    left join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = input.code
      and r.extension_key = input.extension_key and ${isPublished}`.execute(trx)
  return rows[0]?.ids ?? []
}

/** Sets prices of rows; the dimensions of a row that no cell names keep theirs. */
export async function setPrices(trx: Trx, list: PriceList, cells: FoundCell[]): Promise<void> {
  const byRow = groupPrices(
    cells,
    list.price_dimensions.length,
    ({ rowId }) => rowId,
    ({ dimension }) => dimension,
  )
  const input = sql`(
    select id, prices::numeric[] as prices
    from unnest(${[...byRow.keys()]}::bigint[], ${[...byRow.values()].map(arrayLiteral)}::text[]) as input (id, prices)
  ) as input`
  await mergePrices(trx, list, input)
}

/** Sets the prices of `input` (id, prices by dimension, null where a price stays). Answers how many rows changed. */
export async function mergePrices(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<number> {
  const merged = list.price_dimensions.map(
    (_, index) =>
      sql`coalesce(input.prices[${index + 1}::integer], r.prices[${index + 1}::integer])`,
  )
  const { numAffectedRows } = await sql`
    update price_list_rows r set prices = array[${sql.join(merged)}]
    from ${input}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id`.execute(
    trx,
  )
  return Number(numAffectedRows)
}

/** Sets prices of days: one chunk a row, dimension and month, made at its first price; absent prices are 0. */
export async function setCalendarPrices(
  trx: Trx,
  list: PriceList,
  cells: FoundCell[],
): Promise<void> {
  const placed = cells.map((cell) => ({ ...cell, ...monthPlace(cell.date ?? '') }))
  const chunkKey = ({ rowId, dimension, month }: (typeof placed)[number]) =>
    `${rowId} ${dimension} ${month}`
  const byChunk = groupPrices(placed, daysInChunk, chunkKey, ({ place }) => place)
  const chunks = [...new Map(placed.map((cell) => [chunkKey(cell), cell])).values()]
  await mergeMonths(
    trx,
    list,
    sql`unnest(
      ${chunks.map(({ rowId }) => rowId)}::bigint[],
      ${chunks.map(({ dimension }) => dimension)}::integer[],
      ${chunks.map(({ month }) => month)}::date[],
      ${[...byChunk.values()].map(arrayLiteral)}::text[]
    ) as input (row_id, dimension, month, prices)`,
  )
}

/** Sets the prices of `input` (row_id, dimension, month, prices by day, null where a price stays). */
export async function mergeMonths(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<void> {
  const { numAffectedRows } = await sql`
    insert into calendar_months as present (account_id, price_list_id, row_id, dimension, month, prices)
    select ${list.account_id}, ${list.id}, row_id, dimension, month, prices::numeric[]
    from ${input}
    order by row_id, dimension, month
    on conflict (account_id, price_list_id, row_id, dimension, month) do update set prices = (
      select array_agg(coalesce(given, kept) order by day)
      from unnest(excluded.prices, present.prices) with ordinality as merged (given, kept, day)
    )`.execute(trx)
  const load = { column: 'price_list_id', value: list.id, rows: Number(numAffectedRows) } as const
  await analyzeLoaded(trx, { table: 'calendar_months', ...load })
}

/** Prices by group, each at its place (from 1) in an array of `length`, null where no cell gives one. */
function groupPrices<T extends FoundCell, Key>(
  cells: T[],
  length: number,
  keyOf: (cell: T) => Key,
  placeOf: (cell: T) => number,
): Map<Key, (number | null)[]> {
  const groups = new Map<Key, (number | null)[]>()
  for (const cell of cells) {
    const key = keyOf(cell)
    const prices = groups.get(key) ?? new Array(length).fill(null)
    groups.set(key, prices)
    prices[placeOf(cell) - 1] = cell.price
  }
  return groups
}
