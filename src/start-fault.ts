import { ConfigError } from './config.ts'
import { loggableError } from './database/loggable-error.ts'

const advice: Record<string, string> = {
  EADDRINUSE: 'another program listens there: stop it, or set PORT',
  EADDRNOTAVAIL: 'set HOST to an address of this machine',
  EACCES: 'this user may not do that: choose another PORT or DATA_DIR',
  ECONNREFUSED: 'no PostgreSQL answers there: start it, or correct DATABASE_URL',
  ENOTFOUND: 'correct the host in DATABASE_URL',
  ETIMEDOUT: 'no PostgreSQL answers there: correct DATABASE_URL, or the network',
  '28P01': 'correct the user and the password in DATABASE_URL',
  '28000': 'correct the user and the password in DATABASE_URL',
  '3D000': 'create the database, or correct DATABASE_URL',
}

/**
 * What the terminal says of an error that ended the start: one line with what to do where that is known, all of the
 * error (as the log has it) where it is not.
 */
export function startFault(error: unknown): unknown {
  if (error instanceof ConfigError) return error.message
  const { code = '', message = '' } = error as { code?: string; message?: string }
  // A migration that raises an exception of its own says in it what to do.
  if (code === 'P0001') return `Cannot start:\n- ${message}`
  return Object.hasOwn(advice, code)
    ? `Cannot start:\n- ${message || code}: ${advice[code]}`
    : loggableError(error)
}
