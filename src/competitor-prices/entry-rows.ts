import { hash } from 'node:crypto'
import { canonicalText, findValueFault, readText, wholeNumber } from '../catalog/column-value.ts'
import type { ColumnType, ColumnValue } from '../catalog/columns.ts'
import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import {
  type ErrorCode,
  pointerSegment,
  type RowErrors,
  sentences,
} from '../contract/row-errors.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { utcTimestamp } from '../lib/formats.ts'
import type { CompetitorSchema, SchemaColumn } from './queries.ts'

const fixedKeys = new Set([
  'competitor_price',
  'competitor_name',
  'departure_date',
  'latest_update',
])

/** An entry as it is stored; null for what the payload leaves out. */
export interface EntryRow {
  hash: string
  /** Canonical texts in schema order. */
  dimensions: string[]
  competitor_name: string
  departure_date: string | null
  competitor_price: number
  latest_update: string | null
}

/** Reads the valid rows of a payload against the schema; faults go to `errors`. */
export async function readEntryRows(
  body: readonly Schemas['CompetitorPriceInput'][],
  { columns, is_dated }: CompetitorSchema,
  errors: RowErrors,
): Promise<Positioned<EntryRow>[]> {
  const knownKeys = new Set([...fixedKeys, ...columns.map(({ name }) => name)])
  const entries = await mapCooperatively(errors.sound(body), ({ row, position }) => {
    const values = readValues(row, columns, position, errors)
    rejectUnknownKeys(row, knownKeys, position, errors)
    rejectFaultyMoments(row, is_dated, position, errors)
    const { competitor_name, competitor_price, departure_date = null, latest_update } = row
    if (errors.has(position)) return undefined
    const entry: EntryRow = {
      hash: competitorHash(values, competitor_name, departure_date),
      dimensions: values.map(canonicalText),
      competitor_name,
      departure_date,
      competitor_price,
      latest_update: latest_update === undefined ? null : utcTimestamp(latest_update),
    }
    return { row: entry, position }
  })
  return entries.filter((entry) => entry !== undefined)
}

function rejectFaultyMoments(
  { departure_date, latest_update }: Schemas['CompetitorPriceInput'],
  isDated: boolean,
  position: number,
  errors: RowErrors,
): void {
  const reject = (field: string, code: ErrorCode, message: string) =>
    errors.add(position, field, code, message)
  if (departure_date !== undefined && !isDated)
    reject('departure_date', 'not_allowed', 'only a dated schema has departure dates')
  if (latest_update !== undefined && isTooFarAhead(latest_update))
    reject('latest_update', 'too_far_ahead', 'must be at most 24 hours ahead of now')
}

const aheadMaxMs = 86_400_000

/** A moment further ahead would make all later observations stale. */
function isTooFarAhead(moment: string): boolean {
  return Date.parse(utcTimestamp(moment)) > Date.now() + aheadMaxMs
}

/** The values of the columns; incomplete if the row has errors. */
function readValues(
  row: Schemas['CompetitorPriceInput'],
  columns: SchemaColumn[],
  position: number,
  errors: RowErrors,
): ColumnValue[] {
  const values: ColumnValue[] = []
  for (const column of columns) {
    const result = Object.hasOwn(row, column.name) ? castText(column, row[column.name]) : missing
    if ('value' in result) values.push(result.value)
    else errors.add(position, pointerSegment(column.name), result.code, result.message)
  }
  return values
}

const missing = { code: 'required', message: sentences.required } as const

function rejectUnknownKeys(
  row: object,
  knownKeys: ReadonlySet<string>,
  position: number,
  errors: RowErrors,
): void {
  for (const key of Object.keys(row)) {
    if (!knownKeys.has(key))
      errors.add(position, pointerSegment(key), 'unknown_key', sentences.unknownKey)
  }
}

/** The hash of an entry's key. `values` have the order and the types of the schema. */
function competitorHash(
  values: readonly ColumnValue[],
  competitorName: string,
  departureDate: string | null,
): string {
  return hash('sha256', JSON.stringify([...values, competitorName, departureDate]), 'hex')
}

const messages: Record<ColumnType, string> = {
  string: '',
  integer: `must be ${wholeNumber} in a string, written as in JSON`,
  number:
    'must be a number in a string, written as in JSON, at most 15 significant digits and 6 decimals',
  boolean: 'must be "true" or "false"',
  date: sentences.calendarDay,
}

/** Converts a text to the type of a column, or returns its fault. */
function castText(
  column: SchemaColumn,
  text: unknown,
): { value: ColumnValue } | { code: ErrorCode; message: string } {
  if (typeof text !== 'string') return { code: 'type', message: 'must be a string' }
  const value = readText(column.type, text)
  if (value === undefined) return { code: 'format', message: messages[column.type] }
  return findValueFault(column, value) ?? { value }
}
