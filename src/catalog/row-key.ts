import type { Positioned } from '../contract/duplicates.ts'
import { pointerSegment, type RowErrors, sentences } from '../contract/row-errors.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type ColumnFault, canonicalText, findValueFault } from './column-value.ts'
import type { Column, ColumnValue } from './columns.ts'

/** A row of a payload: fixed keys, and the account's columns beside them or under `extensions` and `attributes`. */
export type PayloadRow = Record<string, unknown>

/** The columns that may be nested under a key of the row. */
export type NestedColumns = { extensions?: Column[]; attributes?: Column[] }

/** The values of nested columns by name, and where each was given. */
type NestedValues = Map<string, { value: unknown; field: string }>

/** How the rows of a payload give columns. */
export interface RowShape {
  /** All keys that a row may have. */
  keys: ReadonlySet<string>
  columns: readonly Column[]
  required: readonly Column[]
  nested: NestedColumns
  findFault?: (column: Column, value: unknown) => ColumnFault | undefined
}

/**
 * Reads the columns of a row: canonical texts, null for columns that are not given or faulty. Reports missing columns,
 * faulty values and unknown keys.
 */
export function readValues(
  { row, position }: Positioned<PayloadRow>,
  { keys, columns, required, nested, findFault = findValueFault }: RowShape,
  errors: RowErrors,
): (string | null)[] {
  const inner = readNested({ row, position }, nested, errors)
  for (const { name } of required) {
    if (!Object.hasOwn(row, name) && !inner?.has(name))
      errors.add(position, pointerSegment(name), 'required', sentences.required)
  }
  const texts = columns.map((column) => {
    const place = inner?.get(column.name)
    if (!place && !Object.hasOwn(row, column.name)) return null
    const value = place ? place.value : row[column.name]
    const fault = findFault(column, value)
    if (!fault) return canonicalText(value as ColumnValue)
    errors.add(position, place?.field ?? pointerSegment(column.name), fault.code, fault.message)
    return null
  })
  for (const key in row) {
    if (!keys.has(key))
      errors.add(position, pointerSegment(key), 'unknown_key', sentences.unknownKey)
  }
  return texts
}

/**
 * Reads the nested columns of a row, if any. Reports a column given twice with different values, and a key that is not a
 * column.
 */
export function readNested(
  { row, position }: Positioned<PayloadRow>,
  nested: NestedColumns,
  errors: RowErrors,
): NestedValues | undefined {
  let inner: NestedValues | undefined
  for (const group of ['extensions', 'attributes'] as const) {
    const columns = nested[group]
    if (!columns || row[group] === undefined) continue
    for (const [name, value] of Object.entries(row[group] as PayloadRow)) {
      const field = `${group}/${pointerSegment(name)}`
      if (!columns.some((column) => column.name === name))
        errors.add(position, field, 'unknown_key', sentences.unknownKey)
      else if (Object.hasOwn(row, name) && row[name] !== value) {
        const message = `"${name}" is given twice with different values`
        errors.add(position, field, 'conflicting_keys', message)
      } else {
        inner ??= new Map()
        inner.set(name, { value, field })
      }
    }
  }
  return inner
}

/** These keys and the names of columns. */
export const keysWith = (keys: Iterable<string>, columns: readonly Column[]): Set<string> =>
  new Set([...keys, ...columns.map(({ name }) => name)])

/** A row of a payload with its full product key. */
export interface KeyedRow<T> {
  row: T
  position: number
  code: string
  extensions: string[]
}

/** Reads `code` and all extensions of each valid row. Faulty rows are left out and go to `errors`. */
export async function readRowKeys<T extends { code: string }>(
  rows: readonly T[],
  extensions: Column[],
  fixedKeys: ReadonlySet<string>,
  errors: RowErrors,
): Promise<KeyedRow<T>[]> {
  const shape = {
    keys: keysWith(fixedKeys, extensions),
    columns: extensions,
    required: extensions,
    nested: { extensions },
  }
  const keyed = await mapCooperatively(errors.sound(rows), ({ row, position }) => {
    const values = readValues({ row, position }, shape, errors)
    if (errors.has(position)) return undefined
    return { row, position, code: row.code, extensions: values as string[] }
  })
  return keyed.filter((row) => row !== undefined)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const unescaped = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/

/** The extensions as stored and looked up. PostgreSQL's `array_to_json` writes the same text. */
export function extensionKey(extensions: readonly (string | null)[]): string {
  const [only] = extensions
  // The usual case, one extension without escapes, takes a third of the time this way.
  if (extensions.length === 1 && typeof only === 'string' && unescaped.test(only))
    return `["${only}"]`
  return JSON.stringify(extensions)
}

/** Equal for two rows exactly if their code and extensions are equal. */
export function rowKey(row: { code: string; extensions: readonly string[] }): string {
  return JSON.stringify([row.code, ...row.extensions])
}
