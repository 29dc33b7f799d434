import { canonicalText, findTypeFault, readText } from '../catalog/column-value.ts'
import type { Columns, ColumnType, ColumnValue } from '../catalog/columns.ts'

/** The fields of a row that price lines match: canonical texts by ordinal. */
export interface AgreedRow {
  code: string
  extensions: readonly string[]
  /** Read only if a line names an attribute; null for a code without attributes. */
  attributes?: readonly (string | null)[] | null
}

/** A parsed price line. */
export interface Line {
  /** Equal for lines that name the same columns. */
  columns: string
  /** The number of columns that it names. */
  keys: number
  /** Equal for lines that name the same columns and values; `readKey` gives the same key for a row that has them. */
  key: string
  readKey: (row: AgreedRow) => string
  usesAttributes: boolean
}

interface Field {
  place: number
  type: ColumnType
  isAttribute: boolean
  read: (row: AgreedRow) => string | null | undefined
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

function fieldsOf({ attributes, extensions }: Columns): Map<string, Field> {
  const code: Field = { place: 0, type: 'string', isAttribute: false, read: ({ code }) => code }
  const fields = new Map([
    ['code', code],
    ['product_code', code],
  ])
  for (const { name, type, kind, ordinal } of [...attributes, ...extensions]) {
    const isAttribute = kind === 'attribute'
    const read = isAttribute
      ? (row: AgreedRow) => row.attributes?.[ordinal - 1]
      : (row: AgreedRow) => row.extensions[ordinal - 1]
    fields.set(name, { place: fields.size, type, isAttribute, read })
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
