import type { RowSchema } from '../contract/document.ts'
import type { FeedColumn } from '../contract/feed.ts'
import { Problem } from '../contract/problem.ts'

/** A row as the file has it: the fields of a CSV record or the text of an NDJSON line. */
export type RowSource = readonly string[] | string

/** A row of a file and where it stands there. */
export interface FileRow {
  /** A fault: the row cannot be read. */
  value: unknown
  /** The line on which it begins, from 1. */
  line: number
  source: RowSource
}

/** What the rows of a file may look like. */
export interface RowShape {
  schema: RowSchema
  columns: readonly FeedColumn[]
  /** Columns and keys that are skipped, whatever they hold. */
  ignored: ReadonlySet<string>
}

/** The rows of a file, some at a time. */
export interface FileRows {
  /** The header record of a CSV file, known as soon as rows come. */
  header: readonly string[]
  batches: AsyncIterable<FileRow[]>
}

/** A column or key that a file may have beside those of its operation: refused files come back with it. */
export const errorColumn = 'error'

/** Validated and copied in about 10 ms; then other requests get their turn. */
const batchRows = 1000

/** Of longer rows a batch has fewer: to parse one of many keys takes ten times as long as its bytes say. */
const batchSize = 128 * 1024

/** Rows that are gathered until they are enough to be checked together. */
export class RowBatch {
  rows: FileRow[] = []
  #size = 0

  /** Adds a row; true: there are enough. */
  add(row: FileRow): boolean {
    this.#size += sizeOf(row.source)
    return this.rows.push(row) === batchRows || this.#size >= batchSize
  }

  /** The rows so far; the next ones are another batch. */
  take(): FileRow[] {
    const { rows } = this
    this.rows = []
    this.#size = 0
    return rows
  }
}

/** About the characters of a row: also an empty field takes memory. */
function sizeOf(source: RowSource): number {
  if (typeof source === 'string') return source.length
  let size = source.length
  for (const field of source) size += field.length
  return size
}

/** The file cannot be read on from the line. */
export function malformedFile(detail: string, line?: number, cause?: unknown): Problem {
  const error = { pointer: '', code: 'malformed_row', message: detail } as const
  return new Problem('malformed-file', detail, {
    ...(line !== undefined && { errors: [{ ...error, line }] }),
    cause,
  })
}
