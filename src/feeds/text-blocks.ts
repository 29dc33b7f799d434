import { isUtf8 } from 'node:buffer'
import { carriageReturn, countOf, newline } from '../lib/line-ends.ts'
import { malformedFile } from './rows.ts'

/** Far more than a row needs; a file without line ends must not fill memory. */
export const lineBytesMax = 1024 * 1024

/** A longer line is too long even without its byte order mark and CR. */
const keptBytesMax = lineBytesMax + 4

const lineEnd = /\r\n|\r|\n/
/** The first line that is not empty; empty rows of a spreadsheet may precede it. */
const firstLine = /^(?:,*[\r\n])*[^\r\n]+(?:\r\n|\r|\n)/
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Complete lines of a file. */
export interface TextBlock {
  bytes: Buffer
  /** The number of the first line, from 1. */
  line: number
}

/**
 * Cuts bytes into blocks of complete lines, without a byte order mark. The first line that is not empty ends a block,
 * so that the header is checked before other lines. Throws `malformed-file` with the line for binary files, invalid
 * UTF-8, NUL and lines over 1 MB.
 */
export async function* textBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextBlock> {
  let line = 1
  let isFirst = true
  for await (const whole of wholeLines(chunks)) {
    if (isFirst) rejectNoText(whole)
    for (const bytes of isFirst ? firstLineAndRest(whole) : [whole]) {
      const fault = longLine(bytes) ?? unreadableLine(bytes)
      yield { bytes: fault ? beforeLine(bytes, fault.index) : bytes, line }
      if (fault) throw badLine(line + fault.index, fault.reason)
      line += countLines(bytes)
    }
    isFirst = false
  }
}

/** Two parts; either may be empty. */
function firstLineAndRest(whole: Buffer): Buffer[] {
  const hasMark = whole.subarray(0, 3).equals(byteOrderMark)
  const bytes = hasMark ? whole.subarray(3) : whole
  const [{ length } = ''] = firstLine.exec(bytes.toString('latin1')) ?? []
  return [bytes.subarray(0, length), bytes.subarray(length)]
}

/** Yields blocks that end with a line end; a CRLF stays together. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk])
    const end = endOfLines(bytes)
    if (end > 0) yield bytes.subarray(0, end)
    kept = bytes.subarray(end)
    // It is refused as too long.
    if (kept.length > keptBytesMax) break
  }
  if (kept.length > 0) yield kept
}

function endOfLines(bytes: Buffer): number {
  const feed = bytes.lastIndexOf(newline)
  const lone = bytes.subarray(0, -1).lastIndexOf(carriageReturn)
  return Math.max(feed, lone) + 1
}

/** Which line of a block cannot be read, from 0, and why. */
interface LineFault {
  index: number
  reason: string
}

const badLine = (line: number, reason: string) =>
  malformedFile(`Line ${line} ${reason}. Nothing was written.`, line)

function longLine(bytes: Buffer): LineFault | undefined {
  if (bytes.length <= lineBytesMax) return undefined
  const index = linesOf(bytes).findIndex((text) => text.length > lineBytesMax)
  return index < 0 ? undefined : { index, reason: `is longer than ${lineBytesMax} bytes` }
}

function unreadableLine(bytes: Buffer): LineFault | undefined {
  if (isReadable(bytes)) return undefined
  const lines = linesOf(bytes)
  const index = lines.findIndex((text) => !isReadable(Buffer.from(text, 'latin1')))
  const isNul = lines[index]?.includes('\0')
  return { index, reason: isNul ? 'contains NUL' : 'is not valid UTF-8: save the file as UTF-8' }
}

/** The lines before one of them. */
function beforeLine(bytes: Buffer, index: number): Buffer {
  const ends = [...bytes.toString('latin1').matchAll(new RegExp(lineEnd, 'g'))]
  const last = ends[index - 1]
  return bytes.subarray(0, last ? last.index + last[0].length : 0)
}

const exportIt = 'export the table as CSV UTF-8'

/** The first bytes, in hexadecimal, of files that are neither CSV nor NDJSON, and advice. */
const otherFiles: [begin: string, name: string, advice: string][] = [
  ['504b0304', 'a ZIP archive, such as .xlsx and .ods', exportIt],
  ['d0cf11e0', 'a workbook of an older Excel (.xls)', exportIt],
  ['1f8b', 'compressed with gzip', 'send the header "Content-Encoding: gzip" with it'],
  ['255044462d', 'a PDF', exportIt],
  // "Unicode text" of spreadsheets begins with one of these marks.
  ['fffe', 'UTF-16', 'save it as UTF-8'],
  ['feff', 'UTF-16', 'save it as UTF-8'],
]

/** A NUL further on counts as a fault of its line. */
const binary = /^(?:[^\r\n]*|[\s\S]{0,15})\0/

function rejectNoText(bytes: Buffer): void {
  const begin = bytes.toString('hex', 0, 8)
  const other = otherFiles.find(([digits]) => begin.startsWith(digits))
  const [, name, advice] = other ?? ['', 'binary and no text', exportIt]
  if (other || binary.test(bytes.toString('latin1', 0, 1024)))
    throw malformedFile(`The file is ${name}: ${advice}. Nothing was written.`, 1)
}

function isReadable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

function countLines(bytes: Buffer): number {
  if (!bytes.includes(carriageReturn)) return countOf(bytes, newline)
  return linesOf(bytes).length - 1
}

/** The lines, with one character for each byte. */
function linesOf(bytes: Buffer): string[] {
  return bytes.toString('latin1').split(lineEnd)
}
