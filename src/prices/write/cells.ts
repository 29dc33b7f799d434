import { type RawBuilder, sql } from 'kysely'
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

/** The cells of a call, staged. */
export interface GivenCells {
  /** A FROM item `f`: position, code, extension_key, dimension, date, price, expected_price. */
  from: RawBuilder<unknown>
  /** SQL of a cell's line in its file; SQL null without a file. */
  line: RawBuilder<unknown>
}

/** The cells of a file. */
export const stagedFile: GivenCells = { from: sql`pg_temp.feed f`, line: sql`f.line` }

/** Where errors say that a cell is. */
export const placeOf = ({ position: row, line }: { position: number; line: number | null }) =>
  line === null ? { pointer: `/payload/${row}`, row } : { pointer: `/${row}`, row, line }

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
 * Returns each cell of a payload once, sorted by code, so that neighbors are neighbors in the database, too. Reports a
 * cell that is given twice with different prices.
 */
export async function uniqueCells(
  list: PriceList,
  inputs: readonly Cell[],
  errors: RowErrors,
): Promise<Cell[]> {
  const cells: Cell[] = []
  const comparePlaces = placesComparer(list)
  const compare = (a: Cell, b: Cell) => compareKeys(a, b) || comparePlaces(a, b)
  await mapCooperatively(await sortCooperatively(inputs, compare), (cell) => {
    const before = cells.at(-1)
    if (before && compare(before, cell) === 0) rejectOtherPrice(before, cell, errors)
    else cells.push(cell)
  })
  return cells
}

/** The first cell of each row. */
export const rowsOf = (cells: readonly Cell[]): Cell[] =>
  cells.filter((cell, index) => index === 0 || compareKeys(cells[index - 1] as Cell, cell) !== 0)

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
