import { csvLine, escapeFormula } from './csv-text.ts'

/** Writes the rows of a file; `header` is what stands before them. */
export interface RowWriter {
  header: string
  line: (row: object) => string
}

/** A writer of CSV with these columns, `valueColumn` of any JSON value, or of NDJSON. */
export function rowWriter(
  mediaType: string,
  columns: readonly string[],
  valueColumn?: string,
): RowWriter {
  if (mediaType !== 'text/csv') return { header: '', line: (row) => `${JSON.stringify(row)}\n` }
  const cell = (row: object, name: string) =>
    (name === valueColumn ? valueCellOf : cellOf)(ownValue(row, name))
  return {
    header: csvLine(columns.map(escapeFormula)),
    line: (row) => csvLine(columns.map((name) => cell(row, name))),
  }
}

/** A text stands as it is where it can be nothing else, as in `left`; `"12"`, `"true"` and `""` are written as JSON. */
function valueCellOf(value: unknown): string {
  const isPlain =
    typeof value === 'string' && /^\p{L}/u.test(value) && !/^(true|false|null)\b/i.test(value)
  return isPlain ? value : JSON.stringify(value)
}

/** A column may be called like what every object inherits, such as `toString`. */
function ownValue(row: object, name: string): unknown {
  return Object.hasOwn(row, name) ? (row as Record<string, unknown>)[name] : undefined
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return escapeFormula(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
