/** No connection could be opened: nothing happened in the database. */
export class ConnectionFailed extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'no connection', { cause })
  }
}

/** The service cannot start until something outside is changed; the message says what to do. */
export class StartupError extends Error {}

/** The transaction did not start, because the one before it on the connection had not ended: nothing happened. */
export class TransactionNotStarted extends Error {
  constructor(cause: unknown) {
    super('the transaction before this one had not ended', { cause })
  }
}

/** The connection broke during the commit: it is unknown whether the changes were made. */
export class CommitInDoubt extends Error {
  constructor(cause: unknown) {
    super('the connection broke at the commit', { cause })
  }
}

/** The account does not exist: an identity provider may sign tokens for one that was not created here. */
export class AccountMissing extends Error {
  constructor() {
    super('there is no such account')
  }
}

const unavailable = [ConnectionFailed, TransactionNotStarted, CommitInDoubt]

/** The fields of a pg error, besides its message. */
interface Fault {
  code?: string
  routine?: string
  constraint?: string
}

const faultOf = (error: unknown): Fault => (error ?? {}) as Fault

/** System error codes such as EPIPE have no digit. */
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/

function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && sqlState.test(code)
}

/** Returns the SQLSTATE of a PostgreSQL error, or of its cause. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = faultOf(error)
  return isSqlState(code) ? code : sqlStateOf(error.cause)
}

/** Whether a statement was ended, in general because it took longer than it may. */
export const isTimeout = (error: unknown): boolean => sqlStateOf(error) === '57014'

/** Connection, resources, disk, shutdown, locks, timeouts, read-only server, serialization failure, deadlock. */
const transientStates = /^(08|53|57P0|58|55P03|57014|25P03|25P04|25006|40001|40P01)/
/** Failures of sockets and name look-ups. */
const socketCodes = /^(E(CONN|PIPE|TIMEDOUT|HOST|NET|AI_AGAIN)|ENOTFOUND)/
/** Failures of pg, its pool and Kysely, whose errors have no code. */
const driverMessages =
  /^(Connection terminated|timeout e(xceeded when trying to connect|xpired)|Query read timeout|Client (was closed|has encountered a connection error)|Cannot use a pool after calling end|driver has already been destroyed|Postgres connection has been discarded)/
/** pg-boss failed to read its queues when it started; it retries on its own. */
const unreadQueues = 'Queue cache is not initialized'

/** Whether the database is unreachable, full, locked or too slow now, which passes without intervention. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined) return driverMessages.test(error.message)
  // The file of a Unix socket does not exist while the server is down.
  if (code === 'ENOENT') return syscall === 'connect'
  if (code === 'ERR_ASSERTION') return error.message === unreadQueues
  return isSqlState(code) ? transientStates.test(code) : socketCodes.test(code)
}

/** Whether the same work may succeed later: the error is transient, or an operator can remove its cause. */
export function isUnavailable(error: unknown): boolean {
  if (unavailable.some((kind) => error instanceof kind)) return true
  if (isTransient(error) || isRevoked(error) || isOutdatedPlan(error)) return true
  return isFailureOf(writingRoutines, error) || isFailureOf(nodeRoutines, error)
}

/**
 * SQLSTATEs of privileges or tables that an operator has taken away (tables of an inaccessible schema look absent).
 * With these routines PostgreSQL reports a bug of the service instead: a row that a policy refuses, a table that a
 * statement does not read.
 */
const ownRoutines: Record<string, string> = {
  '42501': 'ExecWithCheckOptions',
  '42P01': 'errorMissingRTE',
}

function isRevoked(error: unknown): boolean {
  const { code = '', routine } = faultOf(error)
  const own = ownRoutines[code]
  return own !== undefined && routine !== own
}

/** No SQLSTATE stands for a used-up quota or file size limit (EDQUOT, EFBIG): only the writing routine reveals it. */
const writingRoutines = /^(mdextend|mdzeroextend|FileFallocate|BufFileDumpBuffer)$/
/** Nor for a node of a cluster that is lost during a statement or a transaction. */
const nodeRoutines =
  /^(ReportResultError|MarkRemoteTransactionFailed|CheckRemoteTransactionsHealth|ErrorIfPostCommitFailedShardPlacements)$/

function isFailureOf(routines: RegExp, error: unknown): boolean {
  const { code, routine = '' } = faultOf(error)
  return code === 'XX000' && routines.test(routine)
}

/** Whether a migration has changed the result types of a prepared statement, which makes its connection useless. */
export function isOutdatedPlan(error: unknown): boolean {
  const { code, routine } = faultOf(error)
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** Whether a statement failed because one before it in its transaction had. */
export const isInFailedTransaction = (error: unknown): boolean => faultOf(error).code === '25P02'

/** The server ended the session, or cannot tell whether it has committed. */
const lostStates = /^(08|57P0|40003)/

/** Whether a connection broke while it was in use: whether its statement took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code } = faultOf(error)
  if (!isSqlState(code)) return isTransient(error)
  return lostStates.test(code) || isFailureOf(nodeRoutines, error)
}

/** Whether a statement failed because it violates this constraint. */
export function isViolationOf(constraint: string, error: unknown): boolean {
  return violatedConstraint(error) === constraint
}

/** Whether a row was written for an account that does not exist. */
export function isAccountMissing(error: unknown): boolean {
  return (
    error instanceof AccountMissing ||
    (faultOf(error).code === '23503' && /_account_fkey$/.test(violatedConstraint(error) ?? ''))
  )
}

/** A distributed database names the constraint only in the message, followed by the number of its shard. */
const namedInMessage = /constraint "(.+?)(?:_\d{6,})?"/

function violatedConstraint(error: unknown): string | undefined {
  const { code = '', constraint } = faultOf(error)
  if (!code.startsWith('23')) return undefined
  return constraint || namedInMessage.exec((error as Error).message)?.[1]
}

/** The parts of an error that may be logged. */
export interface LoggableError {
  [key: string]: unknown
  type: string
  message: string
  stack: string
}

/** pg-boss reports copies of errors, which need not be instances of Error. */
function isLikeAnError(error: unknown): error is Error & Record<string, unknown> {
  return typeof error === 'object' && error !== null && 'message' in error
}

/**
 * Returns an error without row values: PostgreSQL errors carry them in `detail`, `where`, `hint` and `internalQuery`,
 * and data exceptions (class 22) in the message.
 */
export function loggableError(error: unknown): LoggableError {
  if (!isLikeAnError(error)) return { type: typeof error, message: 'not an error', stack: '' }
  const { code, table, constraint, cause } = error
  const hasValues = isSqlState(code) && code.startsWith('22')
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '))
  return {
    type: error instanceof Error ? error.constructor.name : 'Error',
    message: hasValues ? 'a data exception; its values are left out' : error.message,
    stack: frames?.join('\n') ?? '',
    ...(typeof code === 'string' && { code }),
    ...(typeof table === 'string' && { table }),
    ...(typeof constraint === 'string' && { constraint }),
    ...(cause !== undefined && { cause: loggableError(cause) }),
  }
}
