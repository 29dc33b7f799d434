import type { Socket } from 'node:net'

/** A refusal takes the processor 0.05 ms: so many a second take a tenth of it. */
const pace = { perSecond: 2000, waitMaxMs: 250 }

/** Every `Retry-After` is at least as long. */
const retryMs = 1000

/**
 * Refusals are answered at once, but not to clients who come again on the same connection before they were told to: a
 * thousand of those, refused as fast as they came, left a seventh of the goodput.
 */
export class RefusalPace {
  readonly #pace: typeof pace
  readonly #refusedAt = new WeakMap<Socket, number>()
  #lastAt = 0

  constructor(own = pace) {
    this.#pace = own
  }

  /** How many ms the refusal of a request that has come on a connection waits. Counts it. */
  waitMs(socket: Socket, now = performance.now()): number {
    const refusedAt = this.#refusedAt.get(socket) ?? Number.NEGATIVE_INFINITY
    const isTooEarly = now - refusedAt < retryMs
    if (isTooEarly) this.#lastAt = this.#nextAt(now)
    const answeredAt = isTooEarly ? this.#lastAt : now
    this.#refusedAt.set(socket, answeredAt)
    return answeredAt - now
  }

  #nextAt(now: number): number {
    const { perSecond, waitMaxMs } = this.#pace
    return Math.min(Math.max(this.#lastAt + 1000 / perSecond, now), now + waitMaxMs)
  }
}
