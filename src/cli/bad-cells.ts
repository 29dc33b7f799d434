import type { RowError } from '../client/index.ts'
import type { CsvShape, FeedFile } from './feed-file.ts'
import { type CellOf, csvRows, ndjsonRows } from './file-rows.ts'

/** An error with the cell that it concerns, as written in the file. */
export type BadCell = RowError & { value?: string }

/**
 * The errors with the user's own column names and numbers, without the lines of a JSON array, which are not the user's,
 * and with their cells if the file can be read again.
 */
export async function withCells(file: FeedFile, errors: readonly RowError[]): Promise<BadCell[]> {
  const rows = await badRows(file, errors)
  return errors.map((error) => {
    const { line, ...named } = inOwnColumns(error, file.shape)
    const value = rows.get(line ?? 0)?.(named.field ?? '')
    return {
      ...named,
      ...(line !== undefined && !file.isArray && { line }),
      ...(value && { value }),
    }
  })
}

function inOwnColumns(error: RowError, { columns, leftOut }: CsvShape): RowError {
  const field = [...columns].find(([, to]) => to === error.field)?.[0]
  const message = error.message.replace(
    /^column (\d+)/,
    (_, sent) => `column ${ownNumber(Number(sent), leftOut)}`,
  )
  return { ...error, message, ...(field !== undefined && { field }) }
}

/** The number of a sent column in the user's file. */
function ownNumber(sent: number, leftOut: CsvShape['leftOut']): number {
  let number = sent
  for (const left of leftOut) if (left <= number) number++
  return number
}

/** The rows with errors by their lines; none if the file cannot be read again. */
async function badRows(
  { mediaType, shape, original }: FeedFile,
  errors: readonly RowError[],
): Promise<Map<number, CellOf>> {
  const lines = new Set(errors.flatMap(({ row, line }) => (row === undefined ? [] : (line ?? []))))
  if (!original || lines.size === 0) return new Map()
  const rows = mediaType === 'text/csv' ? csvRows(original(), shape) : ndjsonRows(original())
  return readRows(rows, lines).catch(() => new Map())
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
