import type { Columns } from '../catalog/columns.ts'
import { readGivenValues, rejectUnknownKeys, takeValues } from '../catalog/row-key.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { dimensionIndex, rejectFaultyAddress } from './payload.ts'

/** A row of a read: canonical texts by ordinal, null where the row leaves a wildcard. */
export interface WantedRow {
  row: Schemas['GetPricesRow']
  code: string | null
  extensions: (string | null)[]
  attributes: (string | null)[]
  /** From 1, as in SQL. */
  dimension: number
  date: string | undefined
}

const fixedKeys = new Set([
  'code',
  'attributes',
  'extensions',
  'price_dimension',
  'date',
  'promotion',
])

/** Reads rows of a payload against the list and the account's columns; faults go to `errors`. */
export function readWantedRows(
  rows: { row: Schemas['GetPricesRow']; position: number }[],
  list: PriceList,
  columns: Columns,
  errors: RowErrors,
): WantedRow[] {
  const { extensions: extensionColumns, attributes: attributeColumns } = columns
  return rows.flatMap(({ row, position }) => {
    rejectFaultyAddress(list, row, position, errors)
    // Attributes beside a code are ignored, whatever their values.
    const isNamed = row.code !== undefined
    const nested = isNamed
      ? { extensions: extensionColumns }
      : { extensions: extensionColumns, attributes: attributeColumns }
    const given = readGivenValues({ row, position }, fixedKeys, nested, errors)
    const extensions = takeValues(given, extensionColumns, position, errors)
    if (isNamed) for (const { name } of attributeColumns) given.delete(name)
    const attributes = takeValues(given, attributeColumns, position, errors)
    rejectUnknownKeys(given, position, errors)
    if (errors.has(position)) return []
    const code = row.code ?? null
    return [
      {
        row,
        code,
        extensions,
        attributes,
        dimension: dimensionIndex(list, row),
        date: row.date,
      },
    ]
  })
}
