import type { RowError } from '../client/index.ts'
import type { CsvShape, FeedFile } from './feed-file.ts'
import { type CellOf, csvRows, ndjsonRows } from './file-rows.ts'

/** An error with the cell that it concerns, as written in the file. */
export type BadCell = RowError & { value?: string }

/** The errors with the user's own column names, and with their cells if the file can be read again. */
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

/** The rows that begin on the given lines; stops reading after the last of them. */
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
