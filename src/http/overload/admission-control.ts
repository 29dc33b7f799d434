import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { isFile, type Operation } from '../../contract/document.ts'
import { overloaded, type Problem, unavailable } from '../../contract/problem.ts'
import { isGzip } from '../preconditions.ts'
import type { Turns } from './bulkheads.ts'
import type { FairQueue } from './fair-queue.ts'
import { BodiesInFlight, type HeldBody, UnreadAnswers } from './memory-budget.ts'
import { Arrivals } from './upload-deadlines.ts'

declare module 'fastify' {
  interface FastifyRequest {
    heldBody?: HeldBody
  }
}

/** Decides which requests are taken up when there are more than can be done. */
export interface Admission {
  /** `overloaded` or `too-many-requests` for whoever would wait too long; asking changes nothing. */
  refusal(operation: Operation, account: number): Problem | undefined
  /** Takes a request up; throws `overloaded` or `too-many-requests`, before the body is read. */
  admit(operation: Operation, request: FastifyRequest, reply: FastifyReply): void
  /** What clients have not read yet. */
  unread: UnreadAnswers
  /** The turns of requests at the connections of its pool. */
  queueOf(operation: Operation): FairQueue
  /** Those, and the turns at the connections for what lasts as long as its client takes. */
  turns: Turns
}

/** The admission of a server; it ends with it. */
export function createAdmission(app: FastifyInstance, { load }: Config, turns: Turns): Admission {
  const bodies = new BodiesInFlight(load.bodiesInFlightBytesMax)
  const loopDelay = new LoopDelay(load.eventLoopDelayMaxMs)
  const arrivals = new Arrivals(app.server)
  const queueOf = ({ pool }: Operation) => turns[pool]
  app.addHook('preParsing', countChunks)
  app.addHook('onClose', async () => {
    loopDelay.stop()
    arrivals.stop()
  })
  const refusal: Admission['refusal'] = (operation, account) =>
    loopDelay.isOver
      ? overloaded('More requests come in than can be answered.')
      : queueOf(operation).refusal(account)
  const admit: Admission['admit'] = (operation, request, reply) => {
    const account = request.caller?.account ?? 0
    const refused = refusal(operation, account)
    if (refused) throw refused
    if (!operation.hasBody) return
    // A file is not held: its rows go to the database as they arrive.
    if (isFile(request.headers['content-type'])) return arrivals.watch(request.raw)
    // One over the limit is refused before it is read, and so takes no memory.
    const length = bodyLength(request)
    if (length === undefined || length > request.routeOptions.bodyLimit) return
    const body = bodies.begin(account)
    body.grow(length)
    request.heldBody = body
    reply.raw.once('close', () => body.release())
    arrivals.watch(request.raw, body, length || undefined)
  }
  return { refusal, admit, unread: new UnreadAnswers(), queueOf, turns }
}

/** Bytes of the body, 0 if they are known only when it has arrived; undefined: it has none. */
function bodyLength(request: FastifyRequest): number | undefined {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined) return 0
  const length = Number(headers['content-length'] ?? 0) || undefined
  return length !== undefined && isGzip(request) ? 0 : length
}

/**
 * Counts as it arrives what is not counted yet: a chunked body, and one that was slow and has given its room to others.
 * Not async: whoever reads the body must do so before its first chunk is given out.
 */
function countChunks<Payload extends NodeJS.EventEmitter>(
  { heldBody }: FastifyRequest,
  _reply: FastifyReply,
  payload: Payload,
  done: (error: null, payload: Payload) => void,
): void {
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    try {
      if (heldBody && heldBody.bytes < bytes) heldBody.grow(bytes)
    } catch (error) {
      payload.off('data', count).emit('error', error)
    }
  }
  if (heldBody) payload.on('data', count)
  done(null, payload)
}

/** Refusals of an account in a second that are answered at once. One takes the processor about 0.15 ms. */
const perSecond = 300
/** No delay is longer than the shortest `Retry-After`. */
const delayMaxMs = 1000

/**
 * Delays the refusals of an account that gets many, one after the other. A thousand connections that came again as soon
 * as each was refused left a seventh of the goodput.
 */
export class Throttle {
  readonly #pace: { perSecond: number; delayMaxMs: number }
  /** When the next refusal of an account may be answered; the account that was refused last comes last. */
  readonly #nextAt = new Map<number, number>()

  constructor(pace = { perSecond, delayMaxMs }) {
    this.#pace = pace
  }

  /** How long the refusal that the account gets now is to be delayed. */
  delayMs(account: number): number {
    const now = performance.now()
    const next = Math.max(this.#nextAt.get(account) ?? 0, now)
    const at = Math.min(next, now + this.#pace.delayMaxMs)
    this.#nextAt.delete(account)
    this.#nextAt.set(account, at + 1000 / this.#pace.perSecond)
    this.#forgetPast(now)
    return at - now
  }

  #forgetPast(now: number): void {
    for (const [account, at] of this.#nextAt) {
      if (at > now) return
      this.#nextAt.delete(account)
    }
  }
}

const intervalMs = 20
/** A single long pause (garbage collection, a machine that slept) is none that lasts. */
const looksMin = 3

/** Whether the event loop is late, again and again: then there is more work than one processor does. */
class LoopDelay {
  readonly #delayMaxMs: number
  readonly #timer: NodeJS.Timeout
  #due = performance.now() + intervalMs
  #late = 0

  /** 0: it is never late. */
  constructor(delayMaxMs: number) {
    this.#delayMaxMs = delayMaxMs || Number.POSITIVE_INFINITY
    this.#timer = setInterval(() => this.#look(), intervalMs).unref()
  }

  /** The delay was over the limit at each of the last looks. No look, no delay: a block is seen when it ends. */
  get isOver(): boolean {
    return this.#late >= looksMin
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    this.#late = now - this.#due > this.#delayMaxMs ? this.#late + 1 : 0
    this.#due = now + intervalMs
  }
}

/** Throws `unavailable` once the server closes: requests still come on connections that have not ended. */
export function rejectWhileClosing(app: FastifyInstance): () => void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  return () => {
    if (isClosing) throw unavailable('The service is shutting down.')
  }
}
