import type { Schemas } from '../contract/operation.ts'

/** The sender of a request, according to its verified token. */
export interface Caller {
  account: number
  subject: string
  type: Schemas['Actor']['type']
  /** Set for API keys only. */
  name?: string
  /** Including the scopes that these imply. */
  scopes: ReadonlySet<string>
}

/** The caller of a verified token, and how long to trust it. */
export interface Known {
  caller: Caller
  /** The `exp` of the token, in seconds. */
  expiresAt: number
  /** When to verify the token again, as `performance.now()`. */
  until: number
}

const tokensMax = 1000

/** Caches callers by token: verifying a signature takes as long as reading a price. */
export class KnownTokens {
  readonly #known = new Map<string, Known>()

  /** The caller of a token that was verified recently and has not expired. */
  find(token: string): Caller | undefined {
    const known = this.#known.get(token)
    const isFresh = known && performance.now() < known.until && Date.now() < known.expiresAt * 1000
    return isFresh ? known.caller : undefined
  }

  /** Adds a caller; a full cache (1,000 tokens) is cleared first. */
  add(token: string, known: Known): void {
    if (this.#known.size >= tokensMax) this.#known.clear()
    this.#known.set(token, known)
  }
}
