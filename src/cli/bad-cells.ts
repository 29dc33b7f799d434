import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { RowError } from '../client/index.ts'
import { isEmpty } from '../feeds/csv.ts'
import type { CsvShape, FeedFile } from './feed-file.ts'
import { recordsOf } from './reshape.ts'

/** An error with the cell that it is about, as it is in the file. */
export type BadCell = RowError & { value?: string }

/** The errors of a file with the user's own names of columns, and with the cells if the file can be read again. */
export async function withCells(
  { mediaType, shape, original }: FeedFile,
  errors: readonly RowError[],
): Promise<BadCell[]> {
  const named = errors.map((error) => ownName(error, shape))
  const lines = new Set(errors.flatMap(({ row, line }) => (row === undefined ? [] : (line ?? []))))
  if (!original || lines.size === 0) return named
  const rows = mediaType === 'text/csv' ? csvRows(original(), shape) : ndjsonRows(original())
  const cells = await readRows(rows, lines).catch(() => new Map<number, CellOf>())
  return named.map((error) => {
    const value = cells.get(error.line ?? 0)?.(error.field ?? '')
    return value ? { ...error, value } : error
  })
}

function ownName(error: RowError, { columns }: CsvShape): RowError {
  const field = [...columns].find(([, to]) => to === error.field)?.[0]
  return field === undefined ? error : { ...error, field }
}

/** The text of a field in a row. */
type CellOf = (field: string) => string | undefined

/** The rows that begin on these lines. */
async function readRows(
  rows: AsyncIterable<{ line: number; cellOf: CellOf }>,
  lines: ReadonlySet<number>,
): Promise<Map<number, CellOf>> {
  const found = new Map<number, CellOf>()
  for await (const { line, cellOf } of rows) {
    if (lines.has(line)) found.set(line, cellOf)
    if (found.size === lines.size) break
  }
  return found
}

async function* csvRows(chunks: AsyncIterable<Buffer>, shape: CsvShape) {
  let header: string[] | undefined
  for await (const { fields, line } of recordsOf(chunks, shape)) {
    if (header === undefined && isEmpty(fields)) continue
    header ??= fields
    const names = header
    // Of `prices/retail` the column is `prices.retail`.
    const cellOf: CellOf = (field) =>
      fields[names.indexOf(field)] ?? fields[names.indexOf(field.replaceAll('/', '.'))]
    yield { line, cellOf }
  }
}

async function* ndjsonRows(chunks: AsyncIterable<Buffer>) {
  let line = 0
  for await (const text of createInterface({ input: Readable.from(chunks) })) {
    line++
    const cellOf: CellOf = (field) => {
      const value = field.split('/').reduce((at, key) => at?.[key], JSON.parse(text))
      return typeof value === 'string' ? value : JSON.stringify(value)
    }
    yield { line, cellOf }
  }
}
