import { canonicalText, findTypeFault, readText } from '../catalog/column-value.ts'
import type { Columns, ColumnType, ColumnValue } from '../catalog/columns.ts'
import { type MatchedRow, matchColumns, type TextReader, textReader } from '../catalog/matching.ts'

/** A parsed price line. */
export interface Line {
  /** Equal for lines that name the same columns. */
  columns: string
  /** The number of columns that it names. */
  keys: number
  /** Equal for lines that name the same columns and values; `readKey` gives the same key for a row that has them. */
  key: string
  readKey: (row: MatchedRow) => string
  usesAttributes: boolean
}

interface Field {
  place: number
  type: ColumnType
  isAttribute: boolean
  read: TextReader
}

/**
 * Returns a function that parses price lines. It returns undefined for a line that no row can match: one with an
 * unknown column, a value that its column cannot have, or two different codes.
 */
export function linesReader(columns: Columns) {
  const fields = fieldsOf(columns)
  const readers = new Map<string, Line['readKey']>()
  return (line: Record<string, ColumnValue>): Line | undefined => {
    const texts = textsOf(line, fields)
    if (!texts) return undefined
    const named = [...texts.keys()].sort((a, b) => a.place - b.place)
    const names = named.map(({ place }) => place).join()
    const readKey = readers.get(names) ?? ((row) => joined(named.map(({ read }) => read(row))))
    readers.set(names, readKey)
    return {
      columns: names,
      keys: named.length,
      key: joined(named.map((field) => texts.get(field))),
      readKey,
      usesAttributes: named.some(({ isAttribute }) => isAttribute),
    }
  }
}

/** Texts contain no NUL. */
const joined = (texts: (string | null | undefined)[]): string => texts.join('\0')

/** The fields that a line can name; `product_code` is another name of `code`. */
function fieldsOf(columns: Columns): Map<string, Field> {
  const fields = new Map<string, Field>()
  for (const column of matchColumns(columns).values()) {
    const { name, type, kind } = column
    const isAttribute = kind === 'attribute'
    const field = { place: fields.size, type, isAttribute, read: textReader(column) }
    fields.set(name, field)
    if (kind === 'code') fields.set('product_code', field)
  }
  return fields
}

function textsOf(
  line: Record<string, ColumnValue>,
  fields: ReadonlyMap<string, Field>,
): Map<Field, string> | undefined {
  const texts = new Map<Field, string>()
  for (const [name, value] of Object.entries(line)) {
    const field = fields.get(name)
    const text = field && textOf(field.type, value)
    if (text === undefined || (texts.get(field as Field) ?? text) !== text) return undefined
    texts.set(field as Field, text)
  }
  return texts
}

/** The canonical text of a value read as the column's type; undefined if it is not of that type. A code may be a number. */
function textOf(type: ColumnType, given: ColumnValue): string | undefined {
  if (type === 'string' && typeof given === 'number') return String(given)
  const value = typeof given === 'string' ? readText(type, given) : given
  return value === undefined || findTypeFault(type, value) ? undefined : canonicalText(value)
}
