/** A bounded amount that accounts share, and how much of it each account has taken. */
export class AccountBudget {
  readonly #max: number
  readonly #ofAccount = new Map<number, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** The amount that all accounts have taken together. */
  get taken(): number {
    return this.#taken
  }

  /** The amount that the account has taken. */
  of(account: number): number {
    return this.#ofAccount.get(account) ?? 0
  }

  /**
   * Whether the account may take `amount` more: its total must not exceed what is left, so a single account gets about
   * half. If nothing is taken, any amount is allowed.
   */
  hasRoom(account: number, amount: number): boolean {
    return this.#taken === 0 || this.of(account) + amount <= this.#max - this.#taken
  }

  /** Adds `amount` to what the account has taken. The returned function gives it back; call it once. */
  take(account: number, amount: number): () => void {
    this.#add(account, amount)
    return () => this.#add(account, -amount)
  }

  #add(account: number, amount: number): void {
    this.#taken += amount
    const left = this.of(account) + amount
    if (left === 0) this.#ofAccount.delete(account)
    else this.#ofAccount.set(account, left)
  }
}
