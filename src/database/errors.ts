/** No connection could be opened, for whatever reason: nothing was asked of the database, and nothing was done there. */
export class CannotConnect extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'no connection', { cause })
  }
}
