import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { Problem } from '../contract/problem.ts'
import { malformedFile } from './rows.ts'

const discardMs = 5000

/** What of a request says how its bytes are read. */
export interface FeedSource {
  stream: IncomingMessage
  mediaType: string
  isGzip: boolean
  bytesMax: number
}

/** The decoded bytes of a file as they arrive: counted, so that a small body cannot become a large one, and hashed. */
export class FeedBytes {
  readonly #source: FeedSource
  readonly #hash = createHash('sha256')
  readonly #chunks: AsyncGenerator<Buffer>

  constructor(source: FeedSource) {
    this.#source = source
    this.#hash.update(`${source.mediaType}\n`)
    this.#chunks = this.#read()
  }

  get mediaType(): string {
    return this.#source.mediaType
  }

  /** How many bytes the request says that it has, as they travel; 0: it does not say. */
  get announced(): number {
    return Number(this.#source.stream.headers['content-length'] ?? 0)
  }

  /** The bytes that have not been read yet. Throws `payload-too-large`, or `malformed-file` when they break off. */
  [Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    return this.#chunks
  }

  /** SHA-256 of the media type and all bytes; reads what is left. */
  async digest(): Promise<Buffer> {
    for await (const _ of this.#chunks);
    return this.#hash.copy().digest()
  }

  /**
   * Lets the rest pass, for a while: a client that still sends might not see the answer. Answers whether all has passed.
   */
  async discard(): Promise<boolean> {
    const { stream } = this.#source
    if (!stream.readableEnded && !stream.destroyed) {
      const ended = this.#discardAll().catch(() => undefined)
      await Promise.race([ended, sleep(discardMs, undefined, { ref: false })])
    }
    return stream.readableEnded
  }

  /** As long as somebody has begun to read them, what is left waits for him. */
  async #discardAll(): Promise<void> {
    await this.#chunks.return(undefined)
    const { stream } = this.#source
    if (!stream.readableEnded) await once(stream.resume(), 'end')
  }

  async *#read(): AsyncGenerator<Buffer> {
    const { stream, isGzip, bytesMax } = this.#source
    if (this.announced > bytesMax) throw tooLarge(bytesMax)
    const arriving = atMost(bytesMax, stream, () => tooLarge(bytesMax))
    const decoded = isGzip ? gunzip(arriving) : arriving
    let bytes = 0
    try {
      for await (const chunk of decoded) {
        bytes += chunk.length
        if (bytes > bytesMax) throw tooLarge(bytesMax)
        this.#hash.update(chunk)
        yield chunk
      }
    } catch (error) {
      throw error instanceof Problem ? error : brokenOff(error)
    }
  }
}

function tooLarge(bytesMax: number): Problem {
  const detail = `A file takes at most ${bytesMax} bytes when decoded, this one has more. Send it in several calls. Nothing was written.`
  return new Problem('payload-too-large', detail)
}

function brokenOff(cause: unknown): Problem {
  return malformedFile(
    isGzipFault(cause)
      ? 'The body is not whole and valid gzip. Nothing was written.'
      : 'The body broke off. Nothing was written.',
    undefined,
    cause,
  )
}

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
