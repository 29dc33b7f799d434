import type { Columns } from '../../catalog/columns.ts'
import {
  readGivenValues,
  readPlainExtensions,
  rejectUnknownKeys,
  takeValues,
} from '../../catalog/row-key.ts'
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
  const noAttributes = columns.attributes.map(() => null)
  return rows.flatMap(({ row, position }) => {
    rejectFaultyAddress(list, row, position, errors)
    const values = readValues({ row, position }, columns, noAttributes, errors)
    if (errors.has(position)) return []
    const { code = null, date } = row
    return { row, code, ...values, dimension: dimensionIndex(list, row), date }
  })
}

function readValues(
  { row, position }: Positioned<Row>,
  { extensions: extensionColumns, attributes: attributeColumns }: Columns,
  noAttributes: null[],
  errors: RowErrors,
): Pick<WantedRow, 'extensions' | 'attributes'> {
  // A row with a code may have attributes; their values are ignored.
  const isNamed = row.code !== undefined
  if (isNamed && row.attributes !== undefined) {
    const { attributes } = row
    readGivenValues(
      { row: { attributes }, position },
      fixedKeys,
      { attributes: attributeColumns },
      errors,
    )
  }
  const plain = isNamed && readPlainExtensions(row, extensionColumns, fixedKeys)
  if (plain) return { extensions: plain, attributes: noAttributes }
  const nested = {
    extensions: extensionColumns,
    ...(!isNamed && { attributes: attributeColumns }),
  }
  const given = readGivenValues({ row, position }, fixedKeys, nested, errors)
  const extensions = takeValues(given, extensionColumns, position, errors)
  if (isNamed) for (const { name } of attributeColumns) given.delete(name)
  const attributes = takeValues(given, attributeColumns, position, errors)
  rejectUnknownKeys(given, position, errors)
  return { extensions, attributes }
}
