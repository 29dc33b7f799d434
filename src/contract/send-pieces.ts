import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Trx } from '../database/pool.ts'
import { type InAccount, Stream } from './operation.ts'

/** Returns what `work` answers; the transaction of `work` may last as long as the response is sent. */
export function answerWhileSending<T>(
  inAccountSending: InAccount,
  work: (trx: Trx, answer: (result: T) => void) => Promise<void>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    inAccountSending((trx) =>
      work(trx, resolve).catch((error) => {
        // Before the rollback: it fails too if rows are unread, and would hide this error.
        reject(error)
        throw error
      }),
    ).catch(reject)
  })
}

/** A response that is made while it is sent. */
interface Pieces {
  contentType: string
  /** The longest that a client may pause: others wait for its database connection. */
  stalledMs: number
  /** Yields the pieces; calls `sent` after each with its number of rows. */
  write: (sent: (rows: number) => void) => AsyncIterable<string>
  /** Begins the response. */
  answer: (stream: Stream) => void
}

/** The client has paused for too long. */
export class ClientStalled extends Error {}

/**
 * Sends the pieces as the response. Resolves when all are sent or the client stops reading. An error in making them
 * breaks off the response.
 */
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

/** Passes the pieces on; calls `stalled` if one is not read in time. */
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
