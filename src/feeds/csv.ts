import { pipeline, Readable, type TransformOptions } from 'node:stream'
import { type CsvError, type Options, type Parser, parse } from 'csv-parse'
import { parse as parseAll } from 'csv-parse/sync'
import { Problem } from '../contract/problem.ts'
import { yieldToEventLoop } from '../lib/cooperative.ts'
import { type ReadFields, readHeader, rejectSeparators } from './csv-header.ts'
import {
  errorColumn,
  type FileRow,
  type FileRows,
  malformedFile,
  RowBatch,
  type RowShape,
} from './rows.ts'
import { lineBytesMax, type TextBlock } from './text-blocks.ts'

/** A record, and the line on which it begins. */
export interface CsvRecord {
  fields: string[]
  line: number
}

/**
 * Reads CSV (RFC 4180) with any line ends. The first record names the columns; an empty field leaves its key out.
 * Throws `malformed-file` for an empty file or quotes that do not match, `invalid-request` for a faulty header.
 */
export async function readCsv(
  blocks: AsyncIterable<TextBlock>,
  shape: RowShape,
): Promise<FileRows> {
  const begin: Begin = {}
  const records = csvRecords(blocks, begin)
  const first = await nextFilled(records).catch((fault) => {
    judgeHeader(begin, shape)
    throw fault
  })
  if (!first) throw malformedFile('The file is empty: its first line must name the columns.', 1)
  const { fields: header, line } = first
  const read = readHeader(header, shape, line)
  return { header, batches: inBatches(records, header, read) }
}

/** The next record that is not empty. */
async function nextFilled(records: AsyncGenerator<CsvRecord>): Promise<CsvRecord | undefined> {
  for (;;) {
    const { value, done } = await records.next()
    if (done) return undefined
    if (!isEmpty(value.fields)) return value
  }
}

/** Whether all fields are empty, as in the empty rows of a spreadsheet. The field at `errorAt` does not count. */
export function isEmpty(fields: readonly string[], errorAt = -1): boolean {
  return fields.every((field, index) => field === '' || index === errorAt)
}

/** More than any spreadsheet has. Empty rows are cheap, but not free. */
const emptyRowsMax = 10_000_000

/** The beginning of a file, kept to report faults of its header. */
interface Begin {
  /** The first line that is not empty. */
  first?: { text: string; line: number } | undefined
}

/** Throws `invalid-request` for a faulty header, and for an unreadable one that uses another separator. */
function judgeHeader({ first }: Begin, shape: RowShape): void {
  if (!first) return
  const fields = readLine(first.text)
  if (fields) readHeader(fields, shape, first.line)
  else rejectSeparators(first.text, shape, first.line)
}

function readLine(text: string): string[] | undefined {
  try {
    return parseAll(text)[0]
  } catch {
    return undefined
  }
}

async function* inBatches(
  records: AsyncIterable<CsvRecord>,
  header: readonly string[],
  read: ReadFields,
): AsyncGenerator<FileRow[]> {
  const batch = new RowBatch()
  let empty = 0
  try {
    for await (const { fields, line } of records) {
      if (isEmpty(fields, header.indexOf(errorColumn))) rejectManyEmpty(++empty)
      else if (batch.add({ value: read(fields), line, source: fields })) yield batch.take()
    }
  } catch (fault) {
    yield* batch.rest()
    throw fault
  }
  yield* batch.rest()
}

function rejectManyEmpty(rows: number): void {
  if (rows <= emptyRowsMax) return
  const detail = `A file has at most ${emptyRowsMax} empty rows, this one has more. Nothing was written.`
  throw new Problem('payload-too-large', detail)
}

/** The parser's counters. `lines` includes empty lines. */
interface Counts {
  lines: number
  empty_lines: number
}

/** The lines on which records begin. The parser counts a CRLF inside a field twice; this counts it once. */
class RecordLines {
  #before: Counts = { lines: 0, empty_lines: 0 }
  #countedTwice = 0

  /** The line of the next record. */
  next(fields: string[], { lines, empty_lines }: Counts): number {
    const ends = lines - this.#before.lines > 1 ? endsInside(fields) : { all: 0, double: 0 }
    this.#before = { lines, empty_lines }
    this.#countedTwice += ends.double
    return lines - this.#countedTwice - ends.all
  }

  /** The line of the record after the last readable one. */
  ofBroken({ empty_lines }: Counts): number {
    const { lines, empty_lines: emptyBefore } = this.#before
    return lines - this.#countedTwice + empty_lines - emptyBefore + 1
  }
}

/** Counts line ends inside fields: a record begins that many lines before its end. A CRLF is `double`. */
function endsInside(fields: string[]): { all: number; double: number } {
  const ends = fields.flatMap((field) => field.match(/\r\n|\r|\n/g) ?? [])
  return { all: ends.length, double: ends.filter((end) => end.length === 2).length }
}

/** Yields CSV records, and notes the first line in `begin`. Throws `malformed-file` if quotes do not match. */
export async function* csvRecords(
  blocks: AsyncIterable<TextBlock>,
  begin: Begin = {},
  delimiter = ',',
): AsyncGenerator<CsvRecord> {
  const lines = new RecordLines()
  /** Read and not yet given: a fault makes the parser drop them. */
  const pending: CsvRecord[] = []
  const parser = openParser(delimiter, (fields, counts) => {
    const record = { fields, line: lines.next(fields, counts) }
    pending.push(record)
    return record
  })
  let fault: unknown
  const untilFault = async function* () {
    try {
      yield* blocks
    } catch (thrown) {
      // Thrown below: the parser must see an end to give the last record before it.
      fault = thrown
    }
  }
  pipeline(Readable.from(slicesOf(untilFault(), begin)), parser, () => undefined)
  try {
    for await (const record of parser as AsyncIterable<CsvRecord>) {
      pending.shift()
      yield record
    }
  } catch (error) {
    yield* pending
    throw fault ?? csvFault(error as CsvError, lines)
  }
  if (fault !== undefined) throw fault
}

/** `onRecord` is called before the record is read from the parser, so its counts are right if the next one is broken. */
function openParser(
  delimiter: string,
  onRecord: (fields: string[], counts: Counts) => CsvRecord,
): Parser {
  const options: Options<CsvRecord, string[]> & Pick<TransformOptions, 'readableHighWaterMark'> = {
    on_record: (fields, counts) => {
      // Makes each record look like the first: the parser attaches an error with a stack to records of another length.
      Object.assign(parser.info, { records: 0 })
      return onRecord(fields, counts)
    },
    delimiter,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: lineBytesMax,
    // Buffers one record: 1 MB may be a million fields.
    readableHighWaterMark: 1,
  }
  // The types of csv-parse do not allow this kind of record.
  const parser = parse(options as never)
  return parser
}

/** The parser does not pause within a chunk, and a few bytes may hold thousands of records. */
const sliceBytes = 8 * 1024

/** Cuts blocks into slices; other requests run after each. */
async function* slicesOf(blocks: AsyncIterable<TextBlock>, begin: Begin): AsyncGenerator<Buffer> {
  for await (const { bytes, line } of blocks) {
    begin.first ??= firstLine(bytes.toString(), line)
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      yield bytes.subarray(start, start + sliceBytes)
      await yieldToEventLoop()
    }
  }
}

function firstLine(text: string, line: number): Begin['first'] {
  const [, before = '', first = ''] = /^((?:,*[\r\n])*)([^\r\n]*)/.exec(text) ?? []
  const ends = before.match(/\r\n|\r|\n/g) ?? []
  return first === '' ? undefined : { text: first, line: line + ends.length }
}

const faults: Record<string, string> = {
  CSV_QUOTE_NOT_CLOSED: 'has a quote that is never closed',
  INVALID_OPENING_QUOTE: 'has a quote inside a field that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'has something between a closing quote and the next comma',
  CSV_MAX_RECORD_SIZE: `begins a row of more than ${lineBytesMax} bytes, perhaps because a quote is never closed`,
}

function csvFault(error: CsvError, lines: RecordLines): Error {
  const fault = faults[error.code]
  if (!fault) return error
  const line = lines.ofBroken(error as CsvError & Counts)
  return malformedFile(`Line ${line} ${fault}. Nothing was written.`, line, error)
}
