/** What of an error may stand in a log. */
export interface LoggableError {
  [key: string]: unknown
  type: string
  message: string
  stack: string
}

/** Postgres quotes values in the messages of data exceptions (class 22); others name tables and constraints. */
const quoting = /^22/
/** Codes of the system have no digit (EPIPE). */
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/

/** Whether the code of an error is one of Postgres. */
export function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && sqlState.test(code)
}

/** The SQLSTATE of an error of Postgres, or of its cause. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  return isSqlState(code) ? code : sqlStateOf(error.cause)
}

/** pg-boss reports copies of errors. */
function isLikeAnError(error: unknown): error is Error & Record<string, unknown> {
  return typeof error === 'object' && error !== null && 'message' in error
}

/**
 * An error without row values: those of Postgres carry them in `detail`, `where`, `hint` and `internalQuery`, and
 * sometimes in the message.
 */
export function loggableError(error: unknown): LoggableError {
  if (!isLikeAnError(error)) return { type: typeof error, message: 'not an error', stack: '' }
  const { code, table, constraint, cause } = error
  const isQuoting = isSqlState(code) && quoting.test(code)
  const message = isQuoting ? 'a data exception; its values are left out' : error.message
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '))
  return {
    type: error instanceof Error ? error.constructor.name : 'Error',
    message,
    stack: frames?.join('\n') ?? '',
    ...(typeof code === 'string' && { code }),
    ...(typeof table === 'string' && { table }),
    ...(typeof constraint === 'string' && { constraint }),
    ...(cause !== undefined && { cause: loggableError(cause) }),
  }
}
