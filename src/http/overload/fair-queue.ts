import { clientGone, overloaded, type Problem, refusalOf } from '../../contract/problem.ts'

/** How many requests may run and wait, in total and per account, and how long they may wait. */
export interface QueueLimits extends SeatLimits {
  waitingMax: number
  waitingOfAccountMax: number
  /** The longest wait while other accounts have all the seats. */
  waitMs: number
  /** The longest wait while the account itself has seats. */
  waitOwnMs: number
}

/** The response to a request; `close` means that the client no longer waits for it. */
export interface Client {
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** Timers may fire a little early by the clock. */
const earlyMs = 5

/** The weight of a new duration in the moving average. */
const weight = 0.1

/**
 * Seats that limit how much work runs at the same time, such as statements on the connections of a pool. Waiting
 * accounts get seats in turn, so an account that sends a lot delays only itself.
 */
export class FairQueue {
  readonly #limits: QueueLimits
  readonly #flows: Flows
  #waiting = 0
  #meanMs = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
    this.#flows = new Flows(limits)
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * The refusal for one more request of the account, or undefined if it gets a seat immediately or may wait:
   * `too-many-requests` if too many of its own requests wait, `overloaded` if too many wait in total or those ahead are
   * likely to take longer than it may wait.
   */
  refusal(account: number): Problem | undefined {
    const flow = this.#flows.of(account)
    if (this.#flows.hasSeatFor(flow)) return undefined
    const { length } = flow.waiting
    if (length >= this.#limits.waitingOfAccountMax) return this.#tooMany(length)
    const { waitMs: othersMs, waitOwnMs } = this.#limits
    const waitMs = hasSeats(flow, performance.now() - othersMs) ? waitOwnMs : othersMs
    const before = this.#flows.countBefore(flow)
    // A few may always wait: the average says little about them.
    const isLong = before > this.#limits.seatsMax * 4 && this.#waitMs(before) > waitMs
    if (!isLong && this.#waiting < this.#limits.waitingMax) return undefined
    return overloaded('Too many requests wait for the database.', this.#seconds(this.#waiting))
  }

  /**
   * Runs `work` on a seat of the account. Throws a refusal, immediately or after the longest wait, or `clientGone()`.
   */
  async run<T>(account: number, client: Client, work: () => Promise<T>): Promise<T> {
    const flow = this.#flows.of(account)
    if (this.#flows.hasSeatFor(flow)) this.#flows.start(account, flow)
    else {
      const refusal = this.refusal(account)
      if (refusal) throw refusal
      await this.#wait(account, flow, client)
    }
    const began = performance.now()
    try {
      return await work()
    } finally {
      this.#meanMs += weight * (performance.now() - began - this.#meanMs)
      this.#flows.end(account, flow)
    }
  }

  async #wait(account: number, flow: Flow, client: Client): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let onClose = () => {}
    this.#waiting++
    try {
      await new Promise<void>((start, refuse) => {
        const since = performance.now()
        const waiter = { since, lookedAt: since, start, refuse }
        this.#flows.wait(account, flow, waiter)
        onClose = () => this.#flows.leave(account, flow, waiter, clientGone())
        client.once('close', onClose)
        timer = setInterval(() => this.#look(account, flow, waiter), this.#limits.waitMs)
      })
    } finally {
      this.#waiting--
      clearInterval(timer)
      client.off('close', onClose)
    }
  }

  /** Ends a wait that is too long. */
  #look(account: number, flow: Flow, waiter: Waiter): void {
    const isOwnDoing = hasSeats(flow, waiter.lookedAt)
    const sinceLookMs = performance.now() - waiter.lookedAt
    waiter.lookedAt += sinceLookMs
    // If a check is this late, the process itself was paused and no request got a seat meanwhile.
    if (sinceLookMs > this.#limits.waitMs * 2) {
      waiter.since += sinceLookMs
      return
    }
    // The check may be a millisecond early, and the next one is a whole interval away.
    if (isOwnDoing && waiter.lookedAt - waiter.since + earlyMs < this.#limits.waitOwnMs) return
    const problem = isOwnDoing
      ? this.#tooMany(flow.waiting.length)
      : overloaded('The database is busy.', this.#seconds(this.#waiting))
    this.#flows.leave(account, flow, waiter, problem)
  }

  #tooMany(waiting: number): Problem {
    const detail = 'Too many requests of this account wait already.'
    return refusalOf('too-many-requests', detail, this.#seconds(waiting))
  }

  /** How many ms it is likely to take until `waiting` requests have had a seat. */
  #waitMs(waiting: number): number {
    return (waiting * this.#meanMs) / this.#limits.seatsMax
  }

  #seconds(waiting: number): number {
    return Math.min(Math.max(Math.ceil(this.#waitMs(waiting) / 1000), 1), 60)
  }
}

/**
 * Whether the account has seats, or got one after `since`: then it waits for its own earlier requests, not for others.
 */
function hasSeats({ running, startedAt }: Flow, since: number): boolean {
  return running > 0 || startedAt >= since
}

interface Waiter {
  since: number
  /** When its wait was last compared with the longest allowed. */
  lookedAt: number
  start(): void
  refuse(reason: unknown): void
}

/** The requests of one account, running and waiting. */
interface Flow {
  running: number
  /** When the account last got a seat. */
  startedAt: number
  waiting: Waiter[]
}

interface SeatLimits {
  seatsMax: number
  seatsOfAccountMax: number
}

/** The flows of all accounts with running or waiting requests, in the order in which they get the next seats. */
class Flows {
  readonly #limits: SeatLimits
  readonly #flows = new Map<number, Flow>()
  #running = 0

  constructor(limits: SeatLimits) {
    this.#limits = limits
  }

  of(account: number): Flow {
    return (
      this.#flows.get(account) ?? { running: 0, startedAt: Number.NEGATIVE_INFINITY, waiting: [] }
    )
  }

  hasSeatFor({ running }: Flow): boolean {
    return this.#running < this.#limits.seatsMax && running < this.#limits.seatsOfAccountMax
  }

  /**
   * How many waiting requests get a seat before a new one of the flow; of other accounts, only those whose turn comes
   * first.
   */
  countBefore(flow: Flow): number {
    const own = flow.waiting.length
    let count = own
    for (const other of this.#flows.values())
      if (other !== flow) count += Math.min(other.waiting.length, own + 1)
    return count
  }

  start(account: number, flow: Flow): void {
    this.#running++
    flow.running++
    flow.startedAt = performance.now()
    this.#flows.set(account, flow)
  }

  /** Passes the seat on and puts the account behind all others. */
  end(account: number, flow: Flow): void {
    this.#running--
    flow.running--
    this.#flows.delete(account)
    if (flow.running + flow.waiting.length > 0) this.#flows.set(account, flow)
    this.#startNext()
  }

  /** The flow with the fewest seats is next. */
  #startNext(): void {
    let next: [number, Flow] | undefined
    for (const [account, flow] of this.#flows) {
      const isCandidate = flow.waiting.length > 0 && this.hasSeatFor(flow)
      if (isCandidate && !(next && next[1].running <= flow.running)) next = [account, flow]
    }
    if (!next) return
    this.start(...next)
    next[1].waiting.shift()?.start()
  }

  wait(account: number, flow: Flow, waiter: Waiter): void {
    flow.waiting.push(waiter)
    this.#flows.set(account, flow)
  }

  /** Ends a wait, unless the request already has its seat. */
  leave(account: number, flow: Flow, waiter: Waiter, reason: unknown): void {
    const at = flow.waiting.indexOf(waiter)
    if (at < 0) return
    flow.waiting.splice(at, 1)
    if (flow.running + flow.waiting.length === 0) this.#flows.delete(account)
    waiter.refuse(reason)
  }
}
