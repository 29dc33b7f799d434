/**
 * What there is a bounded amount of, and who has how much of it. An account may have as much as it finds free: about half
 * of it when it is alone, less when there are others.
 */
export class Shares {
  readonly #max: number
  #taken = 0
  readonly #ofAccount = new Map<number, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Whether the account may have so much more; alone, it may have any amount. */
  hasRoom(account: number, amount: number): boolean {
    return this.#taken === 0 || this.of(account) + amount <= this.#max - this.#taken
  }

  /** How much the account has. */
  of(account: number): number {
    return this.#ofAccount.get(account) ?? 0
  }

  /** Gives the account so much more, until what is answered is called; once. */
  take(account: number, amount: number): () => void {
    this.#add(account, amount)
    return () => this.#add(account, -amount)
  }

  #add(account: number, amount: number): void {
    this.#taken += amount
    const held = this.of(account) + amount
    if (held === 0) this.#ofAccount.delete(account)
    else this.#ofAccount.set(account, held)
  }
}
