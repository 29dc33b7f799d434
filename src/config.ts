import { resolve } from 'node:path'

/** All settings of the process, read once and frozen. */
export interface Config {
  readonly port: number
  readonly host: string
  /** The path prefix of a proxy, such as `/pricing`; '' for none. */
  readonly basePath: string
  /** undefined for the embedded PostgreSQL, whose data is in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** A standby or another cluster node to read prices from instead. */
  readonly databaseReadUrl: string | undefined
  /** How long startup waits for the database. */
  readonly databaseWaitSeconds: number
  readonly dataDir: string
  /** Signs the tokens of `POST /login/`; undefined only with the embedded database, which has a secret file. */
  readonly jwtSecret: string | undefined
  /** An identity provider whose tokens replace those of `POST /login/`. */
  readonly jwks:
    | { readonly url: URL; readonly issuer: string; readonly audience: string }
    | undefined
  readonly logLevel: string
  /** The token for `/metrics`; undefined disables the path. */
  readonly metricsToken: string | undefined
  /** An OpenTelemetry collector for spans, over OTLP/HTTP. */
  readonly collector: URL | undefined
  readonly role: Role
  readonly limits: Limits
  /** How long the history of price lists and promotions is kept. */
  readonly historyDays: number
  readonly load: LoadLimits
}

/** Whether the process serves requests, runs jobs, or both. */
export type Role = 'all' | 'api' | 'worker'

/** The message names every invalid setting and what to set it to. */
export class ConfigError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const roles: readonly Role[] = ['all', 'api', 'worker']

/** Reads the configuration from the environment. Throws ConfigError. */
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
    databaseUrl: databaseUrl('DATABASE_URL', env, faults),
    databaseReadUrl: databaseReadUrl(env, faults),
    historyDays: integer('HISTORY_DAYS', 400, 60, 36_500),
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

/** Whether the text is a path prefix such as `/pricing`, without a trailing slash. */
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

function databaseReadUrl(env: Env, faults: string[]): string | undefined {
  const value = databaseUrl('DATABASE_READ_URL', env, faults)
  if (value !== undefined && env('DATABASE_URL') === undefined)
    faults.push('DATABASE_READ_URL needs DATABASE_URL, whose data it reads')
  return value
}

function databaseUrl(name: string, env: Env, faults: string[]): string | undefined {
  const value = env(name)
  const isUrl = value !== undefined && URL.canParse(value) && value.length > 'postgresql://'.length
  if (value !== undefined && !(isUrl && /^postgres(ql)?:\/\//.test(value))) {
    faults.push(
      `${name} must be a URL that starts with postgresql://, as in postgresql://user:password@host:5432/database`,
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

/** Connections for files and streamed responses; a client holds one until it is done. */
export const streamConnections = 4

/** Connections for paged lists: half as many as for reads, rounded up. */
export const listConnections = (databaseConnections: number): number =>
  Math.ceil(databaseConnections / 2)

/** Limits that keep the service alive and fair under overload. */
export interface LoadLimits {
  /** Total size of the request bodies being received or processed at the same time. */
  readonly bodiesInFlightBytesMax: number
  /** Database connections for reads, and as many for writes. */
  readonly databaseConnections: number
  /** Concurrent writes of one account; its other writes wait. */
  readonly accountWritesMax: number
  /** Waiting reads of one account; the same limit applies to its writes and its files. */
  readonly accountWaitingMax: number
  /** How long a write waits for its account's other writes, and a file for its account's other files. */
  readonly accountWaitMs: number
  /** Waiting reads of all accounts; the same limit applies to writes and to files. */
  readonly waitingMax: number
  /** 0 for no limit. */
  readonly eventLoopDelayMaxMs: number
  readonly socketsMax: number
  /** How long a request may take to arrive. */
  readonly arrivalMs: number
}

export interface Limits {
  readonly bodyBytesMax: number
  /** Rows in one JSON call. */
  readonly rowsMax: number
  /** Rows in the response to one price read. */
  readonly readRowsMax: number
  /** Bytes in the response to one price read. */
  readonly readBytesMax: number
  /** Size of a CSV or NDJSON file after decompression. */
  readonly feedBytesMax: number
  /** A job loads files with a larger Content-Length. */
  readonly feedAtOnceBytesMax: number
  /** Files of one account with an unfinished job. */
  readonly filesWaitingMax: number
  /** Rows in one CSV or NDJSON file. */
  readonly feedRowsMax: number
}

/** Reads a whole number from the environment, or notes a fault. */
type Integer = (name: string, fallback: number, min: number, max: number) => number

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
