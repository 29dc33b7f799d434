import { Problem } from '../../contract/problem.ts'

/** After a pause an account may send what it has not sent in this time. */
const burstSeconds = 10
/** When so many accounts are known, those that have been quiet are forgotten. */
const accountsMax = 10_000

/** A token bucket for each account, kept as the time at which it is full again. */
export class RequestRate {
  readonly #secondsEach: number
  readonly #fullAt = new Map<number, number>()

  /** 0: as many as they like. */
  constructor(requestsPerSecond: number) {
    this.#secondsEach = requestsPerSecond === 0 ? 0 : 1 / requestsPerSecond
  }

  /** Counts a request of the account; throws `too-many-requests` while its bucket is empty. */
  count(account: number, now = performance.now() / 1000): void {
    if (this.#secondsEach === 0) return
    const fullAt = Math.max(this.#fullAt.get(account) ?? 0, now) + this.#secondsEach
    const tooEarly = fullAt - now - burstSeconds
    if (tooEarly > 1e-9) throw tooFast(1 / this.#secondsEach, Math.ceil(tooEarly))
    if (this.#fullAt.size >= accountsMax) this.#forgetQuiet(now)
    this.#fullAt.set(account, fullAt)
  }

  #forgetQuiet(now: number): void {
    for (const [account, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(account)
  }
}

function tooFast(requestsPerSecond: number, seconds: number): Problem {
  const detail = `An account may send ${requestsPerSecond} requests a second; try again in ${seconds} s.`
  return new Problem('too-many-requests', detail, { headers: { 'retry-after': String(seconds) } })
}
