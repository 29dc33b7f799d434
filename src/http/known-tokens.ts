import type { Schemas } from '../contract/operation.ts'

/** What a verified token says about the sender of a request. */
export interface Caller {
  account: number
  subject: string
  type: Schemas['Actor']['type']
  /** Of an API key. */
  name?: string
  /** With those that they include. */
  scopes: ReadonlySet<string>
}

/** The caller of a verified token, and for how long that holds. */
export interface Known {
  caller: Caller
  /** The `exp` of the token, in seconds. */
  expiresAt: number
  /** When the token is verified again, by `performance.now()`. */
  until: number
}

const tokensMax = 1000

/** Callers by token. Verifying a signature takes as long as reading a price. */
export class KnownTokens {
  readonly #known = new Map<string, Known>()

  /** The caller of a token that was verified a short time ago and has not expired. */
  find(token: string): Caller | undefined {
    const known = this.#known.get(token)
    const isFresh = known && performance.now() < known.until && Date.now() < known.expiresAt * 1000
    return isFresh ? known.caller : undefined
  }

  /** Keeps the caller of a verified token. */
  add(token: string, known: Known): void {
    if (this.#known.size >= tokensMax) this.#known.clear()
    this.#known.set(token, known)
  }
}
