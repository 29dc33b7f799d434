import { findTypeFault, findValueFault, wholeNumber } from '../catalog/column-value.ts'
import type { ColumnType, ColumnValue } from '../catalog/columns.ts'
import type { ErrorCode } from '../contract/row-errors.ts'
import { readExactNumber } from '../lib/exact-number.ts'
import { isDate } from '../lib/formats.ts'
import type { SchemaColumn } from './queries.ts'

/** How a text stands for a value of a type; undefined: it does not. One value may have several texts ("1.5", "1.50"). */
const readers: Record<ColumnType, (text: string) => ColumnValue | undefined> = {
  string: (text) => text,
  integer: (text) => readNumber('integer', text),
  number: (text) => readNumber('number', text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  date: (text) => (isDate(text) ? text : undefined),
}

/** As the catalog reads the cells of its columns. */
function readNumber(type: 'integer' | 'number', text: string): number | undefined {
  const value = readExactNumber(text)
  return findTypeFault(type, value) ? undefined : value
}

const messages: Record<ColumnType, string> = {
  string: '',
  integer: `must be ${wholeNumber} in a string, written as in JSON`,
  number:
    'must be a number in a string, written as in JSON, at most 15 significant digits and 6 decimals',
  boolean: 'must be "true" or "false"',
  date: 'must be a real calendar day, yyyy-mm-dd',
}

/** The value that a text of the payload stands for in a column, or what is wrong with it. */
export function castText(
  column: SchemaColumn,
  text: unknown,
): { value: ColumnValue } | { code: ErrorCode; message: string } {
  if (typeof text !== 'string') return { code: 'type', message: 'must be a string' }
  const value = readers[column.type](text)
  if (value === undefined) return { code: 'format', message: messages[column.type] }
  return findValueFault(column, value) ?? { value }
}
