import { clientGone, overloaded, type Problem, refusalOf } from '../../contract/problem.ts'

/** How many may work at once and wait, in all and of one account, and how long they wait. */
export interface QueueLimits extends TurnLimits {
  waitingMax: number
  waitingOfAccountMax: number
  /** While other accounts have all the turns. */
  waitMs: number
  /** While the account itself gets turns. */
  waitOwnMs: number
}

/** Whose request it is; `close` tells that nobody waits for its answer any more. */
export interface Client {
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** Timers and the clock are not of one mind. */
const earlyMs = 5

/** How much a new duration counts in the mean. */
const weight = 0.1

/**
 * Turns at something of which there are few (connections of a pool). Accounts with work waiting get them one after the
 * other, so that one that sends much waits for itself and not the others for it.
 */
export class FairQueue {
  readonly #limits: QueueLimits
  readonly #lanes: Lanes
  #waiting = 0
  #meanMs = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
    this.#lanes = new Lanes(limits)
  }

  /** How many wait for their turns. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * `overloaded`, or `too-many-requests` where it is the account's own doing, when no more may wait or when those whose
   * turns come before are likely to take longer than it may wait; nothing for an account that has a turn at once.
   */
  refusal(account: number): Problem | undefined {
    const lane = this.#lanes.of(account)
    if (this.#lanes.hasTurnFor(lane)) return undefined
    const { length } = lane.waiting
    if (length >= this.#limits.waitingOfAccountMax) return this.#tooMany(length)
    const { waitMs: othersMs, waitOwnMs } = this.#limits
    const waitMs = hasTurns(lane, performance.now() - othersMs) ? waitOwnMs : othersMs
    const before = this.#lanes.countBefore(lane)
    // Some may always wait: what came before says little about a few.
    const isLong = before > this.#limits.turnsMax * 4 && this.#waitMs(before) > waitMs
    if (!isLong && this.#waiting < this.#limits.waitingMax) return undefined
    return overloaded('Too many requests wait for the database.', this.#seconds(this.#waiting))
  }

  /** Runs `work` when it is the account's turn. Throws a `refusal`, also after the longest wait. */
  async run<T>(account: number, client: Client, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.of(account)
    if (this.#lanes.hasTurnFor(lane)) this.#lanes.start(account, lane)
    else {
      const refusal = this.refusal(account)
      if (refusal) throw refusal
      await this.#wait(account, lane, client)
    }
    const began = performance.now()
    try {
      return await work()
    } finally {
      this.#meanMs += weight * (performance.now() - began - this.#meanMs)
      this.#lanes.end(account, lane)
    }
  }

  async #wait(account: number, lane: Lane, client: Client): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let onClose = () => {}
    this.#waiting++
    try {
      await new Promise<void>((start, refuse) => {
        const since = performance.now()
        const waiter = { since, lookedAt: since, start, refuse }
        this.#lanes.wait(account, lane, waiter)
        onClose = () => this.#lanes.leave(account, lane, waiter, clientGone())
        client.once('close', onClose)
        timer = setInterval(() => this.#lookAt(account, lane, waiter), this.#limits.waitMs)
      })
    } finally {
      this.#waiting--
      clearInterval(timer)
      client.off('close', onClose)
    }
  }

  /** Ends a wait that is too long. */
  #lookAt(account: number, lane: Lane, waiter: Waiter): void {
    const isOwnDoing = hasTurns(lane, waiter.lookedAt)
    const sinceLookMs = performance.now() - waiter.lookedAt
    waiter.lookedAt += sinceLookMs
    // A look that comes this late was held up by our own pause: there were no turns meanwhile.
    if (sinceLookMs > this.#limits.waitMs * 2) {
      waiter.since += sinceLookMs
      return
    }
    // The look may be a millisecond early; the next is as long away as the first was.
    if (isOwnDoing && waiter.lookedAt - waiter.since + earlyMs < this.#limits.waitOwnMs) return
    const problem = isOwnDoing
      ? this.#tooMany(lane.waiting.length)
      : overloaded('The database is busy.', this.#seconds(this.#waiting))
    this.#lanes.leave(account, lane, waiter, problem)
  }

  #tooMany(waiting: number): Problem {
    const detail = 'Too many requests of this account wait already.'
    return refusalOf('too-many-requests', detail, this.#seconds(waiting))
  }

  /** How long it is likely to take until so many have had their turn. */
  #waitMs(waiting: number): number {
    return (waiting * this.#meanMs) / this.#limits.turnsMax
  }

  #seconds(waiting: number): number {
    return Math.min(Math.max(Math.ceil(this.#waitMs(waiting) / 1000), 1), 60)
  }
}

/** Whether an account has turns, or had one since: then others do not hold it up, but the requests that it sent before. */
function hasTurns({ running, startedAt }: Lane, since: number): boolean {
  return running > 0 || startedAt >= since
}

/** One who waits for a turn. */
interface Waiter {
  since: number
  /** When it was last looked at whether this is too long. */
  lookedAt: number
  start(): void
  refuse(reason: unknown): void
}

/** The turns of one account: those under way, and those that are waited for. */
interface Lane {
  running: number
  /** When the account had a turn last. */
  startedAt: number
  waiting: Waiter[]
}

interface TurnLimits {
  turnsMax: number
  turnsOfAccountMax: number
}

/** Who has a turn and whose is the next: accounts get them one after the other. */
class Lanes {
  readonly #limits: TurnLimits
  /** In the order of their next turns; only of accounts that have turns or wait for one. */
  readonly #lanes = new Map<number, Lane>()
  #running = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  of(account: number): Lane {
    return (
      this.#lanes.get(account) ?? { running: 0, startedAt: Number.NEGATIVE_INFINITY, waiting: [] }
    )
  }

  hasTurnFor({ running }: Lane): boolean {
    return this.#running < this.#limits.turnsMax && running < this.#limits.turnsOfAccountMax
  }

  /** How many of those who wait have their turns before one more of the account, whatever another one has sent. */
  countBefore(lane: Lane): number {
    if (this.hasTurnFor(lane)) return 0
    const own = lane.waiting.length
    let count = own
    for (const other of this.#lanes.values())
      if (other !== lane) count += Math.min(other.waiting.length, own + 1)
    return count
  }

  start(account: number, lane: Lane): void {
    this.#running++
    lane.running++
    lane.startedAt = performance.now()
    this.#lanes.set(account, lane)
  }

  /** Gives the turn to who is next; the account's own next one comes after those of all others. */
  end(account: number, lane: Lane): void {
    this.#running--
    lane.running--
    this.#lanes.delete(account)
    if (lane.running + lane.waiting.length > 0) this.#lanes.set(account, lane)
    this.#startNext()
  }

  /** Who has the fewest turns is next. */
  #startNext(): void {
    let next: [number, Lane] | undefined
    for (const [account, lane] of this.#lanes) {
      const isCandidate = lane.waiting.length > 0 && this.hasTurnFor(lane)
      if (isCandidate && !(next && next[1].running <= lane.running)) next = [account, lane]
    }
    if (!next) return
    this.start(...next)
    next[1].waiting.shift()?.start()
  }

  wait(account: number, lane: Lane, waiter: Waiter): void {
    lane.waiting.push(waiter)
    this.#lanes.set(account, lane)
  }

  /** Ends a wait, if it has not ended by a turn. */
  leave(account: number, lane: Lane, waiter: Waiter, reason: unknown): void {
    const at = lane.waiting.indexOf(waiter)
    if (at < 0) return
    lane.waiting.splice(at, 1)
    if (lane.running + lane.waiting.length === 0) this.#lanes.delete(account)
    waiter.refuse(reason)
  }
}
