import type { Columns } from '../catalog/columns.ts'
import {
  readGivenValues,
  readPlainExtensions,
  rejectUnknownKeys,
  takeValues,
} from '../catalog/row-key.ts'
import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { findNames } from '../promotions/queries.ts'
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
  { row, position }: { row: Schemas['GetPricesRow']; position: number },
  { extensions: extensionColumns, attributes: attributeColumns }: Columns,
  noAttributes: null[],
  errors: RowErrors,
): Pick<WantedRow, 'extensions' | 'attributes'> {
  // Attributes beside a code are ignored, whatever their values.
  const isNamed = row.code !== undefined
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

type Row = Schemas['GetPricesRow']

/** The promotions that the rows of a read name. */
export function promotionNames(payload: readonly Row[]): string[] {
  return [...new Set(payload.flatMap(({ promotion }) => promotion ?? []))]
}

/** A row that names a promotion which does not exist is an error; one that is not valid that day is none. */
export async function rejectUnknownPromotions(
  trx: Trx,
  account: number,
  rows: readonly Positioned<Row>[],
  errors: RowErrors,
): Promise<void> {
  const names = promotionNames(rows.map(({ row }) => row))
  if (names.length === 0) return
  const known = await findNames(trx, account, 'promotions', names)
  for (const { row, position } of rows) {
    if (row.promotion !== undefined && !known.has(row.promotion))
      errors.add(position, 'promotion', 'unknown_promotion', 'there is no such promotion')
  }
}
