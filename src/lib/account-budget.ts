/** A bounded amount of something that accounts share, and how much of it each account has. */
export class AccountBudget {
  readonly #max: number
  readonly #ofAccount = new Map<number, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** How much all accounts have. */
  get taken(): number {
    return this.#taken
  }

  /** How much the account has. */
  of(account: number): number {
    return this.#ofAccount.get(account) ?? 0
  }

  /**
   * Whether the account may have so much more: never more than is left for others, so that an account that is alone gets
   * about half. If nothing is taken, it may have any amount.
   */
  hasRoom(account: number, amount: number): boolean {
    return this.#taken === 0 || this.of(account) + amount <= this.#max - this.#taken
  }

  /** Gives the account so much more, until the function that it returns is called, once. */
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
