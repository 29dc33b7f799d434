/** One who waits for a turn. */
export interface Waiter {
  since: number
  /** When it was last looked at whether this is too long. */
  lookedAt: number
  start(): void
  refuse(reason: unknown): void
}

/** The turns of one account: those under way, and those that are waited for. */
export interface Lane {
  running: number
  /** When the account had a turn last. */
  startedAt: number
  waiting: Waiter[]
}

export interface TurnLimits {
  turnsMax: number
  turnsOfAccountMax: number
}

/** Who has a turn and whose is the next: accounts get them one after the other. */
export class Lanes {
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
