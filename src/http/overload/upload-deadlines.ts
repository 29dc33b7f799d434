import type { Server, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isFile } from '../../contract/document.ts'

const paces = {
  lookMs: 1000,
  /** A slower body takes what has arrived of the memory budget; what it announced is for others. */
  steadyBytesPerSecond: 100 * 1024,
  /** The minimum rate is asked for after this time: a line may be slow to start. */
  graceMs: 10_000,
  /** The program that makes a file may take a minute to begin. */
  fileGraceMs: 60_000,
  bytesPerSecondMin: 1024,
}

/** The code of the client error for requests that still arrive when the process ends. */
export const endingCode = 'ERR_PROCESS_ENDING'

type UploadRequest = Pick<FastifyRequest, 'raw' | 'headers' | 'heldBody'>

interface Upload {
  request: UploadRequest
  response: ServerResponse
  isFile: boolean
  startedAt: number
  lookedAt: number
  /** How long the service has waited for the client, and not the client for the service. */
  waitedMs: number
  bytesBefore: number
  /** It has its answer; the next look ends it. */
  isEnding: boolean
}

/** The bodies that are arriving. Those that are late or slower than the minimum rate are ended. */
export class Uploads {
  readonly #uploads = new Set<Upload>()
  readonly #server: Server
  readonly #arrivalMs: number
  readonly #paces: typeof paces
  readonly #timer: NodeJS.Timeout
  #isClosing = false

  /** A body, unless it is a file, has `arrivalMs` to arrive. */
  constructor(server: Server, arrivalMs: number, own = paces) {
    this.#server = server
    this.#arrivalMs = arrivalMs
    this.#paces = own
    this.#timer = setInterval(() => {
      for (const upload of this.#uploads) this.#look(upload)
    }, own.lookMs).unref()
  }

  /** Watches the body of a request, if it has one, until it has arrived or its client is gone. */
  watch(request: UploadRequest, response: ServerResponse): void {
    const { raw, headers } = request
    if ((headers['transfer-encoding'] ?? headers['content-length']) === undefined) return
    const now = performance.now()
    const upload: Upload = {
      request,
      response,
      isFile: isFile(headers['content-type']),
      startedAt: now,
      lookedAt: now,
      waitedMs: 0,
      bytesBefore: raw.socket.bytesRead,
      isEnding: false,
    }
    this.#uploads.add(upload)
    for (const event of ['end', 'close']) raw.once(event, () => this.#uploads.delete(upload))
    raw.once('end', () => request.heldBody?.complete())
  }

  /** From now on requests that have an answer are not waited for: the rest of their bodies would be thrown away. */
  close(): void {
    this.#isClosing = true
  }

  /** Answers `unavailable` to all that are still arriving. */
  refuseAll(): void {
    for (const upload of this.#uploads)
      if (!upload.request.raw.complete && !upload.response.headersSent)
        this.#end(upload, endingCode)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(upload: Upload): void {
    const { request, response, isFile, startedAt } = upload
    // Nothing reads an empty body, so it has no `end`.
    if (request.raw.complete) return
    if (upload.isEnding) return void request.raw.destroy()
    const isLate = performance.now() - startedAt > this.#arrivalMs
    // The rest of a refused body is read, so that the client reads the refusal; but not forever.
    if (response.headersSent)
      upload.isEnding = isLate || (this.#isClosing && response.writableFinished)
    else if ((isLate && !isFile) || this.#isTooSlow(upload))
      this.#end(upload, 'ERR_HTTP_REQUEST_TIMEOUT')
  }

  /** Answers like Node does to a request that is late. The client has until the next look to read the answer. */
  #end(upload: Upload, code: string): void {
    upload.isEnding = true
    const error = Object.assign(new Error('the body did not arrive'), { code })
    this.#server.emit('clientError', error, upload.request.raw.socket)
  }

  #isTooSlow(upload: Upload): boolean {
    const { lookMs, steadyBytesPerSecond, graceMs, fileGraceMs, bytesPerSecondMin } = this.#paces
    const { raw, heldBody } = upload.request
    const now = performance.now()
    // A late look was held up by the process: what the client sent meanwhile has not been read yet.
    const ms = Math.min(now - upload.lookedAt, 2 * lookMs)
    upload.lookedAt = now
    // The client does not delay what has arrived and was not read yet.
    if (raw.readableLength > 0) return false
    upload.waitedMs += ms
    if (upload.waitedMs < lookMs) return false
    const bytes = raw.socket.bytesRead - upload.bytesBefore
    const isSlower = (bytesPerSecond: number) => bytes < (upload.waitedMs / 1000) * bytesPerSecond
    if (isSlower(steadyBytesPerSecond)) heldBody?.shrink(bytes)
    return upload.waitedMs >= (upload.isFile ? fileGraceMs : graceMs) && isSlower(bytesPerSecondMin)
  }
}

/** Ends uploads that are late, slow, or still arriving when the process ends (`ending`). */
export function limitUploads(
  app: FastifyInstance,
  { arrivalMs, ending }: { arrivalMs: number; ending: AbortSignal },
): void {
  const uploads = new Uploads(app.server, arrivalMs)
  app.addHook('onRequest', (request, reply, done) => {
    uploads.watch(request, reply.raw)
    done()
  })
  app.addHook('preClose', async () => uploads.close())
  app.addHook('onClose', async () => uploads.stop())
  ending.addEventListener('abort', () => uploads.refuseAll())
}
