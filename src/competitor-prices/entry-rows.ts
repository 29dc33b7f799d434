import { canonicalText } from '../catalog/column-value.ts'
import type { ColumnValue } from '../catalog/columns.ts'
import { type GivenValues, readGivenValues, rejectUnknownKeys } from '../catalog/row-key.ts'
import type { Positioned } from '../contract/duplicates.ts'
import { utcTimestamp } from '../contract/formats.ts'
import type { Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { castText } from './cast-text.ts'
import { competitorHash } from './competitor-hash.ts'
import type { CompetitorSchema, SchemaColumn } from './queries.ts'

const fixedKeys = new Set([
  'competitor_price',
  'competitor_name',
  'departure_date',
  'latest_update',
])

/** An entry as it is kept; null where the payload leaves something out. */
export interface EntryRow {
  hash: string
  code: string | null
  /** Canonical texts in schema order. */
  dimensions: string[]
  competitor_name: string
  departure_date: string | null
  competitor_price: number
  latest_update: string | null
}

/** Reads the sound rows of a payload against the schema; what is wrong with a row goes to `errors`. */
export function readEntryRows(
  body: Schemas['CompetitorPriceInput'][],
  schema: CompetitorSchema,
  errors: RowErrors,
): Positioned<EntryRow>[] {
  const codeIndex = schema.columns.findIndex(({ name }) => name === 'code')
  return errors.sound(body).flatMap(({ row, position }) => {
    const given = readGivenValues({ row, position }, fixedKeys, errors)
    const values = takeCastValues(given, schema.columns, position, errors)
    rejectUnknownKeys(given, position, errors)
    const { competitor_name, competitor_price, departure_date = null, latest_update } = row
    if (departure_date !== null && !schema.is_dated)
      errors.add(
        position,
        'departure_date',
        'not_allowed',
        'only a dated schema has departure dates',
      )
    if (errors.has(position)) return []
    const dimensions = values.map(canonicalText)
    const entry: EntryRow = {
      hash: competitorHash(values, competitor_name, departure_date),
      code: dimensions[codeIndex] ?? null,
      ...{ dimensions, competitor_name, departure_date, competitor_price },
      latest_update: latest_update === undefined ? null : utcTimestamp(latest_update),
    }
    return [{ row: entry, position }]
  })
}

/** The value of each column; takes the columns out of `given`. Shorter than `columns` when a row is not sound. */
function takeCastValues(
  given: GivenValues,
  columns: SchemaColumn[],
  position: number,
  errors: RowErrors,
): ColumnValue[] {
  return columns.flatMap((column) => {
    const field = pointerSegment(column.name)
    const entry = given.get(column.name)
    given.delete(column.name)
    const result = entry
      ? castText(column, entry.value)
      : ({ code: 'required', message: 'is required' } as const)
    if ('value' in result) return [result.value]
    errors.add(position, field, result.code, result.message)
    return []
  })
}
