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
    line: (row) => csvLine(columns.map((name) => cellOf((row as Record<string, unknown>)[name]))),
  }
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return escapeFormula(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
