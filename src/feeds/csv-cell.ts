import type { RowSchema } from '../contract/document.ts'
import { parseShort } from '../contract/json.ts'
import { readExactNumber } from '../lib/decimal.ts'

/** Reads a nonempty cell, or returns its ValueFault. A cell of the wrong type stays text; the validator refuses it. */
export type ReadCell = (cell: string) => unknown

/**
 * Parses a cell as JSON; undefined unless it is exactly one value. In brackets, because exact numbers are recognized
 * only inside JSON.
 */
function parseCell(cell: string): unknown {
  const values = parseShort(`[${cell}]`)
  if (!Array.isArray(values)) return values
  return values.length === 1 ? values[0] : undefined
}

const readText: ReadCell = (cell) => cell
const readNumber: ReadCell = (cell) => readExactNumber(cell) ?? cell
/** Some programs write 17.0 for 17; 1.2E+05 has lost digits. */
const readId: ReadCell = (cell) => (/^\d+(?:\.0+)?$/.test(cell) ? Number(cell) : cell)
/** Spreadsheets write TRUE. */
const readBoolean: ReadCell = (cell) => {
  const lower = cell.toLowerCase()
  return lower === 'true' ? true : lower === 'false' ? false : cell
}
const readJson: ReadCell = (cell) => {
  return parseCell(cell) ?? cell
}

const readAny: ReadCell = (cell) => {
  const value = parseCell(cell)
  return value === undefined ? readBoolean(cell) : value
}

const readers: Record<string, ReadCell> = {
  string: readText,
  date: readText,
  number: readNumber,
  integer: readNumber,
  id: readId,
  boolean: readBoolean,
  'boolean text': (cell) => String(readBoolean(cell)),
  object: readJson,
  array: readJson,
}

/**
 * Returns the reader of a column's cells: text if the schema allows text, else a number, a boolean or JSON. In a column
 * of any type, a cell that parses as JSON is JSON, `TRUE` is a boolean, and other cells are text.
 */
export function cellReader({ type }: RowSchema): ReadCell {
  const types = [type ?? []].flat()
  if (types.includes('string') && types.includes('object')) return readAny
  const first = Object.keys(readers).find((one) => types.includes(one))
  return readers[first ?? 'string'] as ReadCell
}

/**
 * Text that a spreadsheet may run as a formula, even after apostrophes, and after blanks and zero-width characters,
 * which some programs drop.
 */
const formula =
  /^'*(?:[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@＝＋－＠]|[\t\r\n])/u
const spreadsheetNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const special = /[",\r\n]/

/** Puts an apostrophe before text that a spreadsheet would run as a formula. Numbers are left alone. */
export function escapeFormula(text: string): string {
  return formula.test(text) && !spreadsheetNumber.test(text) ? `'${text}` : text
}

/** Undoes `escapeFormula`. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}

/** Returns a CSV record (RFC 4180) with its CRLF. */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => (special.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}\r\n`
}
