import type { KeyedRow } from '../../catalog/row-key.ts'
import type { Schemas } from '../../contract/operation.ts'
import { type RowErrors, sentences } from '../../contract/row-errors.ts'
import type { InputColumn } from '../../database/input-rows.ts'
import { mapCooperatively, sortCooperatively } from '../../lib/cooperative.ts'
import { hasDecimals } from '../../lib/decimal.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { dimensionIndex, keyColumns, rejectFaultyAddress } from '../payload.ts'

/** A price in a payload, for a row, a dimension and, in a calendar list, a day. */
export type Cell = KeyedRow<Schemas['UpdatePricesRow']>

/** Reports a cell whose address does not fit the list, or whose price has more decimals than the list. */
export function rejectFaultyCell(
  list: PriceList,
  row: Schemas['UpdatePricesRow'],
  position: number,
  errors: RowErrors,
): void {
  rejectFaultyAddress(list, row, position, errors)
  const { decimals } = list
  // Money has no more than 6.
  if (decimals === 6 || hasDecimals(row.price, decimals)) return
  errors.add(position, 'price', 'too_many_decimals', `must have at most ${decimals} decimals`)
}

export const positionColumn: InputColumn<Cell> = {
  name: 'position',
  type: 'integer',
  value: ({ position }) => position,
}

/** Input columns of cells: key, price, expected price, dimension (from 1) and day. */
export const cellColumns = (list: PriceList): InputColumn<Cell>[] => [
  ...keyColumns,
  { name: 'price', type: 'numeric', value: ({ row }) => row.price },
  { name: 'expected_price', type: 'numeric', value: ({ row }) => row.expected_price ?? null },
  { name: 'dimension', type: 'integer', value: ({ row }) => dimensionIndex(list, row) },
  { name: 'date', type: 'date', value: ({ row }) => row.date ?? null },
]

/**
 * The cells of a payload, grouped by row. Rows are ranges of one array: an object for each would take a tenth of the
 * time of an update, most of it in garbage collection.
 */
export interface CellsByRow {
  /** Each cell once, sorted by code, so that neighbors are neighbors in the database, too. */
  cells: Cell[]
  /** The index of each row's first cell in `cells`, then the length of `cells`. */
  starts: number[]
}

/** Groups the cells of a payload. Reports a cell that is given twice with different prices. */
export async function groupByRow(
  list: PriceList,
  inputs: readonly Cell[],
  errors: RowErrors,
): Promise<CellsByRow> {
  const [cells, starts]: [Cell[], number[]] = [[], []]
  const comparePlaces = placesComparer(list)
  const compare = (a: Cell, b: Cell) => compareKeys(a, b) || comparePlaces(a, b)
  await mapCooperatively(await sortCooperatively(inputs, compare), (cell) => {
    const before = cells.at(-1)
    const isOfRow = before !== undefined && compareKeys(before, cell) === 0
    if (isOfRow && comparePlaces(before, cell) === 0) rejectOtherPrice(before, cell, errors)
    else {
      if (!isOfRow) starts.push(cells.length)
      cells.push(cell)
    }
  })
  starts.push(cells.length)
  return { cells, starts }
}

/** Leaves out the cells at these positions of the payload. */
export function withoutCells(
  { cells, starts }: CellsByRow,
  positions: ReadonlySet<number>,
): CellsByRow {
  const kept: CellsByRow = { cells: [], starts: [] }
  for (const row of starts.slice(0, -1).keys()) {
    const ofRow = cellsOf({ cells, starts }, row).filter(({ position }) => !positions.has(position))
    if (ofRow.length > 0) kept.starts.push(kept.cells.length)
    kept.cells.push(...ofRow)
  }
  kept.starts.push(kept.cells.length)
  return kept
}

/** The first cell of each row. */
export function rowsOf({ cells, starts }: CellsByRow): Cell[] {
  return starts.slice(0, -1).map((start) => cells[start] as Cell)
}

/** The cells of the row with this index. */
export function cellsOf({ cells, starts }: CellsByRow, row: number): Cell[] {
  return cells.slice(starts[row], starts[row + 1])
}

/** Sorts values of rows by the position of each row's first cell in the payload. */
export function inPayloadOrder<T>(byRow: CellsByRow, known: readonly T[]): T[] {
  // Allocated in full: an array filled in random order would become a hash map.
  const length = byRow.cells.reduce((least, { position }) => Math.max(least, position + 1), 0)
  const ordered = new Array<T>(length)
  for (const [row, one] of known.entries()) ordered[firstPosition(byRow, row)] = one
  return ordered.filter(() => true)
}

function firstPosition({ cells, starts }: CellsByRow, row: number): number {
  let [at, end] = [starts[row] as number, starts[row + 1] as number]
  let first = (cells[at] as Cell).position
  while (++at < end) first = Math.min(first, (cells[at] as Cell).position)
  return first
}

/** The price of a row in a dimension; null if not given. */
export function givenPrice(
  { cells, starts }: CellsByRow,
  row: number,
  dimension: string,
): number | null {
  for (let at = starts[row] as number; at < (starts[row + 1] as number); at++) {
    const { price_dimension = dimension, price } = (cells[at] as Cell).row
    if (price_dimension === dimension) return price
  }
  return null
}

function compareKeys(a: Cell, b: Cell): number {
  if (a.code < b.code) return -1
  if (a.code > b.code) return 1
  const index = a.extensions.findIndex((extension, index) => extension !== b.extensions[index])
  if (index < 0) return 0
  return (a.extensions[index] as string) < (b.extensions[index] as string) ? -1 : 1
}

/** Compares cells of a row by dimension and day. */
function placesComparer({ price_dimensions: [only = ''] }: PriceList) {
  return ({ row: a }: Cell, { row: b }: Cell): number => {
    const { price_dimension: dimensionOfA = only, date: dayOfA = '' } = a
    const { price_dimension: dimensionOfB = only, date: dayOfB = '' } = b
    if (dimensionOfA !== dimensionOfB) return dimensionOfA < dimensionOfB ? -1 : 1
    if (dayOfA !== dayOfB) return dayOfA < dayOfB ? -1 : 1
    return 0
  }
}

function rejectOtherPrice(earlier: Cell, { row, position }: Cell, errors: RowErrors): void {
  const isSame =
    earlier.row.price === row.price && earlier.row.expected_price === row.expected_price
  if (isSame) return
  const message = sentences.sameKey(`rows ${earlier.position} and ${position}`)
  errors.add(position, undefined, 'duplicate_row', message)
}
