import { sentences } from '../contract/row-errors.ts'
import { readExactNumber } from '../lib/decimal.ts'
import { isDate, isMoney } from '../lib/formats.ts'
import type { Column, ColumnType, ColumnValue } from './columns.ts'

const textLengthMax = 255

export interface ColumnFault {
  code: 'type' | 'length' | 'format' | 'not_allowed' | 'range'
  message: string
}

/** JSON readers cannot hold larger whole numbers exactly. */
export const wholeNumber = `a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

const wrongType = (type: string): ColumnFault => ({ code: 'type', message: `must be ${type}` })
const wrongLength: ColumnFault = {
  code: 'length',
  message: `must have 1 to ${textLengthMax} characters`,
}
const wrongNumber: ColumnFault = {
  code: 'format',
  message: 'must have at most 15 significant digits and 6 decimals',
}
const wrongDay: ColumnFault = {
  code: 'format',
  message: sentences.calendarDay,
}

const checks: Record<ColumnType, (value: unknown) => ColumnFault | false> = {
  string: (value) =>
    typeof value !== 'string'
      ? wrongType('a string')
      : (value === '' || codePoints(value) > textLengthMax) && wrongLength,
  integer: (value) => !Number.isSafeInteger(value) && wrongType(wholeNumber),
  number: (value) =>
    typeof value === 'number' ? !isMoney(value) && wrongNumber : wrongType('a number'),
  boolean: (value) => typeof value !== 'boolean' && wrongType('true or false'),
  date: (value) =>
    typeof value !== 'string' ? wrongType('a day in a string') : !isDate(value) && wrongDay,
}

/** The fault of a value that does not fit a type; undefined if it does. */
export function findTypeFault(type: ColumnType, value: unknown): ColumnFault | undefined {
  return checks[type](value) || undefined
}

/** As `findTypeFault`, and `not_allowed` for a value outside the column's allowed values. */
export function findValueFault(
  { type, allowed_values }: Pick<Column, 'type' | 'allowed_values'>,
  value: unknown,
): ColumnFault | undefined {
  const fault = checks[type](value)
  if (fault) return fault
  if (!allowed_values || allowed_values.has(value)) return undefined
  return { code: 'not_allowed', message: allowed_values.message }
}

/** The stored text of a value: equal values have equal texts. */
export function canonicalText(value: ColumnValue): string {
  if (value === 0) return '0'
  return typeof value === 'number' && Math.abs(value) < 1e-5
    ? value.toFixed(6).replace(/\.?0+$/, '')
    : String(value)
}

/** A canonical text for output as a string: large numbers have no exponent. */
export function shownText(type: ColumnType, text: string): string {
  if (type !== 'number' || !text.includes('e')) return text
  const [mantissa = '', exponent = ''] = text.split('e+')
  const [whole = '', decimals = ''] = mantissa.split('.')
  return whole + decimals.padEnd(Number(exponent), '0')
}

/** Converts a canonical text back to its value. */
export function readValue(type: ColumnType, text: string): ColumnValue {
  if (type === 'boolean') return text === 'true'
  return type === 'integer' || type === 'number' ? Number(text) : text
}

const readers: Record<ColumnType, (text: string) => ColumnValue | undefined> = {
  string: (text) => text,
  integer: (text) => readNumber('integer', text),
  number: (text) => readNumber('number', text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  date: (text) => (isDate(text) ? text : undefined),
}

/** Reads a text as a value of a type; undefined if it is not one. Several texts may have one value ("1.5", "1.50"). */
export function readText(type: ColumnType, text: string): ColumnValue | undefined {
  return readers[type](text)
}

/** Reads numbers as JSON does. */
function readNumber(type: 'integer' | 'number', text: string): number | undefined {
  const value = readExactNumber(text)
  return findTypeFault(type, value) ? undefined : value
}

function codePoints(text: string): number {
  return text.length <= textLengthMax ? text.length : [...text].length
}

/** Column names with their values, as shown beside `code`; absent values are left out. */
export function columnEntries(
  columns: Column[],
  texts: readonly (string | null)[],
): [string, ColumnValue][] {
  return columns.flatMap(({ name, type }, index): [string, ColumnValue][] => {
    const text = texts[index]
    return text === null || text === undefined ? [] : [[name, readValue(type, text)]]
  })
}
