import { JsonText, Stream } from '../../contract/operation.ts'
import { rowWriter } from './file-text.ts'

type Row = Record<string, unknown>

/**
 * An answer that is a JSON array of rows, as a file. The columns of CSV are the keys of its first row, then what other
 * rows of the payload name besides.
 */
export function rowsAsFile(result: unknown, body: unknown, mediaType: string): Stream {
  const payload = (body as { payload: Row[] }).payload
  return new Stream(`${mediaType}; charset=utf-8`, async function* (gone) {
    let line: ((row: object) => string) | undefined
    for await (const rows of rowsIn(result, gone)) {
      if (!line) {
        const writer = rowWriter(mediaType, columnsOf(rows[0], payload))
        line = writer.line
        yield writer.header
      }
      yield rows.map(line).join('')
    }
  })
}

/** A stream of an array has whole rows in each piece, behind a bracket or a comma. At least one, maybe empty. */
async function* rowsIn(result: unknown, gone: AbortSignal): AsyncGenerator<Row[]> {
  if (!(result instanceof Stream)) {
    yield result instanceof JsonText ? JSON.parse(result.text) : result
    return
  }
  for await (const piece of result.open(gone)) {
    const rows = piece.replace(/^[[,]/, '').replace(/\]$/, '')
    if (rows !== '') yield JSON.parse(`[${rows}]`)
  }
}

function columnsOf(first: Row | undefined, payload: Row[]): string[] {
  return [...new Set([...Object.keys(first ?? {}), ...payload.flatMap(Object.keys)])]
}
