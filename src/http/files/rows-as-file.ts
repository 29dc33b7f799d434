import { JsonText, Stream } from '../../contract/operation.ts'
import { rowWriter } from './file-text.ts'

type Row = Record<string, unknown>

/**
 * An answer that is a JSON array of rows, as a file. The columns of CSV are the keys of its first row, then what other
 * rows of the payload name besides.
 */
export function rowsAsFile(result: unknown, body: unknown, mediaType: string): Stream {
  const payload = (body as { payload: Row[] }).payload
  const write = (batches: Batches) => writeRows(batches, payload, mediaType)
  return new Stream(`${mediaType}; charset=utf-8`, (gone) => write(batchesOf(result, gone)))
}

/** At least one, maybe empty. */
type Batches = Iterable<Row[]> | AsyncIterable<Row[]>

/** A stream is opened at once: it ends by itself when the client has gone, also one that has not begun to read. */
function batchesOf(result: unknown, gone: AbortSignal): Batches {
  if (result instanceof Stream) return rowsIn(result.open(gone))
  return [result instanceof JsonText ? JSON.parse(result.text) : (result as Row[])]
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
