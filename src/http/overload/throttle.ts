import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** Of one account. A refusal takes the processor 0.03 to 0.06 ms. No hold is longer than the shortest `Retry-After`. */
const pace = { perSecond: 300, holdMaxMs: 1000 }

const lookMs = 20

interface Held {
  socket: Socket
  until: number
}

/**
 * Refusals are answered at once. When an account gets many, its connections are not read for a while: whoever comes
 * again before it was told to costs nothing until then. A thousand connections that did, each refused as fast as it came,
 * left a seventh of the goodput.
 */
export class RefusalPace {
  readonly #pace: typeof pace
  #held: Held[] = []
  /** When the next hold ends at the earliest, of each account that was refused just now. */
  readonly #nextEnds = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(own = pace) {
    this.#pace = own
  }

  /** Counts a request that is refused; once it is whole, its connection is held if its account gets too many refusals. */
  count(account: number, request: IncomingMessage): void {
    request.once('close', () => this.#hold(account, request.socket))
  }

  #hold(account: number, socket: Socket): void {
    const { perSecond, holdMaxMs } = this.#pace
    const now = performance.now()
    const next = Math.max(this.#nextEnds.get(account) ?? 0, now)
    const until = Math.min(next, now + holdMaxMs)
    this.#nextEnds.set(account, until + 1000 / perSecond)
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref()
    if (until - now < lookMs) return
    handleOf(socket)?.readStop()
    this.#held.push({ socket, until })
  }

  #look(): void {
    const now = performance.now()
    for (const { socket, until } of this.#held) if (until <= now) handleOf(socket)?.readStart()
    this.#held = this.#held.filter(({ until }) => until > now)
    for (const [account, next] of this.#nextEnds) if (next <= now) this.#nextEnds.delete(account)
    // Every hold ends before the next one of its account.
    if (this.#nextEnds.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** `pause()` has no effect: the parser of HTTP takes what arrives from the handle. */
function handleOf(socket: Socket): { readStop(): void; readStart(): void } | undefined {
  return (socket as never as { _handle?: ReturnType<typeof handleOf> })._handle ?? undefined
}
