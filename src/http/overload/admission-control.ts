import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type LoadLimits, listConnections, streamConnections } from '../../config.ts'
import { isFile, type Operation } from '../../contract/document.ts'
import { clientGone, overloaded, type Problem, unavailable } from '../../contract/problem.ts'
import { type PoolUse, poolUse } from '../../database/pool.ts'
import type { Pools } from '../../pools.ts'
import { isGzip } from '../preconditions.ts'
import { FairQueue } from './fair-queue.ts'
import { BodiesInFlight, type HeldBody } from './memory-budget.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The server accepts no new connections; requests still arrive on open ones. */
    isClosing: boolean
  }
  interface FastifyRequest {
    heldBody?: HeldBody
  }
  interface FastifyContextConfig {
    /** Requests are refused when they cannot be answered in time. */
    isShed?: boolean
  }
}

/**
 * Refuses requests that could not be answered in time, before reading their bodies: `overloaded` or
 * `too-many-requests`. Once the server closes, `unavailable`.
 */
export async function admitRequests(
  app: FastifyInstance,
  load: LoadLimits,
  bulkheads: Bulkheads,
): Promise<void> {
  const throttle = new Throttle()
  const bodies = new BodiesInFlight(load.bodiesInFlightBytesMax)
  const delay = ({ caller }: FastifyRequest, refuse: () => void) => {
    const delayMs = throttle.delayMs(caller?.account ?? 0)
    if (delayMs > 0) setTimeout(refuse, delayMs)
    else refuse()
  }
  app.decorate('isClosing', false)
  app.addHook('preClose', async () => {
    app.isClosing = true
  })
  const isLate = watchEventLoop(app, load.eventLoopDelayMaxMs)
  const refusalOf = (operation: Operation, request: FastifyRequest, reply: FastifyReply) => {
    // A client that left while its token was looked up would never give back the room for its body.
    if (reply.raw.destroyed) return clientGone()
    return isLate()
      ? overloaded('More requests come in than can be answered.')
      : (bulkheads[operation.pool].refusal(request.caller?.account ?? 0) ??
          holdBody(bodies, operation, request, reply))
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { operation, isShed } = request.routeOptions.config
    if (!operation || !isShed) return done()
    if (app.isClosing) throw unavailable('The service is shutting down.')
    const refusal = refusalOf(operation, request, reply)
    if (refusal) delay(request, () => done(refusal))
    else done()
  })
}

const resolutionMs = 10
/** The delay is averaged over this time, so that a single pause (startup, garbage collection) sheds nothing. */
const sampleMs = 2000

/**
 * Returns whether the event loop was late in the last sample; with a limit of 0 it never is. @fastify/under-pressure
 * also reads memory usage, which throws, and ends the process, when file descriptors run out.
 */
function watchEventLoop(app: FastifyInstance, delayMaxMs: number): () => boolean {
  if (delayMaxMs === 0) return () => false
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  let isLate = false
  const timer = setInterval(() => {
    isLate = delay.mean / 1e6 - resolutionMs > delayMaxMs
    delay.reset()
  }, sampleMs).unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delay.disable()
  })
  return () => isLate
}

/**
 * Takes room for the body, or returns why there is none. A file takes none, because its rows go to the database as it
 * arrives.
 */
function holdBody(
  bodies: BodiesInFlight,
  { hasBody }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Problem | undefined {
  if (!hasBody || isFile(request.headers['content-type'])) return undefined
  const length = bodyLength(request)
  // A body over the limit is refused before it is read.
  if (length === undefined || length > request.routeOptions.bodyLimit) return undefined
  const body = bodies.begin(request.caller?.account ?? 0, length || undefined)
  try {
    body.grow(length)
  } catch (refusal) {
    return refusal as Problem
  }
  request.heldBody = body
  reply.raw.once('close', () => body.release())
  return undefined
}

/** Bytes of the body; 0 if unknown until it has arrived, undefined without a body. */
function bodyLength(request: FastifyRequest): number | undefined {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined) return 0
  const length = Number(headers['content-length'] ?? 0) || undefined
  return length !== undefined && isGzip(request) ? 0 : length
}

/** A refusal takes about 0.15 ms of CPU time; no delay is longer than the shortest `Retry-After`. */
const pace = { perSecond: 300, delayMaxMs: 1000 }

/**
 * Delays the refusals of an account that gets many per second. When a thousand connections each retried as soon as they
 * were refused, a seventh of the goodput was left.
 */
export class Throttle {
  readonly #pace: typeof pace
  /** When each account's next refusal may be sent; the most recently refused account is last. */
  readonly #nextAt = new Map<number, number>()

  constructor(own = pace) {
    this.#pace = own
  }

  /** How many ms to delay the account's current refusal, which is counted. */
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

/** The seats for each pool whose connections requests wait for. */
export type Bulkheads = Readonly<Record<'reads' | 'lists' | 'writes' | 'streams', FairQueue>>

/** How long a request waits for the database while other accounts use it. */
const waitMs = 1400

/** Creates queues in which no account can keep the others from a connection. */
export function createBulkheads({
  databaseConnections,
  waitingMax,
  accountWaitingMax: waitingOfAccountMax,
  accountWritesMax,
  accountWaitMs: waitOwnMs,
}: LoadLimits): Bulkheads {
  const shared = { waitMs, waitingMax, waitingOfAccountMax }
  const short = { ...shared, seatsMax: databaseConnections }
  // Leaves a connection for other accounts, unless there is only one.
  const readsOfAccountMax = Math.max(databaseConnections - 1, 1)
  // A client may take minutes for a file, so an account gets at most half of the connections.
  const seatsOfAccountMax = streamConnections / 2
  const long = { ...shared, seatsMax: streamConnections, seatsOfAccountMax, waitOwnMs }
  return {
    reads: new FairQueue({ ...short, seatsOfAccountMax: readsOfAccountMax, waitOwnMs: waitMs }),
    // A page may take seconds, so an account gets one at a time.
    lists: new FairQueue({
      ...shared,
      seatsMax: listConnections(databaseConnections),
      seatsOfAccountMax: 1,
      waitOwnMs,
    }),
    writes: new FairQueue({ ...short, seatsOfAccountMax: accountWritesMax, waitOwnMs }),
    streams: new FairQueue(long),
  }
}

/** The use of each pool; requests that wait in its bulkhead count as waiting for it. */
export function poolsInUse(
  pools: Pools,
  bulkheads: Partial<Record<string, FairQueue>>,
): Record<string, PoolUse> {
  const use = Object.entries(pools).map(([name, pool]): [string, PoolUse] => {
    const { waiting, ...rest } = poolUse(pool)
    return [name, { ...rest, waiting: waiting + (bulkheads[name]?.waiting ?? 0) }]
  })
  return Object.fromEntries(use)
}
