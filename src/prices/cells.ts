import { type KeyedRow, rowKey } from '../catalog/row-key.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { dimensionIndex } from './payload.ts'

/** The prices that a payload gives one row of a list. */
export interface PricedRow {
  code: string
  extensions: string[]
  /** As they are stored: one chunk for the dimensions or, in a calendar list, one for each dimension and month. */
  chunks: Map<string, PriceChunk>
}

export interface PriceChunk {
  dimension: number
  month: string
  /** By dimension or by day, null where the payload gives none. */
  prices: (number | null)[]
  /** Where in the payload each price stands. */
  positions: number[]
}

type Input = KeyedRow<Schemas['UpdatePricesRow']>

export const daysInChunk = 31

/** The rows that a payload prices, in its order. A price that is given again, and differs, is an error. */
export function groupByRow(list: PriceList, inputs: Input[], errors: RowErrors): PricedRow[] {
  const rows = new Map<string, PricedRow>()
  for (const input of inputs) {
    const key = rowKey(input)
    let row = rows.get(key)
    if (!row) {
      row = { code: input.code, extensions: input.extensions, chunks: new Map() }
      rows.set(key, row)
    }
    const dimension = dimensionIndex(list, input.row)
    if (!list.is_calendar) {
      const chunk = findChunk(row, '', {
        dimension,
        month: '',
        length: list.price_dimensions.length,
      })
      setPrice(chunk, dimension - 1, input, errors)
    } else {
      const { month, place } = monthPlace(input.row.date ?? '')
      const chunk = findChunk(row, `${dimension} ${month}`, {
        dimension,
        month,
        length: daysInChunk,
      })
      setPrice(chunk, place - 1, input, errors)
    }
  }
  return [...rows.values()]
}

/** Where in the payload the prices of a row stand. */
export function positionsOf({ chunks }: PricedRow): number[] {
  return [...chunks.values()].flatMap(({ positions }) => positions.filter(() => true))
}

function findChunk(
  { chunks }: PricedRow,
  key: string,
  { dimension, month, length }: { dimension: number; month: string; length: number },
): PriceChunk {
  const present = chunks.get(key)
  if (present) return present
  const prices = new Array<number | null>(length).fill(null)
  const chunk = { dimension, month, prices, positions: [] }
  chunks.set(key, chunk)
  return chunk
}

function setPrice(
  { prices, positions }: PriceChunk,
  place: number,
  { row, position }: Input,
  errors: RowErrors,
): void {
  // -0 is 0: written alike, and no other price for the same cell.
  const price = row.price + 0
  const earlier = positions[place]
  if (earlier === undefined) {
    prices[place] = price
    positions[place] = position
  } else if (prices[place] !== price) {
    const message = `rows ${earlier} and ${position} have the same key and differ`
    errors.add(position, '', 'duplicate_row', message)
  }
}
