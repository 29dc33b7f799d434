import { type JsonText, Stream } from '../contract/operation.ts'
import { rowWriter } from './file-text.ts'

type Row = Record<string, unknown>

/**
 * An answer that is a JSON array of rows, as a file. The columns of CSV are the keys of its first row, then what other
 * rows of the payload name besides.
 */
export function rowsAsFile(result: Rows, body: unknown, mediaType: string): Stream {
  const payload = (body as { payload: Row[] }).payload
  const open = (gone: AbortSignal) => writeRows(batchesOf(result, gone), payload, mediaType)
  const heldBytes = result instanceof Stream ? result.heldBytes : Buffer.byteLength(result.text)
  return new Stream(`${mediaType}; charset=utf-8`, open, undefined, heldBytes)
}

/** A JSON array. */
type Rows = JsonText | Stream

/** At least one, maybe empty. */
type Batches = Iterable<Row[]> | AsyncIterable<Row[]>

/** A stream is opened at once: it ends by itself when the client has gone, also one that has not begun to read. */
function batchesOf(result: Rows, gone: AbortSignal): Batches {
  return result instanceof Stream ? rowsIn(result.open(gone)) : [JSON.parse(result.text)]
}

/** A stream of an array has whole rows in each piece, behind a bracket or a comma. */
async function* rowsIn(pieces: AsyncIterable<string>): AsyncGenerator<Row[]> {
  let isEmpty = true
  for await (const piece of pieces) {
    const rows = piece.replace(/^[[,]/, '').replace(/\]$/, '')
    if (rows === '') continue
    isEmpty = false
    yield JSON.parse(`[${rows}]`)
  }
  if (isEmpty) yield []
}

async function* writeRows(
  batches: Batches,
  payload: Row[],
  mediaType: string,
): AsyncGenerator<string> {
  let line: ((row: object) => string) | undefined
  for await (const rows of batches) {
    if (!line) {
      const writer = rowWriter(mediaType, columnsOf(rows[0], payload))
      line = writer.line
      yield writer.header
    }
    yield rows.map(line).join('')
  }
}

function columnsOf(first: Row | undefined, payload: Row[]): string[] {
  return [...new Set([...Object.keys(first ?? {}), ...payload.flatMap(Object.keys)])]
}
