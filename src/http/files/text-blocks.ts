import { isUtf8 } from 'node:buffer'
import { carriageReturn, countOf, newline } from '../../contract/line-ends.ts'
import { malformedFile } from './malformed-file.ts'

/** Far more than most rows can have; a file without line ends is not gathered whole. */
export const lineBytesMax = 1024 * 1024

/** Of a line that ends later it is certain that it is too long: a byte order mark may stand before it, a CR behind it. */
const keptBytesMax = lineBytesMax + 4

const lineEnd = /\r\n|\r|\n/
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Some whole lines of a file. */
export interface TextBlock {
  bytes: Buffer
  /** Of the first line, from 1. */
  line: number
}

/**
 * Cuts bytes into blocks of whole lines, without a byte order mark. Refuses, with `malformed-file` and the line, invalid
 * UTF-8, NUL and a line over 1 MB, however the bytes arrive.
 */
export async function* textBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextBlock> {
  let line = 1
  let isFirst = true
  for await (const whole of wholeLines(chunks)) {
    const hasMark = isFirst && whole.subarray(0, 3).equals(byteOrderMark)
    const bytes = hasMark ? whole.subarray(3) : whole
    isFirst = false
    rejectLongLine(bytes, line)
    rejectUnreadable(bytes, line)
    yield { bytes, line }
    line += countLines(bytes)
  }
}

/** A block ends after a line end; the CR of a CRLF stays with its LF. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk])
    const end = endOfLines(bytes)
    if (end > 0) yield bytes.subarray(0, end)
    kept = bytes.subarray(end)
    // Those who count lines refuse it.
    if (kept.length > keptBytesMax) break
  }
  if (kept.length > 0) yield kept
}

function endOfLines(bytes: Buffer): number {
  const feed = bytes.lastIndexOf(newline)
  const lone = bytes.subarray(0, -1).lastIndexOf(carriageReturn)
  return Math.max(feed, lone) + 1
}

function rejectLongLine(bytes: Buffer, line: number): void {
  if (bytes.length <= lineBytesMax) return
  const index = linesOf(bytes).findIndex((text) => text.length > lineBytesMax)
  if (index < 0) return
  const detail = `Line ${line + index} is longer than ${lineBytesMax} bytes. Nothing was written.`
  throw malformedFile(detail, line + index)
}

function rejectUnreadable(bytes: Buffer, line: number): void {
  if (isReadable(bytes)) return
  if (line === 1 && isUtf16(bytes))
    throw malformedFile('The file is UTF-16: save it as UTF-8. Nothing was written.', 1)
  const lines = linesOf(bytes)
  const index = lines.findIndex((text) => !isReadable(Buffer.from(text, 'latin1')))
  const isNul = lines[index]?.includes('\0')
  const detail = `Line ${line + index} ${isNul ? 'contains NUL' : 'is not valid UTF-8'}. Nothing was written.`
  throw malformedFile(detail, line + index)
}

/** What spreadsheets save as "Unicode text" begins with one of these marks. */
function isUtf16(bytes: Buffer): boolean {
  return ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2))
}

function isReadable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

function countLines(bytes: Buffer): number {
  if (!bytes.includes(carriageReturn)) return countOf(bytes, newline)
  return linesOf(bytes).length - 1
}

/** The lines, a character for each byte. */
function linesOf(bytes: Buffer): string[] {
  return bytes.toString('latin1').split(lineEnd)
}
