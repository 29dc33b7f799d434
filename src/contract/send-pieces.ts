import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Stream } from './operation.ts'

/** An answer whose pieces are made while they are sent. */
interface Pieces {
  contentType: string
  /** A client that takes no piece for so long is let go: others wait for its connection to the database. */
  stalledMs: number
  /** Makes the pieces; `sent` is told how many rows the last one had. */
  write: (sent: (rows: number) => void) => AsyncIterable<string>
  /** Begins the answer. */
  answer: (stream: Stream) => void
}

/** The client has read nothing of its answer for too long. */
export class ClientStalled extends Error {}

/** Answers with the pieces; ends when all are sent or the client stops reading. An error of the pieces breaks off the answer. */
export async function sendPieces({ contentType, stalledMs, write, answer }: Pieces): Promise<void> {
  const sent = (rows: number) => {
    stream.rows = (stream.rows ?? 0) + rows
  }
  const stalled = () => pieces.destroy(new ClientStalled('the client takes nothing'))
  const pieces: Readable = Readable.from(untilStalled(write(sent), stalledMs, stalled))
  const open = (gone: AbortSignal) => {
    gone.addEventListener('abort', () => pieces.destroy())
    return pieces
  }
  const stream = new Stream(contentType, open, 0)
  answer(stream)
  await finished(pieces).catch(() => undefined)
}

/** Pieces as they come; calls `stalled` when one was not taken for so long. */
async function* untilStalled(
  pieces: AsyncIterable<string>,
  stalledMs: number,
  stalled: () => void,
): AsyncGenerator<string> {
  for await (const piece of pieces) {
    const timer = setTimeout(stalled, stalledMs)
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
  }
}
