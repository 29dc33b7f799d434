import { isEmpty } from '../feeds/csv.ts'
import { csvLine } from '../feeds/csv-cell.ts'
import { filledLines } from '../feeds/ndjson.ts'
import { textBlocks } from '../feeds/text-blocks.ts'
import type { CsvShape } from './feed-file.ts'
import { asAnswered, recordsOf } from './reshape.ts'

/** Returns the text of a field in a row; `prices/retail` is `retail` in `prices`. */
export type CellOf = (field: string) => string | undefined

/** A row of a file: its first line, its text as comma-separated CSV or NDJSON, and its cells. */
interface FileRow {
  line: number
  text: string
  cellOf: CellOf
}

/** The records of a CSV file, including the header, which is the first record that is not empty. */
export async function* csvRows(
  chunks: AsyncIterable<Buffer>,
  shape: Pick<CsvShape, 'delimiter'>,
): AsyncGenerator<FileRow> {
  let header: string[] | undefined
  for await (const { fields, line } of recordsOf(chunks, shape)) {
    if (header === undefined && isEmpty(fields)) continue
    header ??= fields
    const names = header
    // The column of `prices/retail` is `prices.retail`.
    const cellOf: CellOf = (field) =>
      fields[names.indexOf(field)] ?? fields[names.indexOf(field.replaceAll('/', '.'))]
    yield { line, text: csvLine(fields), cellOf }
  }
}

/** The lines of an NDJSON file that are not empty. Throws `Problem` with the line. */
export async function* ndjsonRows(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  try {
    for await (const block of textBlocks(chunks))
      for (const { bytes, line } of filledLines(block)) yield ndjsonRow(bytes.toString(), line)
  } catch (error) {
    throw asAnswered(error)
  }
}

function ndjsonRow(text: string, line: number): FileRow {
  const cellOf: CellOf = (field) => {
    const value = field.split('/').reduce((at, key) => at?.[key], readLine(text))
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  return { line, text: `${text}\n`, cellOf }
}

/** The row of a line, its numbers as written (since Node 21); undefined if the line is not JSON. */
function readLine(text: string) {
  const asWritten = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? value) : value
  try {
    return JSON.parse(text, asWritten)
  } catch {
    return undefined
  }
}
