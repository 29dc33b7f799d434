import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { Problem } from '../contract/problem.ts'
import { malformedFile } from './rows.ts'

const discardMs = 5000

/** How the bytes of a request are read. */
export interface FeedSource {
  stream: IncomingMessage
  mediaType: string
  isGzip: boolean
  bytesMax: number
}

/** The decoded bytes of a file as they arrive: counted, because gzip may expand without bound, and hashed. */
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

  /** The Content-Length; 0 if there is none. */
  get announced(): number {
    return Number(this.#source.stream.headers['content-length'] ?? 0)
  }

  /**
   * The bytes not yet read. Throws `payload-too-large`, or `malformed-file` if the body breaks off or is invalid gzip.
   */
  [Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    return this.#chunks
  }

  /** Reads the rest; returns the SHA-256 of the media type and all bytes. */
  async digest(): Promise<Buffer> {
    for await (const _ of this.#chunks);
    return this.#hash.copy().digest()
  }

  /**
   * Discards the rest for up to 5 seconds, because a client that is still sending might not read the response. Returns
   * whether the body has ended.
   */
  async discard(): Promise<boolean> {
    const { stream } = this.#source
    if (!stream.readableEnded && !stream.destroyed) {
      const ended = this.#discardAll().catch(() => undefined)
      await Promise.race([ended, sleep(discardMs, undefined, { ref: false })])
    }
    return stream.readableEnded
  }

  /** Ends the reader first; otherwise draining the rest would wait for it. */
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

/** Bytes other than zeros follow the last gzip member. */
class TrailingBytes extends Error {}

/** Whether the error means that the bytes are not complete, valid gzip. */
export function isGzipFault(error: unknown): boolean {
  return error instanceof TrailingBytes || /^Z_/.test(String((error as { code?: string }).code))
}

/**
 * Yields the bytes of a request as they arrive, at most `bytesMax`, because endless gzip may decode to nothing; beyond
 * that, throws `tooLarge()`. The connection stays open for the response if reading stops early.
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
 * Decodes gzip of one or more members. Zeros after the last member are padding. zlib ignores everything after a zero,
 * even another member; that is an error here.
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

/** Tracks the position after the last nonzero byte. */
class LastByte {
  position = 0
  #length = 0

  /** Passes chunks on. Unlike `for await`, ending it early leaves `chunks` open for the next call. */
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
