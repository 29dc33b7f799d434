import { Problem } from '../contract/problem.ts'

/** Of an account, in a process: each holds a connection, and is sent all that its job has done. */
const watchersMax = 100
const retrySeconds = 5

/** Counts the streams of each account that are open. */
export class Watchers {
  readonly #open = new Map<number, number>()

  /** Throws `too-many-requests` when the account has as many as it may have. */
  rejectMany(account: number): void {
    if (this.#countOf(account) < watchersMax) return
    const detail = `This account watches jobs by ${watchersMax} streams already.`
    throw new Problem('too-many-requests', detail, {
      headers: { 'retry-after': String(retrySeconds) },
    })
  }

  /** Counts one until it is `gone`. */
  add(account: number, gone: AbortSignal): void {
    this.#open.set(account, this.#countOf(account) + 1)
    gone.addEventListener('abort', () => this.#remove(account), { once: true })
  }

  #countOf(account: number): number {
    return this.#open.get(account) ?? 0
  }

  #remove(account: number): void {
    const left = this.#countOf(account) - 1
    if (left > 0) this.#open.set(account, left)
    else this.#open.delete(account)
  }
}
