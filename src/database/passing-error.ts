/** Postgres classes and codes that pass by themselves: connection, resources, disk, shutdown, locks, timeouts, read-only. */
const passingStates = /^(08|53|57P0|58|55P03|57014|25P03|25P04|25006|40001|40P01)/
/** Failures of the socket and of the name look-up. */
const socketCodes = /^(E(CONN|PIPE|TIMEDOUT|HOST|NET|AI_AGAIN)|ENOTFOUND)/
/** Failures of the driver and of its pool, which have no code. */
const driverMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (was closed|has encountered a connection error)|Cannot use a pool after calling end|driver has already been destroyed|Postgres connection has been discarded)/

/** Whether an error says that the database is away, full, locked or too slow now: the same work may succeed later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined) return driverMessages.test(error.message)
  // The file of a Unix socket is gone while the server is.
  if (code === 'ENOENT') return syscall === 'connect'
  return /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')
    ? passingStates.test(code)
    : socketCodes.test(code)
}
