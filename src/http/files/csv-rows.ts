import { pipeline, Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { Problem } from '../../contract/problem.ts'
import { readHeader } from './csv-header.ts'
import { batchRows, type FileRow, type FileRows, type RowShape, readRow } from './feed-rows.ts'
import { malformedFile } from './malformed-file.ts'
import { lineBytesMax, type TextBlock } from './text-blocks.ts'

/** A record of csv-parse, with how many lines were read at its end. */
interface CsvRecord {
  record: string[]
  info: { lines: number }
}

/**
 * Reads CSV as RFC 4180 has it, with any line ends: the first record names the columns, an empty field leaves its key
 * out. Throws `malformed-file` where quotes do not match, and `invalid-request` for a header with faults.
 */
export async function readCsv(
  blocks: AsyncIterable<TextBlock>,
  shape: RowShape,
): Promise<FileRows> {
  const records = csvRecords(blocks)
  const first = await records.next()
  if (first.done) throw malformedFile('The file is empty: its first line must name the columns.', 1)
  const header = first.value.record
  const readFields = readHeader(header, shape)
  const read = (fields: string[]) => {
    if (fields.length === header.length) return readFields(fields)
    throw new Problem(
      'malformed-file',
      `has ${fields.length} fields, the header has ${header.length}`,
    )
  }
  return { header, batches: inBatches(records, read) }
}

async function* inBatches(
  records: AsyncIterable<CsvRecord>,
  read: (fields: string[]) => object,
): AsyncGenerator<FileRow[]> {
  let batch: FileRow[] = []
  let before = 1
  let countedTwice = 0
  for await (const { record: source, info } of records) {
    const ends = info.lines - before > 1 ? endsInside(source) : { all: 0, double: 0 }
    before = info.lines
    countedTwice += ends.double
    const line = info.lines - countedTwice - ends.all
    batch.push(readRow(source, line, () => read(source)))
    if (batch.length < batchRows) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Line ends inside fields: the record begins so many lines before it ends. The parser counts a CRLF there twice. */
function endsInside(fields: string[]): { all: number; double: number } {
  const ends = fields.flatMap((field) => field.match(/\r\n|\r|\n/g) ?? [])
  return { all: ends.length, double: ends.filter((end) => end.length === 2).length }
}

async function* csvRecords(blocks: AsyncIterable<TextBlock>): AsyncGenerator<CsvRecord> {
  let read = 0
  const parser = parse({
    info: true,
    // Records that were read may still wait when the next one is found to be broken.
    on_record: (record, { lines }) => {
      read = lines
      return record
    },
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: lineBytesMax,
  })
  pipeline(Readable.from(bytesOf(blocks)), parser, () => undefined)
  try {
    yield* parser as AsyncIterable<CsvRecord>
  } catch (error) {
    throw csvFault(error as Error & { code?: string }, read)
  }
}

async function* bytesOf(blocks: AsyncIterable<TextBlock>): AsyncGenerator<Buffer> {
  for await (const { bytes } of blocks) yield bytes
}

const faults: Record<string, string> = {
  CSV_QUOTE_NOT_CLOSED: 'has a quote that is never closed',
  INVALID_OPENING_QUOTE: 'has a quote inside a field that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'has something between a closing quote and the next comma',
  CSV_MAX_RECORD_SIZE: `is longer than ${lineBytesMax} characters`,
}

/** What the parser says of a record, by the line after the last one that could be read. */
function csvFault(error: Error & { code?: string }, read: number): Error {
  const fault = faults[error.code ?? '']
  if (!fault) return error
  const line = read + 1
  return malformedFile(`Line ${line} ${fault}. Nothing was written.`, line, error)
}
