/** A transaction that was to go on beside another one could not take its snapshot over, and one of the two has failed. */
export class SnapshotFailed extends Error {
  constructor(cause: unknown) {
    super('the snapshot of a transaction could not be shared', { cause })
  }
}
