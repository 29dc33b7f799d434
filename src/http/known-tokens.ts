import type { Caller } from './authentication.ts'

/** A token is looked at again this often: it may have expired, or its key may have gone. */
const trustedMs = 30_000
const tokensMax = 1000

/** Callers by token: verifying a signature takes as long as reading a price. */
export class KnownTokens {
  readonly #callers = new Map<string, { caller: Caller; until: number; expiresAt: number }>()

  /** The caller of a token that was verified a moment ago and has not expired (`exp`) since. */
  find(token: string): Caller | undefined {
    const known = this.#callers.get(token)
    const isFresh = known && performance.now() < known.until && Date.now() < known.expiresAt * 1000
    return isFresh ? known.caller : undefined
  }

  /** Keeps a verified token; `expiresAt` in seconds as in its `exp`. */
  add(token: string, caller: Caller, expiresAt: number): void {
    if (this.#callers.size >= tokensMax) this.#callers.clear()
    this.#callers.set(token, { caller, until: performance.now() + trustedMs, expiresAt })
  }
}
