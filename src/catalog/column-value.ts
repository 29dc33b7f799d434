import { isDate, isMoney } from '../contract/formats.ts'
import type { Column, ColumnType, ColumnValue } from './columns.ts'

const textLengthMax = 255

const typeNames: Record<ColumnType, string> = {
  string: 'a string of 1 to 255 characters',
  integer: 'a whole number',
  number: 'a number of at most 15 significant digits and 6 decimals',
  boolean: 'true or false',
  date: 'a real calendar day, yyyy-mm-dd',
}

const checks: Record<ColumnType, (value: unknown) => boolean> = {
  string: (value) =>
    typeof value === 'string' && value !== '' && codePoints(value) <= textLengthMax,
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === 'number' && isMoney(value),
  boolean: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && isDate(value),
}

/** What is wrong with a value for a column: an error code and a message; undefined: nothing. */
export function findValueFault(
  column: Pick<Column, 'type' | 'allowed_values'>,
  value: unknown,
): { code: 'type' | 'not_allowed'; message: string } | undefined {
  if (!checks[column.type](value))
    return { code: 'type', message: `must be ${typeNames[column.type]}` }
  if (column.allowed_values && !column.allowed_values.includes(value as ColumnValue)) {
    return {
      code: 'not_allowed',
      message: `must be one of ${column.allowed_values.slice(0, 20).join(', ')}`,
    }
  }
  return undefined
}

/** The one text that stands for a value in the database: equal values have equal texts. */
export function canonicalText(value: ColumnValue): string {
  if (value === 0) return '0'
  return typeof value === 'number' && Math.abs(value) < 1e-5
    ? value.toFixed(6).replace(/\.?0+$/, '')
    : String(value)
}

/** The value that a canonical text stands for. */
function readValue(type: ColumnType, text: string): ColumnValue {
  if (type === 'boolean') return text === 'true'
  return type === 'integer' || type === 'number' ? Number(text) : text
}

function codePoints(text: string): number {
  return text.length <= textLengthMax ? text.length : [...text].length
}

/** Columns and their values as they stand beside `code` on the wire; absent values are left out. */
export function columnEntries(
  columns: Column[],
  texts: readonly (string | null)[],
): [string, ColumnValue][] {
  return columns.flatMap(({ name, type }, index): [string, ColumnValue][] => {
    const text = texts[index]
    return text === null || text === undefined ? [] : [[name, readValue(type, text)]]
  })
}
