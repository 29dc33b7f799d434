import type { IncomingMessage, Server } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { HeldBody } from './memory-budget.ts'

const paces = {
  lookMs: 1000,
  /** Slower than this a body is counted by what has arrived: what it is going to be takes no room from others. */
  steadyBytesPerSecond: 100 * 1024,
  /** A line may be slow to start, but not for long and not to nearly nothing. */
  graceMs: 10_000,
  /** What makes a file may take a minute to begin. */
  fileGraceMs: 60_000,
  bytesPerSecondMin: 1024,
}

interface Arrival {
  request: IncomingMessage
  /** undefined: its bytes are not held, it is a file. */
  body: HeldBody | undefined
  /** By its Content-Length; undefined: it is chunked, and counted as it arrives. */
  length: number | undefined
  lookedAt: number
  /** How long we have waited for the client, and not the client for us. */
  waitedMs: number
  bytesBefore: number
}

/** The bodies that are on their way. Those that hardly arrive hold no room, and are ended after a while. */
export class Arrivals {
  readonly #arrivals = new Set<Arrival>()
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, pace = paces) {
    this.#timer = setInterval(() => {
      for (const arrival of this.#arrivals) lookAt(arrival, server, pace)
    }, pace.lookMs).unref()
  }

  /** Watches until the body is there or its client is gone. */
  watch(request: IncomingMessage, body?: HeldBody, length?: number): void {
    const bytesBefore = request.socket.bytesRead
    const arrival = { request, body, length, lookedAt: performance.now(), waitedMs: 0, bytesBefore }
    this.#arrivals.add(arrival)
    const leave = () => this.#arrivals.delete(arrival)
    request.once('close', leave).once('end', () => {
      leave()
      if (length !== undefined) body?.recount(length)
    })
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

function lookAt(
  arrival: Arrival,
  server: Server,
  { lookMs, steadyBytesPerSecond, graceMs, fileGraceMs, bytesPerSecondMin }: typeof paces,
): void {
  const { request, body, length } = arrival
  const now = performance.now()
  // A look that comes late was held up by our own pause: what the client sent meanwhile was not read yet.
  const ms = Math.min(now - arrival.lookedAt, 2 * lookMs)
  arrival.lookedAt = now
  // What has arrived and was not read yet is not the client's delay.
  if (request.complete || request.readableLength > 0) return
  arrival.waitedMs += ms
  if (arrival.waitedMs < lookMs) return
  const bytes = request.socket.bytesRead - arrival.bytesBefore
  const isSlow = (bytesPerSecond: number) => bytes < (arrival.waitedMs / 1000) * bytesPerSecond
  if (length !== undefined && isSlow(steadyBytesPerSecond)) body?.recount(Math.min(bytes, length))
  if (arrival.waitedMs >= (body ? graceMs : fileGraceMs) && isSlow(bytesPerSecondMin))
    endRequest(server, request)
}

/** As Node does with a request that is not there in time; then the client has a moment to read why. */
function endRequest(server: Server, request: IncomingMessage): void {
  const timedOut = Object.assign(new Error('body too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  server.emit('clientError', timedOut, request.socket)
  setTimeout(() => request.destroy(), 500).unref()
}

/** A body is still arriving and the process ends. */
export const endingCode = 'ERR_PROCESS_ENDING'

/** Answers `unavailable` to the requests that are still arriving at `ending`. */
export function refuseLateUploads(app: FastifyInstance, ending: AbortSignal): void {
  const open = new Set<FastifyReply>()
  app.addHook('onRequest', async (_request, reply) => {
    open.add(reply)
    reply.raw.once('close', () => open.delete(reply))
  })
  ending.addEventListener('abort', () => {
    for (const { request, raw } of open) {
      if (request.raw.complete || raw.headersSent) continue
      const error = Object.assign(new Error('the process ends'), { code: endingCode })
      app.server.emit('clientError', error, request.raw.socket)
    }
  })
}

/** Who was refused has this long to read why, where the process ends meanwhile. */
const readMs = 500

/** Once the server closes, waits for nobody who has an answer and has not sent the whole body: it would be thrown away. */
export function endAnsweredUploads(app: FastifyInstance): void {
  const answered = new Set<IncomingMessage>()
  let isClosing = false
  const endSoon = (request: IncomingMessage) =>
    void setTimeout(() => {
      if (!request.complete) request.destroy()
    }, readMs).unref()
  app.addHook('onResponse', async ({ raw }) => {
    if (raw.complete || raw.destroyed) return
    if (isClosing) return endSoon(raw)
    answered.add(raw)
    for (const event of ['end', 'close']) raw.once(event, () => answered.delete(raw))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    for (const request of answered) endSoon(request)
  })
}
