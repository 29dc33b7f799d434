import { csvLine, escapeFormula } from './csv-text.ts'

/** Writes the rows of a file; `header` is what stands before them. */
export interface RowWriter {
  header: string
  line: (row: object) => string
}

/** A writer of CSV with these columns, or of NDJSON. */
export function rowWriter(mediaType: string, columns: readonly string[]): RowWriter {
  if (mediaType !== 'text/csv') return { header: '', line: (row) => `${JSON.stringify(row)}\n` }
  return {
    header: csvLine(columns.map(escapeFormula)),
    line: (row) => csvLine(columns.map((name) => cellOf(ownValue(row, name)))),
  }
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
