import { pipeline, Readable, type TransformOptions } from 'node:stream'
import { type CsvError, type Options, parse } from 'csv-parse'
import { parse as parseAll } from 'csv-parse/sync'
import { Problem } from '../contract/problem.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { errorPlace, type ReadFields, readHeader, rejectSeparators } from './csv-header.ts'
import { type FileRow, type FileRows, malformedFile, RowBatch, type RowShape } from './rows.ts'
import { lineBytesMax, type TextBlock } from './text-blocks.ts'

/** A record, and the line on which it begins. */
interface CsvRecord {
  fields: string[]
  line: number
}

/**
 * Reads CSV as RFC 4180 has it, with any line ends: the first record names the columns, an empty field leaves its key
 * out. Throws `malformed-file` where quotes do not match, and `invalid-request` for a header with faults.
 */
export async function readCsv(
  blocks: AsyncIterable<TextBlock>,
  shape: RowShape,
): Promise<FileRows> {
  const begin: Begin = {}
  const records = csvRecords(blocks, begin)
  const first = await nextFilled(records).catch((fault) => {
    // What is wrong behind the header is found with it, and is told when the header is sound.
    judgeHeader(begin, shape)
    throw fault
  })
  if (!first) throw malformedFile('The file is empty: its first line must name the columns.', 1)
  const { fields: header, line } = first
  const read = readHeader(header, shape, line)
  return { header, batches: inBatches(records, header, read) }
}

/** The next record with something in it. */
async function nextFilled(records: AsyncGenerator<CsvRecord>): Promise<CsvRecord | undefined> {
  for (;;) {
    const { value, done } = await records.next()
    if (done) return undefined
    if (!isEmpty(value.fields, -1)) return value
  }
}

/** What a spreadsheet writes for an empty row; what is said of a row at `errorAt` is none of it. */
function isEmpty(fields: readonly string[], errorAt: number): boolean {
  return fields.every((field, index) => field === '' || index === errorAt)
}

/** No spreadsheet has as many rows; they take less than others, but not nothing. */
const emptyRowsMax = 10_000_000

/** What is known of a file before its records come. */
interface Begin {
  /** The first line with something in it. */
  first?: { text: string; line: number } | undefined
  header?: CsvRecord
}

/** Throws `invalid-request` for a header with faults; one that cannot be read has those of other separators. */
function judgeHeader({ first, header }: Begin, shape: RowShape): void {
  if (!first) return
  const fields = header?.fields ?? readLine(first.text)
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
  for await (const { fields, line } of records) {
    if (isEmpty(fields, errorPlace(fields, header))) rejectManyEmpty(++empty)
    else if (batch.add({ value: read(fields), line, source: fields })) yield batch.take()
  }
  if (batch.rows.length > 0) yield batch.take()
}

function rejectManyEmpty(rows: number): void {
  if (rows <= emptyRowsMax) return
  const detail = `A file has at most ${emptyRowsMax} empty rows, this one has more. Nothing was written.`
  throw new Problem('payload-too-large', detail)
}

/** What the parser has counted: empty lines are among the lines. */
interface Counts {
  lines: number
  empty_lines: number
}

/** The lines on which records begin. Counts what the parser counts, but a CRLF inside a field once. */
class RecordLines {
  #before: Counts = { lines: 0, empty_lines: 0 }
  #countedTwice = 0

  /** Of the next record that was read. */
  next(fields: string[], { lines, empty_lines }: Counts): number {
    const ends = lines - this.#before.lines > 1 ? endsInside(fields) : { all: 0, double: 0 }
    this.#before = { lines, empty_lines }
    this.#countedTwice += ends.double
    return lines - this.#countedTwice - ends.all
  }

  /** Of the one behind the last that could be read. */
  ofBroken({ empty_lines }: Counts): number {
    const { lines, empty_lines: emptyBefore } = this.#before
    return lines - this.#countedTwice + empty_lines - emptyBefore + 1
  }
}

/** Line ends inside fields: the record begins so many lines before it ends. */
function endsInside(fields: string[]): { all: number; double: number } {
  const ends = fields.flatMap((field) => field.match(/\r\n|\r|\n/g) ?? [])
  return { all: ends.length, double: ends.filter((end) => end.length === 2).length }
}

async function* csvRecords(
  blocks: AsyncIterable<TextBlock>,
  begin: Begin,
): AsyncGenerator<CsvRecord> {
  const lines = new RecordLines()
  const options: Options<CsvRecord, string[]> & Pick<TransformOptions, 'readableHighWaterMark'> = {
    // Records that were read may still wait when the next one is found to be broken.
    on_record: (fields, counts) => {
      // Each is taken for the first: one of another length is given an error with a stack, which takes longer than its row.
      Object.assign(parser.info, { records: 0 })
      const record = { fields, line: lines.next(fields, counts) }
      if (!begin.header && !isEmpty(fields, -1)) begin.header = record
      return record
    },
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: lineBytesMax,
    // Of records that wait: one of 1 MB may be a million fields.
    readableHighWaterMark: 1,
  }
  // Its types know no records but texts and objects of columns.
  const parser = parse(options as never)
  pipeline(Readable.from(slicesOf(blocks, begin)), parser, () => undefined)
  try {
    yield* parser as AsyncIterable<CsvRecord>
  } catch (error) {
    throw csvFault(error as CsvError, lines)
  }
}

/** The parser takes what it gets at a stretch: a few bytes may be thousands of records. */
const sliceBytes = 8 * 1024

/** Other requests have their turn after each slice. */
async function* slicesOf(blocks: AsyncIterable<TextBlock>, begin: Begin): AsyncGenerator<Buffer> {
  for await (const { bytes, line } of blocks) {
    begin.first ??= firstLine(bytes.toString(), line)
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      yield bytes.subarray(start, start + sliceBytes)
      await nextTurn()
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
  CSV_MAX_RECORD_SIZE: `is longer than ${lineBytesMax} characters`,
}

function csvFault(error: CsvError, lines: RecordLines): Error {
  const fault = faults[error.code]
  if (!fault) return error
  const line = lines.ofBroken(error as CsvError & Counts)
  return malformedFile(`Line ${line} ${fault}. Nothing was written.`, line, error)
}
