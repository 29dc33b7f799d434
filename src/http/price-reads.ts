import type { Operation } from '../contract/document.ts'
import { ConnectionFailed } from '../database/errors.ts'
import type { Database } from '../database/pool.ts'
import type { Pools } from '../pools.ts'

/** An account must see its own writes: for this long after any other call, it reads prices from DATABASE_URL. */
const followMs = 1000
const accountsMax = 10_000

/** Chooses where operations run: price reads on DATABASE_READ_URL, if it is set, all others on DATABASE_URL. */
export class PriceReads {
  readonly #pools: Pools
  /** When each account last did something other than read prices (`performance.now()`). */
  readonly #others = new Map<number, number>()

  constructor(pools: Pools) {
    this.#pools = pools
  }

  /** Runs a call of an operation. With a replica, records when a call other than a price read ends. */
  follow<T>({ id }: Operation, account: number, call: () => Promise<T>): Promise<T> {
    return this.#pools.replica && id !== 'getPrices'
      ? call().finally(() => this.#note(account))
      : call()
  }

  /** Runs `work` on the operation's database; falls back to DATABASE_URL if the replica accepts no connection. */
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
