import type { RowSchema } from '../contract/document.ts'
import type { FeedColumn } from '../contract/feed.ts'
import { Problem } from '../contract/problem.ts'

/** A row as it appears in the file: the fields of a CSV record or the text of an NDJSON line. */
export type RowSource = readonly string[] | string

export interface FileRow {
  /** A ValueFault if the row cannot be read. */
  value: unknown
  /** The line on which it begins, from 1. */
  line: number
  source: RowSource
}

export interface RowShape {
  schema: RowSchema
  columns: readonly FeedColumn[]
  /** Columns and keys that are skipped. */
  ignored: ReadonlySet<string>
}

export interface FileRows {
  /** The header record of a CSV file; empty for NDJSON. */
  header: readonly string[]
  batches: AsyncIterable<FileRow[]>
}

/** The column or key in which rejected rows carry their errors; ignored when they are loaded again. */
export const errorColumn = 'error'

/** Validated and copied in about 10 ms; then other requests run. */
const batchRows = 1000

/** Fewer rows if they are long: a row of many keys takes ten times as long as its length suggests. */
const batchSize = 128 * 1024

/** Gathers rows that are checked together. */
export class RowBatch {
  rows: FileRow[] = []
  #size = 0

  /** Adds a row. Returns whether the batch is full. */
  add(row: FileRow): boolean {
    this.#size += sizeOf(row.source)
    return this.rows.push(row) === batchRows || this.#size >= batchSize
  }

  /** The last batch, unless it is empty. */
  *rest(): Generator<FileRow[]> {
    if (this.rows.length > 0) yield this.take()
  }

  /** Returns the rows and starts a new batch. */
  take(): FileRow[] {
    const { rows } = this
    this.rows = []
    this.#size = 0
    return rows
  }
}

/** The approximate size of a row; an empty field takes memory as well. */
function sizeOf(source: RowSource): number {
  if (typeof source === 'string') return source.length
  let size = source.length
  for (const field of source) size += field.length
  return size
}

/** Makes a `malformed-file` problem: the file cannot be read beyond `line`. */
export function malformedFile(detail: string, line?: number, cause?: unknown): Problem {
  const error = { pointer: '', code: 'malformed_row', message: detail } as const
  return new Problem('malformed-file', detail, {
    ...(line !== undefined && { errors: [{ ...error, line }] }),
    cause,
  })
}
