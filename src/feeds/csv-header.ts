import type { RowSchema } from '../contract/document.ts'
import type { FeedColumn } from '../contract/feed.ts'
import { keysMax } from '../contract/json-scanner.ts'
import { isObject } from '../contract/merge-patch.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import {
  type ErrorCode,
  invalidRequest,
  pointerSegment,
  sentences,
} from '../contract/row-errors.ts'
import { ValueFault } from '../contract/value-faults.ts'
import { cellReader, type ReadCell, unescapeFormula } from './csv-cell.ts'
import { errorColumn, type RowShape } from './rows.ts'

/** A column of a CSV file: where its value goes in the row, and how its cells are read. */
interface Column {
  /** One key, or the keys of nested objects: `prices.retail`. */
  path: readonly string[]
  read: ReadCell
  /** The value of an empty cell; undefined leaves the key out. */
  empty: '' | undefined
}

/** Makes a row from its fields, or returns a fault that a JSON body could not have. */
export type ReadFields = (fields: readonly string[]) => object | ValueFault

/**
 * Returns the reader of rows under a header. Throws `invalid-request` with every unknown, repeated or missing column,
 * and `malformed-file` for more than 10,000 columns.
 */
export function readHeader(header: readonly string[], shape: RowShape, line: number): ReadFields {
  const [first = ''] = header
  const noHeader = separatorLineFault(header)
  if (noHeader) rejectFaults([columnFault(first, 'unknown_key', noHeader)], line)
  const names = header.slice(0, headedColumns(header)).map(unescapeFormula)
  const find = columnFinder(shape)
  const columns = names.map(find)
  const isUnknown = names.some((name, index) => !columns[index] && !shape.ignored.has(name))
  const isKnown = (name: string) => find(name) !== undefined
  const hint = isUnknown ? separatorHint(header.join(','), isKnown) : ''
  const faults = [...headerFaults(names, columns, shape, hint), ...missingColumns(names, shape)]
  rejectFaults(faults, line)
  // The same limit as for an object of a JSON body.
  if (names.length > keysMax)
    throw new Problem('malformed-file', `A file has at most ${keysMax} columns.`)
  return (fields) => findStray(fields, header, names.length) ?? readFields(fields, columns)
}

/** The number of columns up to the last one with a heading, not counting a column `error` at the end. */
function headedColumns(header: readonly string[]): number {
  return header.findLastIndex((name) => name !== '' && name !== errorColumn) + 1
}

/** The fault of a row with a value beyond the last heading. */
function findStray(
  fields: readonly string[],
  header: readonly string[],
  headed: number,
): ValueFault | undefined {
  const place = header.indexOf(errorColumn)
  for (let index = headed; index < fields.length; index++) {
    if (fields[index] === '' || index === place) continue
    return new ValueFault(`column ${index + 1} has a value and no heading`)
  }
  return undefined
}

/** Missing cells at the end of a row count as empty. */
function readFields(
  fields: readonly string[],
  columns: readonly (Column | undefined)[],
): object | ValueFault {
  const row: Record<string, unknown> = {}
  for (const [index, column] of columns.entries()) {
    const cell = fields[index] ?? ''
    if (column === undefined || (cell === '' && column.empty === undefined)) continue
    const value = cell === '' ? column.empty : column.read(unescapeFormula(cell))
    const fault = value instanceof ValueFault ? value : put(row, column.path, value)
    if (fault) return new ValueFault(`${column.path.join('.')}: ${fault.reason}`)
  }
  return row
}

/** Throws `invalid-request` for an unreadable header that uses a separator other than commas. */
export function rejectSeparators(text: string, shape: RowShape, line: number): void {
  const find = columnFinder(shape)
  const hint = separatorHint(text, (name) => find(name) !== undefined)
  const fault = columnFault(text.slice(0, 255), 'unknown_key', sentences.unknownKey + hint)
  if (hint !== '') rejectFaults([fault], line)
}

function columnFinder({ columns, ignored, schema }: RowShape) {
  const own = new Map(columns.map((column) => [column.name, column]))
  return (name: string) => (ignored.has(name) ? undefined : findColumn(name, schema, own))
}

const saidTwice = new ValueFault('another column of the row says it, too')

/** Sets a value. Returns a fault if another column has set it, such as the price of all days beside that of one day. */
function put(
  row: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): ValueFault | undefined {
  let place = row
  for (const [depth, key] of path.entries()) {
    const isLast = depth === path.length - 1
    // Every object inherits `constructor`, so `in` would not do.
    const isTaken = Object.hasOwn(place, key)
    if (isTaken && (isLast || !isObject(place[key]))) return saidTwice
    if (!isTaken) place[key] = isLast ? value : {}
    place = place[key] as Record<string, unknown>
  }
  return undefined
}

function findColumn(
  name: string,
  schema: RowSchema,
  own: ReadonlyMap<string, FeedColumn>,
): Column | undefined {
  const fixed = Object.hasOwn(schema.properties ?? {}, name) && schema.properties?.[name]
  if (fixed && name !== 'extensions') {
    const empty = isEmptyAllowed(fixed) && isRequired(schema, name) ? '' : undefined
    return { path: [name], read: cellReader(fixed), empty }
  }
  const column = own.get(name)
  if (column) return { path: [name], read: cellReader({ type: column.type }), empty: undefined }
  return findInner(name, schema)
}

/** Free text may be empty; empty text with a format, pattern or enum is left out. */
function isEmptyAllowed({ type, minLength, format, pattern, enum: words }: RowSchema): boolean {
  return type === 'string' && !(minLength || format || pattern || words)
}

/** `price_line.product_code`, `prices.retail`, and `prices.retail.2026-11-27` for the price of a day. */
function findInner(name: string, schema: RowSchema): Column | undefined {
  const [, key = '', inner = ''] = /^([^.]+)\.(.+)$/s.exec(name) ?? []
  const values = innerValues(key, schema)
  if (!values) return undefined
  const [, outer, day] = /^(.+)\.(\d{4}-\d{2}-\d{2})$/s.exec(inner) ?? []
  if ([inner, outer].includes('__proto__')) return undefined
  const days = values.additionalProperties
  if (outer !== undefined && day !== undefined && typeof days === 'object')
    return { path: [key, outer, day], read: cellReader(days), empty: undefined }
  return { path: [key, inner], read: cellReader(values), empty: undefined }
}

/** The schema of an object's values, if its keys may be columns: `prices.retail`. */
function innerValues(key: string, { properties }: RowSchema): RowSchema | undefined {
  const values = properties?.[key]?.additionalProperties
  return key !== 'extensions' && typeof values === 'object' ? values : undefined
}

function isRequired({ required = [] }: RowSchema, name: string): boolean {
  return required.includes(name)
}

function headerFaults(
  names: string[],
  columns: (Column | undefined)[],
  shape: RowShape,
  hint: string,
): HeaderFault[] {
  const seen = new Set<string>()
  return names.flatMap((name, index): HeaderFault[] => {
    if (name === '')
      return [columnFault(name, 'unknown_key', `column ${index + 1} has no heading${hint}`)]
    if (seen.has(name))
      return [columnFault(name, 'not_allowed', 'there are two columns of this name')]
    seen.add(name)
    if (columns[index] || shape.ignored.has(name)) return []
    return [columnFault(name, 'unknown_key', sentences.unknownKey + (hint || knownHint(shape)))]
  })
}

function missingColumns(names: string[], { schema, columns }: RowShape): HeaderFault[] {
  const required = [
    ...(schema.required ?? []),
    ...columns.filter((column) => column.isRequired).map(({ name }) => name),
  ]
  const hasInner = (key: string) =>
    innerValues(key, schema) && names.some((name) => name.startsWith(`${key}.`))
  const given = new Set(names)
  return required
    .filter((key) => !given.has(key) && !hasInner(key))
    .map((key) => columnFault(key, 'required', sentences.required))
}

type HeaderFault = Omit<RequestError, 'line'>

function columnFault(name: string, code: ErrorCode, message: string): HeaderFault {
  return { pointer: `#/columns/${pointerSegment(name)}`, field: name, code, message }
}

function rejectFaults(faults: HeaderFault[], line: number): void {
  if (faults.length > 0) throw invalidRequest(faults.map((fault) => ({ ...fault, line })))
}

const namesMax = 50

/** Lists the known columns, to append to a message: the contract's keys, then the account's columns. */
function knownHint({ schema, columns }: RowShape): string {
  const all = [...Object.keys(schema.properties ?? {}), ...columns.map(({ name }) => name)]
  const own = all.filter((name) => name !== 'extensions')
  const keys = own.map((name) => (innerValues(name, schema) ? `${name}.…` : name))
  return `; known are ${[...new Set(keys)].slice(0, namesMax).join(', ')}`
}

const names: Record<string, string> = { ';': 'semicolons', '\t': 'tabs', '|': 'pipes' }

/** Advice about a header's separator, to append to a message; '' if the header uses commas. */
function separatorHint(header: string, isKnown: (name: string) => boolean): string {
  const separator = Object.keys(names).find((one) => isSeparator(one, header, isKnown))
  return separator ? hintOf(separator) : ''
}

function hintOf(separator: string): string {
  const name = names[separator] ?? `"${separator}"`
  return separator === ','
    ? '; columns are separated by commas'
    : `; columns are separated by commas, not by ${name}`
}

/** Whether a separator yields more known columns than commas do or, if commas yield none, more columns. */
function isSeparator(one: string, header: string, isKnown: (name: string) => boolean): boolean {
  const known = (separator: string) => header.split(separator).map(unquoted).filter(isKnown).length
  const columns = (separator: string) => header.replaceAll(/"[^"]*"/g, '').split(separator).length
  if (!header.includes(one)) return false
  return known(one) > known(',') || (known(',') === 0 && columns(one) > columns(','))
}

const unquoted = (name: string) => name.trim().replace(/^"(.*)"$/s, '$1')

/** The fault of a first line such as `sep=;`, which only Excel reads; undefined for any other line. */
function separatorLineFault(fields: readonly string[]): string | undefined {
  const [first = '', ...others] = fields
  const [, separator] = /^sep=(.?)$/is.exec(first) ?? []
  if (separator === undefined || others.some((field) => field !== '')) return undefined
  return `is no header: take this line out${hintOf(separator || ',')}`
}
