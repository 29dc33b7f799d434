/**
 * Connections for files that come or go, and as many for answers that are sent while they are read: they last as long as
 * their client takes.
 */
export const streamConnections = 4

/** What keeps the service alive and fair when more is asked of it than it can do. */
export interface LoadLimits {
  /** The sum of the bodies that are received or worked on at the same time. */
  readonly bodiesInFlightBytesMax: number
  /** Connections to the database for reads, and as many for writes. */
  readonly databaseConnections: number
  /** Writes of one account at the same time; the others wait their turn. */
  readonly accountWritesMax: number
  /** Reads, writes and files of one account that may wait, so many of each. */
  readonly accountWaitingMax: number
  /** How long a write waits for other writes of its account, or a file for other files. */
  readonly accountWaitMs: number
  /** 0: as many as it likes. */
  readonly accountRequestsPerSecond: number
  /** Reads, writes and files of all accounts that may wait, so many of each. */
  readonly waitingMax: number
  /** 0: however late the event loop is. */
  readonly eventLoopDelayMaxMs: number
  readonly socketsMax: number
  /** How long a request may take to arrive. */
  readonly arrivalMs: number
}

export interface Limits {
  readonly bodyBytesMax: number
  /** Rows in one JSON call. */
  readonly rowsMax: number
  /** Rows that one read may expand to. */
  readonly readRowsMax: number
  /** The prices that one read may answer, as JSON. */
  readonly readBytesMax: number
  /** A CSV or NDJSON file, decoded. */
  readonly feedBytesMax: number
  /** A file with a larger Content-Length is loaded by a job. */
  readonly feedAtOnceBytesMax: number
  /** Files of one account that wait for their jobs or are being loaded by them. */
  readonly filesWaitingMax: number
  /** Rows in one CSV or NDJSON file. */
  readonly feedRowsMax: number
}

/** Reads a whole number from the environment, or notes that it is out of bounds. */
type Integer = (name: string, fallback: number, min: number, max: number) => number

/** From BODY_LIMIT_MB and the others that bound one request, or what an account has waiting. */
export function readLimits(integer: Integer): Limits {
  return Object.freeze({
    bodyBytesMax: integer('BODY_LIMIT_MB', 64, 1, 1024) * 1024 * 1024,
    rowsMax: integer('ROWS_MAX', 100_000, 1, 10_000_000),
    readRowsMax: integer('READ_ROWS_MAX', 1_000_000, 1, 100_000_000),
    readBytesMax: integer('READ_LIMIT_MB', 2048, 1, 65_536) * 1024 * 1024,
    feedBytesMax: integer('FEED_LIMIT_MB', 4096, 1, 65_536) * 1024 * 1024,
    feedAtOnceBytesMax: integer('FEED_JOB_MB', 256, 0, 65_536) * 1024 * 1024,
    filesWaitingMax: integer('ACCOUNT_FILES', 20, 1, 100_000),
    feedRowsMax: integer('FEED_ROWS_MAX', 10_000_000, 1, 100_000_000),
  })
}

/** From BODIES_IN_FLIGHT_MB and the others that bound what goes on at the same time. */
export function readLoadLimits(integer: Integer): LoadLimits {
  return Object.freeze({
    bodiesInFlightBytesMax: integer('BODIES_IN_FLIGHT_MB', 256, 1, 65_536) * 1024 * 1024,
    databaseConnections: integer('DATABASE_CONNECTIONS', 4, 1, 1000),
    accountWritesMax: integer('ACCOUNT_WRITES', 2, 1, 1000),
    accountWaitingMax: integer('ACCOUNT_WAITING', 200, 1, 100_000),
    accountWaitMs: integer('ACCOUNT_WAIT_SECONDS', 30, 1, 600) * 1000,
    accountRequestsPerSecond: integer('ACCOUNT_REQUESTS_PER_SECOND', 0, 0, 1_000_000),
    waitingMax: integer('WAITING', 500, 1, 100_000),
    eventLoopDelayMaxMs: integer('EVENT_LOOP_DELAY_MS', 500, 0, 60_000),
    socketsMax: integer('SOCKETS', 5000, 1, 1_000_000),
    arrivalMs: integer('ARRIVAL_SECONDS', 120, 1, 3600) * 1000,
  })
}
