import { carriageReturn, newline } from '../lib/line-ends.ts'
import { UsageFault } from './faults.ts'
import type { FeedFile, Format } from './feed-file.ts'
import { number, rowCount } from './terminal.ts'

const quote = 0x22
/** A line of only these bytes is not a row. */
const blanks = { csv: new Set([0x22, 0x2c]), ndjson: new Set<number>() }

/** Passes pieces through; calls `onRows` with the row count so far, without the CSV header and empty lines. */
export async function* countingRows<Piece extends Uint8Array>(
  pieces: AsyncIterable<Piece>,
  format: Format,
  onRows: (rows: number) => void,
): AsyncGenerator<Piece> {
  let lines = 0
  let isQuoted = false
  let isFilled = false
  const rows = (more: boolean) => Math.max(lines + Number(more) - Number(format === 'csv'), 0)
  for await (const piece of pieces) {
    for (const byte of piece) {
      if (byte === quote && format === 'csv') isQuoted = !isQuoted
      // A CRLF ends a line, and then one without a row.
      const isEnd = (byte === newline || byte === carriageReturn) && !isQuoted
      if (!isEnd) isFilled ||= !blanks[format].has(byte)
      else {
        lines += Number(isFilled)
        isFilled = false
      }
    }
    yield piece
    onRows(rows(false))
  }
  onRows(rows(isFilled))
}

/**
 * Demands `wanted` rows of the file: otherwise sending it throws `UsageFault` before its end, so that nothing is
 * loaded.
 */
export function requireRowCount(file: FeedFile, wanted: number): FeedFile {
  const { name, mediaType, decoded } = file
  const format = mediaType === 'text/csv' ? 'csv' : 'ndjson'
  const open = async function* () {
    let rows = 0
    yield* countingRows(decoded(), format, (counted) => {
      rows = counted
    })
    if (rows !== wanted)
      throw new UsageFault(
        `${name} has ${rowCount(rows)}, but --rows says ${number(wanted)}. Nothing was loaded.`,
      )
  }
  // With a Content-Length, the service would take the last byte as the end.
  return { ...file, isGzip: false, length: undefined, open, decoded: open }
}
