/** A transaction that did not begin, because the one before it on its connection had not ended. */
export class NotBegun extends Error {
  constructor(cause: unknown) {
    super('the transaction before this one had not ended', { cause })
  }
}
