import { ConfigError } from './config.ts'
import { ConnectionFailed, loggableError, StartupError } from './database/errors.ts'

const noPostgres = 'no PostgreSQL answers there: start it, or correct DATABASE_URL'
const wrongUser = 'correct the user and the password in DATABASE_URL'
const wrongDataDir = 'set DATA_DIR to a folder'

const ownDatabase = 'let DATABASE_URL lead to a database of its own'
const wrongCertificate =
  'name the certificate of who has signed it (sslrootcert=<file>) in DATABASE_URL, and the host that it is for'

const advice: Record<string, string> = {
  EADDRINUSE: 'another program listens there: stop it, or set PORT',
  EADDRNOTAVAIL: 'set HOST to an address of this machine',
  EACCES: 'this user may not do that: choose another PORT or DATA_DIR',
  EEXIST: wrongDataDir,
  ENOTDIR: wrongDataDir,
  'mkdir ENOENT': wrongDataDir,
  ECONNREFUSED: noPostgres,
  'connect ENOENT': noPostgres,
  EROFS: 'nothing can be written there: set DATA_DIR and TMPDIR to folders that can be written',
  ENOSPC: 'make room on that disk, or set DATA_DIR and TMPDIR to folders on another',
  'mkdtemp ENOENT': 'set TMPDIR to a folder that is there',
  ENOTFOUND: 'correct the host in DATABASE_URL',
  EAI_AGAIN: 'correct the host in DATABASE_URL, or the name servers',
  ETIMEDOUT: 'no PostgreSQL answers there: correct DATABASE_URL, or the network',
  '28P01': wrongUser,
  '28000': wrongUser,
  '3D000': 'create the database, or correct DATABASE_URL',
  '42501': 'let the user of DATABASE_URL own the database and all in it, or correct DATABASE_URL',
  '25006': 'let DATABASE_URL lead to the primary, where the database can be written',
  '53100': 'make room on the disk of the database',
  '53200':
    'let the server have more memory; where its shared memory is full, raise max_locks_per_transaction or end what holds many locks',
  '53300':
    'let the server and the user of DATABASE_URL take more connections, or end some; OPERATIONS.md says how many are needed',
  '55000': 'let the database take connections, or correct DATABASE_URL',
  '08006': 'bring that node of the cluster up',
  '08P01':
    'let DATABASE_URL lead to PostgreSQL itself: connections carry settings, which a pooler like PgBouncer does not take',
  '42P07': ownDatabase,
  '42710': ownDatabase,
  '3F000': 'run "create schema public" in the database as the user of DATABASE_URL',
}

/** OpenSSL and Node error codes for certificate faults. */
const certificateFaults =
  /^(ERR_TLS_CERT|CERT_|CRL_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT$|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF))/

/** Advice by pg's error messages, as pg has no error codes. */
const driverAdvice: [RegExp, string][] = [
  [/timeout/, 'what listens there does not answer like a PostgreSQL: correct DATABASE_URL'],
  [
    /^Connection terminated/,
    'what listens there is no PostgreSQL, or it fails: correct DATABASE_URL',
  ],
  [/SSL/, 'set sslmode in DATABASE_URL to what the PostgreSQL there offers'],
]

/** The service cannot listen on HOST and PORT. */
export class CannotListen extends Error {
  constructor(cause: unknown) {
    super('cannot listen', { cause })
  }
}

const listenAdvice = { ENOTFOUND: 'correct HOST', EAI_AGAIN: 'correct HOST, or the name servers' }

/**
 * What to print for an error that stopped startup: a message that says what to do or, for an unknown error, the whole
 * error as it would be logged.
 */
export function startFault(error: unknown): unknown {
  if (error instanceof ConfigError) return error.message
  if (error instanceof CannotListen) return told(error.cause, { ...advice, ...listenAdvice })
  return told(error instanceof ConnectionFailed ? error.cause : error, advice)
}

function told(error: unknown, advice: Record<string, string>): unknown {
  const { code = '', message = '', syscall } = error as Partial<NodeJS.ErrnoException>
  // An exception raised by a migration says what to do.
  if (error instanceof StartupError || code === 'P0001') return `Cannot start:\n- ${message}`
  // ENOENT may concern a Unix socket or any other file.
  const fault = code === 'ENOENT' ? `${syscall} ${code}` : code
  const known = Object.hasOwn(advice, fault) ? advice[fault] : adviceOfOthers(error)
  return known ? `Cannot start:\n- ${message || code}: ${known}` : loggableError(error)
}

/** Looks up advice by certificate error code or by the message. */
function adviceOfOthers(error: unknown): string | undefined {
  const { code, message = '' } = error as { code?: string; message?: string }
  if (message === 'operation is not allowed on this node')
    return 'let DATABASE_URL lead to the coordinator of the cluster'
  if (code !== undefined) return certificateFaults.test(code) ? wrongCertificate : undefined
  return driverAdvice.find(([pattern]) => pattern.test(message))?.[1]
}
