import { type RawBuilder, sql } from 'kysely'
import { arrayLiteral, readNumbers } from '../database/array-literal.ts'
import { type InputColumn, inputRows, isCopied } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { analyzeLoaded } from '../database/statistics.ts'
import { isPublished, isPublishedNow } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { daysInChunk, type PriceChunk, type PricedRow } from './cells.ts'
import { keyColumns } from './key-input.ts'

/** Ids of rows in the order in which they were asked for; null for a row that is not in the published list. */
export type RowIds = (number | null)[]

/** Ids of the published rows that the keys name. */
export async function findPublishedRows(
  trx: Trx,
  list: PriceList,
  keys: { code: string; extensions: string[] }[],
): Promise<RowIds> {
  const positioned = keys.map(({ code, extensions }, position) => ({ code, extensions, position }))
  const input = await inputRows(trx, keyColumns, positioned)
  const { rows } = await sql<{ ids: RowIds | null }>`
    select array_agg(r.id order by position) as ids
    from ${input}
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    left join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = input.code
      and r.extension_key = input.extension_key and ${isPublished}`.execute(trx)
  return rows[0]?.ids ?? []
}

/** Rows that one statement sets: while Postgres does, the next are made ready. */
const rowsAtOnce = 2500

/** Sets prices of published rows; dimensions without a price keep theirs. Rows that are not found are passed over. */
export async function setPrices(trx: Trx, list: PriceList, rows: PricedRow[]): Promise<RowIds> {
  const ids: RowIds = new Array(rows.length).fill(null)
  const size = isCopied(rows.length) ? rows.length : rowsAtOnce
  const slices: Promise<void>[] = []
  for (let from = 0; from < rows.length; from += size) {
    const input = await pricesInput(trx, list, rows.slice(from, from + size))
    const slice = setPricesOf(trx, list, input).then(({ found, positions }) => {
      for (const [index, position] of positions.entries())
        ids[from + position] = found[index] as number
    })
    // Its failure is seen when all slices are waited for.
    slice.catch(() => undefined)
    slices.push(slice)
  }
  await Promise.all(slices)
  return ids
}

function pricesInput(trx: Trx, list: PriceList, rows: PricedRow[]): Promise<RawBuilder<unknown>> {
  const priced = rows.map(({ code, extensions, chunks: [chunk] }, position) => {
    return { code, extensions, position, prices: chunk?.prices ?? [] }
  })
  return inputRows(trx, [...keyColumns, ...list.price_dimensions.map(priceColumn)], priced)
}

/** Sets the prices of an input; answers the ids of the rows that were found, and their positions in it. */
async function setPricesOf(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<{ found: number[]; positions: number[] }> {
  const prices = list.price_dimensions.map((_, index) => {
    const given = sql.ref(`input.${priceName(index)}`)
    return sql`coalesce(${given}, r.prices[${index + 1}::integer])`
  })
  const { rows } = await sql<Record<'ids' | 'positions', string | null>>`
    with updated as (
      update price_list_rows r set prices = array[${sql.join(prices)}]
      from ${input}
      where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.code = input.code
        and r.extension_key = input.extension_key and ${isPublishedNow(list)}
      returning r.id, input.position
    )
    select array_agg(id)::text as ids, array_agg(position)::text as positions from updated`.execute(
    trx,
  )
  const { ids = null, positions = null } = rows[0] ?? {}
  return { found: readNumbers(ids), positions: readNumbers(positions) }
}

/** Sets prices of days: one chunk a row, dimension and month, made at its first price; absent prices are 0. */
export async function setCalendarPrices(
  trx: Trx,
  list: PriceList,
  rows: PricedRow[],
  rowIds: number[],
): Promise<void> {
  const chunks = rows.flatMap(({ chunks }, index) =>
    chunks.map((chunk) => ({ ...chunk, id: rowIds[index] as number })),
  )
  const input = await inputRows(trx, chunkColumns, chunks)
  await sql`
    insert into calendar_months as present (account_id, price_list_id, row_id, dimension, month, prices)
    select ${list.account_id}, ${list.id}, row_id, dimension, month, prices from ${input}
    order by row_id, dimension, month
    on conflict (account_id, price_list_id, row_id, dimension, month) do update set prices = array[${merged}]`.execute(
    trx,
  )
  const load = { column: 'price_list_id', value: list.id, rows: chunks.length } as const
  await analyzeLoaded(trx, { table: 'calendar_months', ...load })
}

const chunkColumns: InputColumn<PriceChunk & { id: number }>[] = [
  { name: 'row_id', type: 'bigint', value: ({ id }) => id },
  { name: 'dimension', type: 'integer', value: ({ dimension }) => dimension },
  { name: 'month', type: 'date', value: ({ month }) => month },
  { name: 'prices', type: 'numeric[]', value: ({ prices }) => arrayLiteral(prices) },
]

/** Day by day, as an unnest of both arrays would take twice as long. */
const merged = sql.join(
  Array.from({ length: daysInChunk }, (_, day) => {
    const place = sql.raw(`[${day + 1}]`)
    return sql`coalesce(excluded.prices${place}, present.prices${place})`
  }),
)

function priceColumn(_: string, index: number): InputColumn<{ prices: (number | null)[] }> {
  return {
    name: priceName(index),
    type: 'numeric',
    value: ({ prices }) => prices[index] ?? null,
  }
}

const priceName = (index: number) => `price_${index}`
