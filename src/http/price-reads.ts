import type { FastifyBaseLogger } from 'fastify'
import type { Operation } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'
import { isTimeout, isUnavailable } from '../database/errors.ts'
import { findOrigin, isCopyOf } from '../database/nodes.ts'
import type { Database } from '../database/pool.ts'
import type { Pools } from '../pools.ts'

/** An account must see its own writes: for this long after any other call, it reads prices from DATABASE_URL. */
const followMs = 1000
const accountsMax = 10_000

/**
 * While prices are read, the replica is checked this often, and is read for twice this long after each check that it
 * passes. After a failure it is left alone until the next one.
 */
const checkMs = 10_000

/** Chooses where operations run: price reads on DATABASE_READ_URL, if it is set, all others on DATABASE_URL. */
export class PriceReads {
  readonly #pools: Pools
  readonly #log: FastifyBaseLogger
  /** When each account last did something other than read prices (`performance.now()`). */
  readonly #others = new Map<number, number>()
  /** When the next check is due, and until when the replica may be read. */
  #checkAt = 0
  #usableUntil = 0
  /** Whether the log says that the replica is not read. */
  #isReported = false

  constructor(pools: Pools, log: FastifyBaseLogger) {
    this.#pools = pools
    this.#log = log
  }

  /** Runs a call of an operation. With a replica, records when a call other than a price read ends. */
  follow<T>({ id }: Operation, account: number, call: () => Promise<T>): Promise<T> {
    return this.#pools.replica && id !== 'getPrices'
      ? call().finally(() => this.#note(account))
      : call()
  }

  /**
   * Runs `work` on the operation's database. Repeats it on DATABASE_URL if the replica does not respond or finds fault:
   * one that lags may not know the list, its revision or the client yet. A database that is no copy of DATABASE_URL, or
   * no longer one, has other prices: it is not read.
   */
  async run<T>(
    { id, pool }: Operation,
    account: number,
    work: (db: Database) => Promise<T>,
  ): Promise<T> {
    const { replica, [pool]: first } = this.#pools
    if (!replica || id !== 'getPrices' || this.#isFollowing(account) || !this.#isUsable(replica))
      return work(first)
    try {
      return await work(replica)
    } catch (error) {
      if (error instanceof Problem) return work(first)
      // A statement that took too long says nothing of the replica.
      if (isTimeout(error) || !isUnavailable(error)) throw error
      this.#leave(error, 'DATABASE_READ_URL does not respond')
      return work(first)
    }
  }

  #isUsable(replica: Database): boolean {
    const now = performance.now()
    if (now >= this.#checkAt) {
      this.#checkAt = now + checkMs
      void this.#check(replica)
    }
    return now < this.#usableUntil
  }

  /** No read waits for this: until the check is done, they go by the one before. */
  async #check(replica: Database): Promise<void> {
    try {
      const [original, found] = await Promise.all([
        findOrigin(this.#pools.health),
        findOrigin(replica),
      ])
      if (!isCopyOf(original, found))
        return this.#leave({}, 'DATABASE_READ_URL is no copy of DATABASE_URL')
      this.#usableUntil = performance.now() + 2 * checkMs
      this.#isReported = false
    } catch (error) {
      this.#leave(error, 'DATABASE_READ_URL cannot be compared with DATABASE_URL')
    }
  }

  #leave(error: unknown, reason: string): void {
    if (!this.#isReported) this.#log.warn(error, `${reason}: DATABASE_URL serves its reads`)
    this.#isReported = true
    this.#usableUntil = 0
  }

  #note(account: number): void {
    this.#others.delete(account)
    this.#others.set(account, performance.now())
    const [oldest] = this.#others.keys()
    if (oldest !== undefined && this.#others.size > accountsMax) this.#others.delete(oldest)
  }

  #isFollowing(account: number): boolean {
    return performance.now() - (this.#others.get(account) ?? -followMs) < followMs
  }
}
