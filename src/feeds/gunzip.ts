import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Problem } from '../contract/problem.ts'

/** After the last member there is more than zeros. */
class TrailingBytes extends Error {}

/** Whether an error says that what came is not whole and valid gzip. */
export function isGzipFault(error: unknown): boolean {
  return error instanceof TrailingBytes || /^Z_/.test(String((error as { code?: string }).code))
}

/**
 * The bytes of a request as they arrive, at most `bytesMax`: gzip may go on for ever and decode to nothing. The connection
 * stays open for the answer when reading stops early.
 */
export async function* atMost(
  bytesMax: number,
  stream: IncomingMessage,
  tooLarge: () => Problem,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge()
    yield chunk
  }
}

/**
 * What gzip decodes to, of one member or several. Zeros behind the last are padding. The engine takes all that comes
 * behind a zero for padding, another member too; that is refused.
 */
export async function* gunzip(compressed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const engine = createGunzip()
  const end = new LastByte()
  try {
    pipeline(Readable.from(end.watch(compressed)), engine, () => undefined)
    yield* engine as AsyncIterable<Buffer>
    for await (const _ of end.watch(compressed));
  } finally {
    void compressed.return(undefined)
  }
  if (end.position > engine.bytesWritten) throw new TrailingBytes()
}

/** Where the last byte ends that is not zero. */
class LastByte {
  position = 0
  #length = 0

  /** Chunks as they come; those that are left when nobody takes these any more stay for who watches next. */
  async *watch(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    for (;;) {
      const { value: chunk, done } = await chunks.next()
      if (done) return
      const last = chunk.findLastIndex((byte) => byte !== 0)
      if (last >= 0) this.position = this.#length + last + 1
      this.#length += chunk.length
      yield chunk
    }
  }
}
