import { Problem } from '../client/index.ts'
import { Problem as ServiceProblem } from '../contract/problem.ts'
import { type CsvRecord, csvRecords, isEmpty } from '../feeds/csv.ts'
import { csvLine } from '../feeds/csv-cell.ts'
import { textBlocks } from '../feeds/text-blocks.ts'
import { UsageFault } from './faults.ts'
import type { CsvShape, FeedFile } from './feed-file.ts'

const pieceCharacters = 64 * 1024

/** Rewrites a CSV file of another shape as it is sent. Throws `UsageFault` if it is not CSV. */
export function withCsvShape(file: FeedFile, shape: CsvShape): FeedFile {
  const { name, mediaType, decoded } = file
  if (mediaType !== 'text/csv')
    throw new UsageFault(`${name} is not CSV: it has no delimiter, decimal commas or columns.`)
  const open = () => reshape(name, decoded(), shape)
  return { ...file, isGzip: false, length: undefined, shape, open, decoded: open }
}

/**
 * Rewrites CSV for the service: commas between cells, points in decimals, the service's column names. Each record stays
 * on its line. Throws `Problem` or `UsageFault` with the line.
 */
async function* reshape(
  name: string,
  chunks: AsyncIterable<Buffer>,
  shape: CsvShape,
): AsyncGenerator<Buffer> {
  let header: string[] | undefined
  let line = 1
  let text = ''
  for await (const record of recordsOf(chunks, shape)) {
    const isHeader = header === undefined && !isEmpty(record.fields)
    if (isHeader) {
      header = renamed(name, record.fields, shape)
      for (const [index, column] of record.fields.entries())
        if (shape.without.includes(column)) shape.leftOut.add(index + 1)
    }
    const fields = isHeader ? header : withPoints(name, record, header, shape)
    const written = csvLine((fields ?? []).filter((_, index) => !shape.leftOut.has(index + 1)))
    text += '\r\n'.repeat(record.line - line) + written
    line = record.line + (written.match(/\r\n|\r|\n/g)?.length ?? 0)
    if (text.length < pieceCharacters) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

/** The records of a CSV file of any shape. Throws `Problem` with the line. */
export async function* recordsOf(
  chunks: AsyncIterable<Buffer>,
  { delimiter }: Pick<CsvShape, 'delimiter'>,
): AsyncGenerator<CsvRecord> {
  try {
    yield* csvRecords(textBlocks(chunks), {}, delimiter)
  } catch (error) {
    throw asAnswered(error)
  }
}

/** The problem that the service would have returned, or another error as it is. */
export function asAnswered(error: unknown): unknown {
  if (!(error instanceof ServiceProblem)) return error
  const {
    message: detail,
    options: { errors = [] },
  } = error
  const title = 'The file cannot be read'
  return new Problem({ type: 'malformed-file', title, status: 400, detail, instance: '', errors })
}

/** Replaces the user's column names with the service's. Throws `UsageFault` for a column that the header lacks. */
function renamed(name: string, header: string[], { columns, without }: CsvShape): string[] {
  for (const from of [...columns.keys(), ...without])
    if (!header.includes(from))
      throw new UsageFault(`${name} has no column "${from}"; it has: ${header.join(', ')}.`)
  return header.map((column) => columns.get(column) ?? column)
}

/** A number with a decimal comma, and possibly points between thousands. */
const withComma = /^([+-]?)(\d+|\d{1,3}(?:\.\d{3})+),(\d+)$/

function withPoints(
  name: string,
  { fields, line }: CsvRecord,
  header: string[] | undefined,
  { isNumeric }: CsvShape,
): string[] {
  if (!isNumeric) return fields
  return fields.map((cell, index) => {
    const column = header?.[index]
    if (column === undefined || !isNumeric(column)) return cell
    if (/^[+-]?[\d.]*\.\d+$/.test(cell))
      throw new UsageFault(
        `${name}: line ${line}, ${column}: ${cell} may be a decimal or thousands. With --decimal-comma write 1234 or 1.234,50. Nothing was loaded.`,
      )
    return cell.replace(withComma, (_, sign, whole, decimals) => {
      return `${sign}${whole.replaceAll('.', '')}.${decimals}`
    })
  })
}
