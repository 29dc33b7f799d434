import type { Operation } from '../contract/document.ts'
import { ConnectionFailed } from '../database/errors.ts'
import type { Database } from '../database/pool.ts'
import type { Pools } from '../pools.ts'

/** An account reads what it has written: for so long after another call its prices are read from the first database. */
const followMs = 1000
const accountsMax = 10_000

/** Where the operations of a process run: price reads where DATABASE_READ_URL leads, if it is set. */
export class PriceReads {
  readonly #pools: Pools
  /** When each account last did something else than read prices (`performance.now()`). */
  readonly #others = new Map<number, number>()

  constructor(pools: Pools) {
    this.#pools = pools
  }

  /** Does a call of an operation; its end is noted. */
  follow<T>({ id }: Operation, account: number, call: () => Promise<T>): Promise<T> {
    return this.#pools.replica && id !== 'getPrices'
      ? call().finally(() => this.#note(account))
      : call()
  }

  /** Runs `work` of an operation on its database; on the first one if the other accepts no connection. */
  run<T>({ id, pool }: Operation, account: number, work: (db: Database) => Promise<T>): Promise<T> {
    const { replica } = this.#pools
    if (!replica || id !== 'getPrices' || this.#isFollowing(account)) return work(this.#pools[pool])
    return work(replica).catch((error) => {
      if (!(error instanceof ConnectionFailed)) throw error
      return work(this.#pools[pool])
    })
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
