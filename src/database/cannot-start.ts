/** Something outside is not as the service needs it; the message says what to do. */
export class CannotStart extends Error {}
