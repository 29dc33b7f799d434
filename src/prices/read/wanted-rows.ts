import type { Columns } from '../../catalog/columns.ts'
import { keysWith, readNested, readValues } from '../../catalog/row-key.ts'
import type { Positioned } from '../../contract/duplicates.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { dimensionIndex, rejectFaultyAddress } from '../payload.ts'

type Row = Schemas['GetPricesRow']

/** A row of a read: canonical texts by ordinal; null is a wildcard. */
export interface WantedRow {
  row: Row
  code: string | null
  extensions: (string | null)[]
  attributes: (string | null)[]
  /** From 1, as in SQL. */
  dimension: number
  date: string | undefined
}

/** Whether a row names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

const fixedKeys = new Set([
  'code',
  'attributes',
  'extensions',
  'price_dimension',
  'date',
  'promotion',
])

/** Checks rows against the list and the account's columns. Faulty rows are left out and reported to `errors`. */
export function readWantedRows(
  rows: readonly Positioned<Row>[],
  list: PriceList,
  columns: Columns,
  errors: RowErrors,
): WantedRow[] {
  const { extensions, attributes } = columns
  const keys = keysWith(fixedKeys, [...extensions, ...attributes])
  const named = { keys, columns: extensions, required: [], nested: { extensions } }
  const nested = { extensions, attributes }
  const unnamed = { keys, columns: [...extensions, ...attributes], required: [], nested }
  const none = attributes.map(() => null)
  return rows.flatMap(({ row, position }) => {
    rejectFaultyAddress(list, row, position, errors)
    const isNamed = row.code !== undefined
    // A row with a code may have attributes; their values are ignored.
    if (isNamed && row.attributes !== undefined)
      readNested({ row: { attributes: row.attributes }, position }, { attributes }, errors)
    const texts = readValues({ row, position }, isNamed ? named : unnamed, errors)
    if (errors.has(position)) return []
    const { code = null, date } = row
    return {
      row,
      code,
      extensions: texts.slice(0, extensions.length),
      attributes: isNamed ? none : texts.slice(extensions.length),
      dimension: dimensionIndex(list, row),
      date,
    }
  })
}
