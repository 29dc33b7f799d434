import type { RowSchema } from '../contract/document.ts'
import { parseShort } from '../contract/json.ts'

/** Reads a cell that is not empty, or finds its fault; what is no value of the type stays text, which the validator refuses. */
export type ReadCell = (cell: string) => unknown

const plainNumber = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/
const anyNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** In brackets, because a number is looked at where it stands in JSON; undefined for what is not one value. */
function parseCell(cell: string): unknown {
  const values = parseShort(`[${cell}]`)
  if (!Array.isArray(values)) return values
  return values.length === 1 ? values[0] : undefined
}

const readText: ReadCell = (cell) => cell
const readNumber: ReadCell = (cell) => {
  // -0 is 0.
  if (plainNumber.test(cell)) return Number(cell) + 0
  return anyNumber.test(cell) ? (parseCell(cell) ?? cell) : cell
}
/** Programs that know no empty numbers write 17.0; 1.2E+05 has lost digits. */
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
 * The reader of cells for a schema: text where it may be a text, else a number, true or false, or JSON. A value of any
 * type is JSON where it can be read as JSON, else text.
 */
export function cellReader({ type }: RowSchema): ReadCell {
  const types = [type ?? []].flat()
  if (types.includes('string') && types.includes('object')) return readAny
  const first = Object.keys(readers).find((one) => types.includes(one))
  return readers[first ?? 'string'] as ReadCell
}

/**
 * What a spreadsheet may run as a formula: also behind blanks and characters without width, which some drop, and behind
 * apostrophes that are there already.
 */
const formula =
  /^'*(?:[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@＝＋－＠]|[\t\r\n])/u
const spreadsheetNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const special = /[",\r\n]/

/** A text as a cell that no spreadsheet runs: what would be a formula stands behind an apostrophe. Numbers stay. */
export function escapeFormula(text: string): string {
  return formula.test(text) && !spreadsheetNumber.test(text) ? `'${text}` : text
}

/** The cell without the apostrophe that keeps a spreadsheet from running it. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}

/** A record of CSV (RFC 4180). */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => (special.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}\r\n`
}
