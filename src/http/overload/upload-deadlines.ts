import type { Server, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isFile } from '../../contract/document.ts'

const paces = {
  lookMs: 1000,
  /** A slower body takes only what has arrived from the memory budget, not what it announced. */
  steadyBytesPerSecond: 100 * 1024,
  /** The minimum rate applies after this time, because a connection may be slow to start. */
  graceMs: 10_000,
  /** The program that makes a file may take a minute to begin. */
  fileGraceMs: 60_000,
  bytesPerSecondMin: 1024,
}

/** The client error code for requests that are still arriving when the process ends. */
export const endingCode = 'ERR_PROCESS_ENDING'

type UploadRequest = Pick<FastifyRequest, 'raw' | 'headers' | 'heldBody'>

interface Upload {
  request: UploadRequest
  response: ServerResponse
  isFile: boolean
  startedAt: number
  lookedAt: number
  /** How long the service has waited for the client, excluding waits of the client for the service. */
  waitedMs: number
  bytesBefore: number
  /** The request is answered; the next check ends the upload. */
  isEnding: boolean
}

/** Watches the bodies that are arriving and ends those that are late or slower than the minimum rate. */
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

  /** Watches the body of a request, if it has one, until it has arrived or the client is gone. */
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

  /** From now on, ends answered requests without waiting for them: the rest of their bodies would be discarded. */
  close(): void {
    this.#isClosing = true
  }

  /** Refuses all requests that are still arriving with `unavailable`. */
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
    // Nothing reads an empty body, so it emits no `end`.
    if (request.raw.complete) return
    if (upload.isEnding) return void request.raw.destroy()
    const isLate = performance.now() - startedAt > this.#arrivalMs
    // The rest of a refused body is read so that the client sees the refusal, but not forever.
    if (response.headersSent)
      upload.isEnding = isLate || (this.#isClosing && response.writableFinished)
    else if ((isLate && !isFile) || this.#isTooSlow(upload))
      this.#end(upload, 'ERR_HTTP_REQUEST_TIMEOUT')
  }

  /** Responds as Node does to a late request. The client has until the next check to read the response. */
  #end(upload: Upload, code: string): void {
    upload.isEnding = true
    const error = Object.assign(new Error('the body did not arrive'), { code })
    this.#server.emit('clientError', error, upload.request.raw.socket)
  }

  #isTooSlow(upload: Upload): boolean {
    const { lookMs, steadyBytesPerSecond, graceMs, fileGraceMs, bytesPerSecondMin } = this.#paces
    const { raw, heldBody } = upload.request
    const now = performance.now()
    // A late check was held up by the process, which has not yet read what the client sent meanwhile.
    const ms = Math.min(now - upload.lookedAt, 2 * lookMs)
    upload.lookedAt = now
    // The client is not to blame while arrived bytes are unread.
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
