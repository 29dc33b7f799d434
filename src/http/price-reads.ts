import type { FastifyBaseLogger } from 'fastify'
import type { Operation } from '../contract/document.ts'
import { Problem, type ProblemType } from '../contract/problem.ts'
import { isTimeout, isUnavailable } from '../database/errors.ts'
import type { Database } from '../database/pool.ts'
import type { Pools } from '../pools.ts'

/** An account must see its own writes: for this long after any other call, it reads prices from DATABASE_URL. */
const followMs = 1000
const accountsMax = 10_000

/** What a replica that lags says of a new list. */
const laggingAnswers = new Set<ProblemType>(['price-list-not-found', 'price-list-not-published'])

/** A replica that has failed is left alone for this long; then one read tries it again. */
const restMs = 10_000

/** Chooses where operations run: price reads on DATABASE_READ_URL, if it is set, all others on DATABASE_URL. */
export class PriceReads {
  readonly #pools: Pools
  readonly #log: FastifyBaseLogger
  /** When each account last did something other than read prices (`performance.now()`). */
  readonly #others = new Map<number, number>()
  /** Until when the replica is left alone; undefined if it works. */
  #restsUntil: number | undefined

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
   * Runs `work` on the operation's database. Repeats it on DATABASE_URL if the replica does not respond, or does not
   * know the list yet.
   */
  async run<T>(
    { id, pool }: Operation,
    account: number,
    work: (db: Database) => Promise<T>,
  ): Promise<T> {
    const { replica, [pool]: first } = this.#pools
    if (!replica || id !== 'getPrices' || this.#isFollowing(account) || this.#rests())
      return work(first)
    try {
      const result = await work(replica)
      this.#restsUntil = undefined
      return result
    } catch (error) {
      if (error instanceof Problem && laggingAnswers.has(error.type)) return work(first)
      // A statement that took too long says nothing of the replica.
      if (error instanceof Problem || isTimeout(error) || !isUnavailable(error)) throw error
      this.#rest(error)
      return work(first)
    }
  }

  /** Whether the replica is left alone. Of the reads after its rest, only the first tries it. */
  #rests(): boolean {
    if (this.#restsUntil === undefined) return false
    if (performance.now() < this.#restsUntil) return true
    this.#restsUntil = performance.now() + restMs
    return false
  }

  #rest(error: unknown): void {
    if (this.#restsUntil === undefined)
      this.#log.warn(error, 'DATABASE_READ_URL does not respond: DATABASE_URL serves its reads')
    this.#restsUntil = performance.now() + restMs
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
