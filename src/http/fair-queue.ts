import { Problem } from '../contract/problem.ts'
import { clientGone, overloaded } from './overloaded.ts'

/** How many may work at once and wait, in all and of one account, and how long they wait. */
export interface QueueLimits {
  turnsMax: number
  turnsOfAccountMax: number
  waitingMax: number
  waitingOfAccountMax: number
  /** While other accounts have all the turns. */
  waitMs: number
  /** While the account itself has turns. */
  waitOwnMs: number
}

/** Whose request it is; `close` tells that nobody waits for its answer any more. */
export interface Client {
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

interface Waiter {
  since: number
  start(): void
  refuse(reason: unknown): void
}

/** The turns of one account: those under way, and those that are waited for. */
interface Lane {
  running: number
  waiting: Waiter[]
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
  /** In the order of their next turns. */
  readonly #lanes = new Map<number, Lane>()
  #running = 0
  #waiting = 0
  #meanMs = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /**
   * `overloaded`, or `too-many-requests` where it is the account's own doing, when no more may wait or when those who
   * wait already are likely to take longer than it may wait.
   */
  refusal(account: number): Problem | undefined {
    const { running, waiting } = this.#lanes.get(account) ?? { running: 0, waiting: [] }
    if (waiting.length >= this.#limits.waitingOfAccountMax) return this.#tooMany(waiting.length)
    const waitMs = running > 0 ? this.#limits.waitOwnMs : this.#limits.waitMs
    // Some may always wait: what came before says little about a few.
    const isLong = this.#waiting > this.#limits.turnsMax * 4 && this.#waitMs(this.#waiting) > waitMs
    if (!isLong && this.#waiting < this.#limits.waitingMax) return undefined
    return overloaded('Too many requests wait for the database.', this.#seconds(this.#waiting))
  }

  /** Runs `work` when it is the account's turn. Throws a `refusal`, also after the longest wait. */
  async run<T>(account: number, client: Client, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(account) ?? { running: 0, waiting: [] }
    if (this.#isFree(lane)) this.#start(account, lane)
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
      this.#end(account, lane)
    }
  }

  #isFree({ running }: Lane): boolean {
    return this.#running < this.#limits.turnsMax && running < this.#limits.turnsOfAccountMax
  }

  #start(account: number, lane: Lane): void {
    this.#running++
    lane.running++
    this.#lanes.set(account, lane)
  }

  /** Gives the turn on; the account's next one comes after those of all others. */
  #end(account: number, lane: Lane): void {
    this.#running--
    lane.running--
    this.#lanes.delete(account)
    if (lane.running + lane.waiting.length > 0) this.#lanes.set(account, lane)
    if (this.#waiting > 0) this.#startNext()
  }

  /** Who has the fewest turns is next. */
  #startNext(): void {
    let next: [number, Lane] | undefined
    for (const [account, lane] of this.#lanes) {
      const isCandidate = lane.waiting.length > 0 && this.#isFree(lane)
      if (isCandidate && !(next && next[1].running <= lane.running)) next = [account, lane]
    }
    if (!next) return
    this.#start(...next)
    next[1].waiting.shift()?.start()
  }

  async #wait(account: number, lane: Lane, client: Client): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let onClose = () => {}
    this.#waiting++
    try {
      await new Promise<void>((start, refuse) => {
        const waiter = { since: Date.now(), start, refuse }
        lane.waiting.push(waiter)
        this.#lanes.set(account, lane)
        onClose = () => this.#leave(account, lane, waiter, clientGone())
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
    const isOwnDoing = lane.running > 0
    // The look may be a millisecond early; the next is as long away as the first was.
    if (isOwnDoing && Date.now() - waiter.since + earlyMs < this.#limits.waitOwnMs) return
    const problem = isOwnDoing
      ? this.#tooMany(lane.waiting.length)
      : overloaded('The database is busy.', this.#seconds(this.#waiting))
    this.#leave(account, lane, waiter, problem)
  }

  #leave(account: number, lane: Lane, waiter: Waiter, reason: unknown): void {
    const at = lane.waiting.indexOf(waiter)
    if (at < 0) return
    lane.waiting.splice(at, 1)
    if (lane.running + lane.waiting.length === 0) this.#lanes.delete(account)
    waiter.refuse(reason)
  }

  #tooMany(waiting: number): Problem {
    const seconds = this.#seconds(waiting)
    return new Problem('too-many-requests', 'Too many requests of this account wait already.', {
      headers: { 'retry-after': String(seconds) },
    })
  }

  /** How long it is likely to take until so many have had their turn. */
  #waitMs(waiting: number): number {
    return (waiting * this.#meanMs) / this.#limits.turnsMax
  }

  #seconds(waiting: number): number {
    return Math.min(Math.max(Math.ceil(this.#waitMs(waiting) / 1000), 1), 60)
  }
}
