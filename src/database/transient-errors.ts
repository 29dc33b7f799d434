import { CannotConnect, NotBegun, OutcomeUnknown } from './errors.ts'
import { isSqlState } from './loggable-error.ts'

/** Postgres classes and codes that pass by themselves: connection, resources, disk, shutdown, locks, timeouts, read-only. */
const passingStates = /^(08|53|57P0|58|55P03|57014|25P03|25P04|25006|40001|40P01)/
/** Failures of the socket and of the name look-up. */
const socketCodes = /^(E(CONN|PIPE|TIMEDOUT|HOST|NET|AI_AGAIN)|ENOTFOUND)/
/** Failures of the driver and of its pool, which have no code. */
const driverMessages =
  /^(Connection terminated|timeout e(xceeded when trying to connect|xpired)|Query read timeout|Client (was closed|has encountered a connection error)|Cannot use a pool after calling end|driver has already been destroyed|Postgres connection has been discarded)/

/** A session that the server ended, and a commit of which it cannot tell. */
const lostStates = /^(08|57P0|40003)/

/**
 * States of what somebody has taken away and can give back: rights, or tables (those of a schema that may not be used are
 * absent). Statements are our own and need what the migrations make and grant. Each has a routine of Postgres that says
 * it of a fault of ours: a row that a policy refuses, a table that the statement does not read.
 */
const takenAway: Record<string, string> = {
  '42501': 'ExecWithCheckOptions',
  '42P01': 'errorMissingRTE',
}

/** PostgreSQL has no code for a quota or a limit of file sizes that is used up (EDQUOT, EFBIG): where it writes says it. */
const writing = /^(mdextend|mdzeroextend|FileFallocate|BufFileDumpBuffer)$/

/** pg-boss could not read its queues when it started; it reads them again by itself. */
const unreadQueues = 'Queue cache is not initialized'

/** What our own errors say of the database. */
const passing = [CannotConnect, NotBegun, OutcomeUnknown]

/** Whether an error says that the database cannot be worked with now: the same work may succeed later. */
export function isPassing(error: unknown): boolean {
  if (passing.some((kind) => error instanceof kind)) return true
  return isTakenAway(error) || isOutdatedPlan(error) || isUnwritable(error) || passesByItself(error)
}

function isUnwritable(error: unknown): boolean {
  const { code, routine = '' } = (error ?? {}) as { code?: string; routine?: string }
  return code === 'XX000' && writing.test(routine)
}

function isTakenAway(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: string; routine?: string }
  const ours = takenAway[code ?? '']
  return ours !== undefined && routine !== ours
}

/** Whether an error says that the database is away, full, locked or too slow now, and that nobody need do anything. */
export function passesByItself(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined) return driverMessages.test(error.message)
  // The file of a Unix socket is gone while the server is.
  if (code === 'ENOENT') return syscall === 'connect'
  if (code === 'ERR_ASSERTION') return error.message === unreadQueues
  return /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')
    ? passingStates.test(code)
    : socketCodes.test(code)
}

/** Whether an error says that a prepared statement answers other types since a migration: the connection is of no use. */
export function isOutdatedPlan(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: string; routine?: string }
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** Whether an error says that a connection broke while it was in use, and nothing of what became of the statement. */
export function isConnectionLost(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string }
  return isSqlState(code) ? lostStates.test(code) : passesByItself(error)
}

/** Whether a statement failed because it violates this constraint. */
export function isViolationOf(constraint: string, error: unknown): boolean {
  const { code, constraint: violated } = error as { code?: string; constraint?: string }
  return (code ?? '').startsWith('23') && violated === constraint
}
