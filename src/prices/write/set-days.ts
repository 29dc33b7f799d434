import { type RawBuilder, sql } from 'kysely'
import { arrayLiteral } from '../../database/array-literal.ts'
import { type InputColumn, inputRows } from '../../database/input-rows.ts'
import { analyzeLoaded } from '../../database/planner.ts'
import type { Trx } from '../../database/pool.ts'
import { mapCooperatively } from '../../lib/cooperative.ts'
import { daysInMonth, monthPlace } from '../../price-lists/calendar.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { dimensionIndex } from '../payload.ts'
import { type Cell, type CellsByRow, cellsOf } from './cells.ts'

/** Sets prices of days, stored by row, dimension and month. */
export async function setDays(
  trx: Trx,
  list: PriceList,
  byRow: CellsByRow,
  rowIds: number[],
): Promise<void> {
  const chunks = await mapCooperatively(rowIds, (id, row) =>
    chunksOf(list, cellsOf(byRow, row), id),
  )
  await mergeMonths(trx, list, await inputRows(trx, chunkColumns, chunks.flat()))
}

/** Merges `input` (row_id, dimension, month, prices by day, null for unchanged days) into the stored months. */
export async function mergeMonths(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<void> {
  const { numAffectedRows } = await sql`
    insert into calendar_months as present (account_id, price_list_id, row_id, dimension, month, prices)
    select ${list.account_id}, ${list.id}, row_id, dimension, month, prices from ${input}
    order by row_id, dimension, month
    on conflict (account_id, price_list_id, row_id, dimension, month) do update set prices = array[${merged}]`.execute(
    trx,
  )
  const load = { column: 'price_list_id', value: list.id, rows: Number(numAffectedRows) } as const
  await analyzeLoaded(trx, { table: 'calendar_months', ...load })
}

/** Prices of a row in a dimension and month. */
interface Chunk {
  id: number
  dimension: number
  month: string
  /** By day; null if not given. */
  prices: (number | null)[]
}

/** The months of a row's cells, which are sorted by dimension and day. */
function chunksOf(list: PriceList, cells: Cell[], id: number): Chunk[] {
  const chunks: Chunk[] = []
  for (const { row } of cells) {
    const [dimension, { month, place }] = [dimensionIndex(list, row), monthPlace(row.date ?? '')]
    let chunk = chunks.at(-1)
    if (chunk?.dimension !== dimension || chunk.month !== month) {
      chunk = { id, dimension, month, prices: new Array(daysInMonth).fill(null) }
      chunks.push(chunk)
    }
    chunk.prices[place - 1] = row.price
  }
  return chunks
}

const chunkColumns: InputColumn<Chunk>[] = [
  { name: 'row_id', type: 'bigint', value: ({ id }) => id },
  { name: 'dimension', type: 'integer', value: ({ dimension }) => dimension },
  { name: 'month', type: 'date', value: ({ month }) => month },
  { name: 'prices', type: 'numeric[]', value: ({ prices }) => arrayLiteral(prices) },
]

/** Day by day: an unnest of both arrays would take twice as long. */
const merged = sql.join(
  Array.from({ length: daysInMonth }, (_, day) => {
    const place = sql.raw(`[${day + 1}]`)
    return sql`coalesce(excluded.prices${place}, present.prices${place})`
  }),
)
