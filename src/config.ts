import { resolve } from 'node:path'

/** Everything that can be set from outside, read once and frozen. */
export interface Config {
  readonly port: number
  readonly host: string
  /** The path below which a proxy serves the API, such as `/pricing`; '' for none. */
  readonly basePath: string
  /** A PostgreSQL to use; undefined: the embedded one, with its data in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** How long the start waits for a database that is away. */
  readonly databaseWaitSeconds: number
  readonly dataDir: string
  /** Signs the tokens of `POST /login/`; undefined only with the embedded database, which keeps its own. */
  readonly jwtSecret: string | undefined
  /** An outside identity provider whose tokens are accepted instead of our own. */
  readonly jwks:
    | { readonly url: URL; readonly issuer: string; readonly audience: string }
    | undefined
  readonly logLevel: string
  /** Opens `/metrics` to who sends it; undefined: there is no such path. */
  readonly metricsToken: string | undefined
  /** An OpenTelemetry collector that spans are sent to, over OTLP/HTTP. */
  readonly collector: URL | undefined
  readonly role: Role
  readonly limits: Limits
  readonly load: LoadLimits
}

/** What this process does: answer requests, run jobs, or both. */
export type Role = 'all' | 'api' | 'worker'

/** Names every setting that is wrong and says what to set. */
export class ConfigError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const roles: readonly Role[] = ['all', 'api', 'worker']

/** Reads the configuration from the environment. Throws a ConfigError that lists all faults. */
export function readConfig(environment: Environment): Config {
  const faults: string[] = []
  const env = (name: string) => environment[name] || undefined
  const integer = (name: string, fallback: number, min: number, max: number) => {
    const text = env(name) ?? String(fallback)
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    faults.push(`${name} must be a whole number from ${min} to ${max}, not "${env(name)}"`)
    return fallback
  }
  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const value = env(name) ?? fallback
    const found = allowed.find((candidate) => candidate === value)
    if (!found) faults.push(`${name} must be one of ${allowed.join(', ')}, not "${value}"`)
    return found ?? fallback
  }
  const config: Config = {
    port: integer('PORT', 3000, 0, 65535),
    host: env('HOST') ?? '127.0.0.1',
    basePath: basePath(env, faults),
    databaseUrl: databaseUrl(env, faults),
    databaseWaitSeconds: integer('DATABASE_WAIT_SECONDS', 30, 0, 3600),
    dataDir: resolve(env('DATA_DIR') ?? '.data'),
    jwtSecret: jwtSecret(env, faults),
    jwks: jwks(env, faults),
    logLevel: oneOf('LOG_LEVEL', logLevels, 'info'),
    metricsToken: metricsToken(env, faults),
    collector: collector(env, faults),
    role: oneOf('ROLE', roles, 'all'),
    limits: readLimits(integer),
    load: readLoadLimits(integer),
  }
  if (faults.length > 0) throw new ConfigError(`Cannot start:\n- ${faults.join('\n- ')}`)
  return Object.freeze(config)
}

type Env = (name: string) => string | undefined

/** Whether a text is a path that can stand before others, such as `/pricing`. */
export function isPathPrefix(text: string): boolean {
  return /^(\/[\w.-]+)+$/.test(text)
}

function basePath(env: Env, faults: string[]): string {
  const value = env('BASE_PATH') ?? ''
  if (value !== '' && !isPathPrefix(value)) {
    faults.push(
      `BASE_PATH must be a path such as /pricing, of letters, digits, ".", "_" and "-" between slashes and without one at its end, not "${value}"`,
    )
  }
  return value
}

function databaseUrl(env: Env, faults: string[]): string | undefined {
  const value = env('DATABASE_URL')
  const isUrl = value !== undefined && URL.canParse(value) && value.length > 'postgresql://'.length
  if (value !== undefined && !(isUrl && /^postgres(ql)?:\/\//.test(value))) {
    faults.push(
      'DATABASE_URL must be a URL that starts with postgresql://, as in postgresql://user:password@host:5432/database',
    )
  }
  return value
}

function jwtSecret(env: Env, faults: string[]): string | undefined {
  const value = env('JWT_SECRET')
  if (value === undefined && env('DATABASE_URL') !== undefined) {
    faults.push(
      'JWT_SECRET must be set with DATABASE_URL: at least 32 bytes, for example from `openssl rand -base64 48`',
    )
  }
  if (value !== undefined && Buffer.byteLength(value) < 32) {
    faults.push(`JWT_SECRET must be at least 32 bytes long, not ${Buffer.byteLength(value)}`)
  }
  return value
}

function metricsToken(env: Env, faults: string[]): string | undefined {
  const value = env('METRICS_TOKEN')
  if (value !== undefined && !/^[\w.~+/=-]{16,}$/.test(value)) {
    faults.push(
      'METRICS_TOKEN must be at least 16 letters, digits or any of _.~+/=-, for example from `openssl rand -hex 32`',
    )
  }
  return value
}

function collector(env: Env, faults: string[]): URL | undefined {
  const value = env('OTEL_EXPORTER_OTLP_ENDPOINT')
  if (value === undefined) return undefined
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return new URL(value)
  faults.push('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL')
  return undefined
}

function jwks(env: Env, faults: string[]): Config['jwks'] {
  const url = env('JWT_JWKS_URL')
  const issuer = env('JWT_ISSUER')
  const audience = env('JWT_AUDIENCE')
  if (!url && !issuer && !audience) return undefined
  const isUrl = url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url)
  if (!url) faults.push('JWT_JWKS_URL must be set with JWT_ISSUER and JWT_AUDIENCE')
  else if (!isUrl) faults.push('JWT_JWKS_URL must be an http or https URL')
  if (!issuer) faults.push('JWT_ISSUER must be set with JWT_JWKS_URL')
  if (!audience) faults.push('JWT_AUDIENCE must be set with JWT_JWKS_URL')
  return isUrl && issuer && audience ? { url: new URL(url), issuer, audience } : undefined
}

/** Connections for files and for answers that are sent while they are read. They last as long as their client takes. */
export const streamConnections = 4

/** Connections for pages of lists: half as many as for reads. */
export const listConnections = (databaseConnections: number): number =>
  Math.ceil(databaseConnections / 2)

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
function readLimits(integer: Integer): Limits {
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
function readLoadLimits(integer: Integer): LoadLimits {
  return Object.freeze({
    bodiesInFlightBytesMax: integer('BODIES_IN_FLIGHT_MB', 256, 1, 65_536) * 1024 * 1024,
    databaseConnections: integer('DATABASE_CONNECTIONS', 4, 1, 1000),
    accountWritesMax: integer('ACCOUNT_WRITES', 2, 1, 1000),
    accountWaitingMax: integer('ACCOUNT_WAITING', 200, 1, 100_000),
    accountWaitMs: integer('ACCOUNT_WAIT_SECONDS', 30, 1, 600) * 1000,
    waitingMax: integer('WAITING', 500, 1, 100_000),
    eventLoopDelayMaxMs: integer('EVENT_LOOP_DELAY_MS', 500, 0, 60_000),
    socketsMax: integer('SOCKETS', 5000, 1, 1_000_000),
    arrivalMs: integer('ARRIVAL_SECONDS', 120, 1, 3600) * 1000,
  })
}
