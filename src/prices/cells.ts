import type { KeyedRow } from '../catalog/row-key.ts'
import { mapInTurns, sortInTurns } from '../contract/in-turns.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { dimensionIndex } from './payload.ts'

/** The prices that a payload gives one row of a list. */
export interface PricedRow {
  code: string
  extensions: string[]
  /** Where it comes first in the payload. */
  position: number
  /** As they are stored: one chunk for the dimensions or, in a calendar list, one for each dimension and month. */
  chunks: PriceChunk[]
}

export interface PriceChunk {
  /** In a calendar list. */
  dimension: number
  month: string
  /** By dimension or by day, null where the payload gives none. */
  prices: (number | null)[]
  /** Where in the payload each price stands. */
  positions: number[]
}

type Input = KeyedRow<Schemas['UpdatePricesRow']>

export const daysInChunk = 31

/**
 * The rows that a payload prices, in the order of their codes: neighbours in the database are neighbours here. A price
 * that is given again, and differs, is an error.
 */
export async function groupByRow(
  list: PriceList,
  inputs: Input[],
  errors: RowErrors,
): Promise<PricedRow[]> {
  const rows: PricedRow[] = []
  const placeOf = list.is_calendar ? calendarPlace : dimensionPlace
  let row: PricedRow | undefined
  await mapInTurns(await sortInTurns(inputs, compareKeys), (input) => {
    const place = placeOf(list, input.row)
    if (!row || compareKeys(row, input) !== 0) {
      const { code, extensions, position } = input
      row = { code, extensions, position, chunks: [newChunk(place)] }
      rows.push(row)
    }
    setPrice(findChunk(row, place), place.index, input, errors)
  })
  return rows
}

type Key = Pick<Input, 'code' | 'extensions'>

function compareKeys(a: Key, b: Key): number {
  if (a.code !== b.code) return a.code < b.code ? -1 : 1
  const index = a.extensions.findIndex((extension, index) => extension !== b.extensions[index])
  if (index < 0) return 0
  return (a.extensions[index] as string) < (b.extensions[index] as string) ? -1 : 1
}

/** What is known of the rows, by where they come first in the payload. */
export function inPayloadOrder<T>(rows: PricedRow[], known: readonly T[]): T[] {
  // Made in its full length: one that is filled in any order would become a map.
  const length = rows.reduce((least, { position }) => Math.max(least, position + 1), 0)
  const ordered = new Array<T>(length)
  for (const [index, { position }] of rows.entries()) ordered[position] = known[index] as T
  return ordered.filter(() => true)
}

/** Where in the payload the prices of a row stand. */
export function positionsOf({ chunks }: PricedRow): number[] {
  return chunks.flatMap(({ positions }) => positions.filter(() => true))
}

/** The chunk that a price belongs to, and its index there. */
interface Place {
  dimension: number
  month: string
  length: number
  index: number
}

function dimensionPlace(list: PriceList, row: Input['row']): Place {
  const { length } = list.price_dimensions
  return { dimension: 0, month: '', length, index: dimensionIndex(list, row) - 1 }
}

function calendarPlace(list: PriceList, row: Input['row']): Place {
  const { month, place } = monthPlace(row.date ?? '')
  return { dimension: dimensionIndex(list, row), month, length: daysInChunk, index: place - 1 }
}

/** From the last one back: days come in their order. */
function findChunk({ chunks }: PricedRow, place: Place): PriceChunk {
  const { dimension, month } = place
  for (let index = chunks.length - 1; index >= 0; index--) {
    const present = chunks[index] as PriceChunk
    if (present.dimension === dimension && present.month === month) return present
  }
  const chunk = newChunk(place)
  chunks.push(chunk)
  return chunk
}

/** Arrays in their full length: of an empty one that grows, most stays empty, and all of it is moved by the collector. */
function newChunk({ dimension, month, length }: Place): PriceChunk {
  const prices = new Array<number | null>(length).fill(null)
  return { dimension, month, prices, positions: new Array(length) }
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
