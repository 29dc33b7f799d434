import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../contract/problem.ts'
import { atMost, gunzip, isGzipFault } from './gunzip.ts'
import { malformedFile } from './malformed-file.ts'

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
