/** The connection broke as a transaction was committed: what it wrote is there, or it is not. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection broke at the commit', { cause })
  }
}
