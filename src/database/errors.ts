/** No connection could be opened, for whatever reason: nothing was asked of the database, and nothing was done there. */
export class CannotConnect extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'no connection', { cause })
  }
}

/** Something outside is not as the service needs it; the message says what to do. */
export class CannotStart extends Error {}

/** A transaction that did not begin, because the one before it on its connection had not ended. */
export class NotBegun extends Error {
  constructor(cause: unknown) {
    super('the transaction before this one had not ended', { cause })
  }
}

/** The connection broke as a transaction was committed: what it wrote is there, or it is not. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection broke at the commit', { cause })
  }
}
