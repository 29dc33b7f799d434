import { resolve } from 'node:path'

/** All settings of the process, read once and frozen. */
export type Config = ReturnType<typeof readConfig>

/** Limits that keep the service alive and fair under overload. */
export type LoadLimits = ReturnType<typeof readLoadLimits>

export type Limits = ReturnType<typeof readLimits>

/** The message names every invalid setting and what to set it to. */
export class ConfigError extends Error {}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const roles = ['all', 'api', 'worker'] as const

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the configuration from the environment. Throws ConfigError. */
export function readConfig(environment: Environment) {
  const settings = new Settings(environment)
  const config = readSettings(settings)
  const { faults } = settings
  if (faults.length > 0) throw new ConfigError(`Cannot start:\n- ${faults.join('\n- ')}`)
  return config
}

/** The settings of an environment, and the faults of those that were read. */
class Settings {
  readonly faults: string[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  text(name: string): string | undefined {
    return this.#environment[name] || undefined
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name) ?? String(fallback)
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    this.faults.push(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
    return fallback
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = this.text(name) ?? fallback
    const found = allowed.find((candidate) => candidate === value)
    if (!found) this.faults.push(`${name} must be one of ${allowed.join(', ')}, not "${value}"`)
    return found ?? fallback
  }
}

function readSettings(settings: Settings) {
  return Object.freeze({
    port: settings.integer('PORT', 3000, 0, 65535),
    host: settings.text('HOST') ?? '127.0.0.1',
    /** The path prefix of a proxy, such as `/pricing`; '' for none. */
    basePath: basePath(settings),
    /** undefined for the embedded PostgreSQL, whose data is in `dataDir`. */
    databaseUrl: databaseUrl('DATABASE_URL', settings),
    /** A standby or another cluster node to read prices from instead. */
    databaseReadUrl: databaseReadUrl(settings),
    /** How long the history of price lists and promotions is kept. */
    historyDays: settings.integer('HISTORY_DAYS', 400, 60, 36_500),
    /** How long startup waits for the database. */
    databaseWaitSeconds: settings.integer('DATABASE_WAIT_SECONDS', 30, 0, 3600),
    dataDir: resolve(settings.text('DATA_DIR') ?? '.data'),
    /** Signs the tokens of `POST /login/`; undefined only with the embedded database, which has a secret file. */
    jwtSecret: jwtSecret(settings),
    /** An identity provider whose tokens replace those of `POST /login/`. */
    jwks: jwks(settings),
    logLevel: settings.oneOf('LOG_LEVEL', logLevels, 'info'),
    /** The token for `/metrics`; undefined disables the path. */
    metricsToken: metricsToken(settings),
    /** An OpenTelemetry collector for spans, over OTLP/HTTP. */
    collector: collector(settings),
    /** Whether the process serves requests, runs jobs, or both. */
    role: settings.oneOf('ROLE', roles, 'all'),
    limits: readLimits(settings),
    load: readLoadLimits(settings),
  })
}

/** Whether the text is a path prefix such as `/pricing`, without a trailing slash. */
export function isPathPrefix(text: string): boolean {
  return /^(\/[\w.-]+)+$/.test(text)
}

function basePath(settings: Settings): string {
  const value = settings.text('BASE_PATH') ?? ''
  if (value !== '' && !isPathPrefix(value)) {
    settings.faults.push(
      `BASE_PATH must be a path such as /pricing, of letters, digits, ".", "_" and "-" between slashes and without one at its end, not "${value}"`,
    )
  }
  return value
}

function databaseReadUrl(settings: Settings): string | undefined {
  const value = databaseUrl('DATABASE_READ_URL', settings)
  if (value !== undefined && settings.text('DATABASE_URL') === undefined)
    settings.faults.push('DATABASE_READ_URL needs DATABASE_URL, whose data it reads')
  return value
}

function databaseUrl(name: string, settings: Settings): string | undefined {
  const value = settings.text(name)
  const isUrl = value !== undefined && URL.canParse(value) && value.length > 'postgresql://'.length
  if (value !== undefined && !(isUrl && /^postgres(ql)?:\/\//.test(value))) {
    settings.faults.push(
      `${name} must be a URL that starts with postgresql://, as in postgresql://user:password@host:5432/database`,
    )
  }
  return value
}

function jwtSecret(settings: Settings): string | undefined {
  const value = settings.text('JWT_SECRET')
  if (value === undefined && settings.text('DATABASE_URL') !== undefined) {
    settings.faults.push(
      'JWT_SECRET must be set with DATABASE_URL: at least 32 bytes, for example from `openssl rand -base64 48`',
    )
  }
  if (value !== undefined && Buffer.byteLength(value) < 32) {
    settings.faults.push(
      `JWT_SECRET must be at least 32 bytes long, not ${Buffer.byteLength(value)}`,
    )
  }
  return value
}

function metricsToken(settings: Settings): string | undefined {
  const value = settings.text('METRICS_TOKEN')
  if (value !== undefined && !/^[\w.~+/=-]{16,}$/.test(value)) {
    settings.faults.push(
      'METRICS_TOKEN must be at least 16 letters, digits or any of _.~+/=-, for example from `openssl rand -hex 32`',
    )
  }
  return value
}

function collector(settings: Settings): URL | undefined {
  const value = settings.text('OTEL_EXPORTER_OTLP_ENDPOINT')
  if (value === undefined) return undefined
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return new URL(value)
  settings.faults.push('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL')
  return undefined
}

function jwks(settings: Settings) {
  const url = settings.text('JWT_JWKS_URL')
  const issuer = settings.text('JWT_ISSUER')
  const audience = settings.text('JWT_AUDIENCE')
  if (!url && !issuer && !audience) return undefined
  const isUrl = url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url)
  if (!url) settings.faults.push('JWT_JWKS_URL must be set with JWT_ISSUER and JWT_AUDIENCE')
  else if (!isUrl) settings.faults.push('JWT_JWKS_URL must be an http or https URL')
  if (!issuer) settings.faults.push('JWT_ISSUER must be set with JWT_JWKS_URL')
  if (!audience) settings.faults.push('JWT_AUDIENCE must be set with JWT_JWKS_URL')
  return isUrl && issuer && audience ? { url: new URL(url), issuer, audience } : undefined
}

/** Connections for files and streamed responses; a client holds one until it is done. */
export const streamConnections = 4

/** Connections for paged lists: half as many as for reads, rounded up. */
export const listConnections = (databaseConnections: number): number =>
  Math.ceil(databaseConnections / 2)

function readLimits(settings: Settings) {
  return Object.freeze({
    bodyBytesMax: settings.integer('BODY_LIMIT_MB', 64, 1, 1024) * 1024 * 1024,
    /** Rows in one JSON call. */
    rowsMax: settings.integer('ROWS_MAX', 100_000, 1, 10_000_000),
    /** Rows in the response to one price read. */
    readRowsMax: settings.integer('READ_ROWS_MAX', 1_000_000, 1, 100_000_000),
    /** Bytes in the response to one price read. */
    readBytesMax: settings.integer('READ_LIMIT_MB', 2048, 1, 65_536) * 1024 * 1024,
    /** Size of a CSV or NDJSON file after decompression. */
    feedBytesMax: settings.integer('FEED_LIMIT_MB', 4096, 1, 65_536) * 1024 * 1024,
    /** A job loads files with a larger Content-Length. */
    feedAtOnceBytesMax: settings.integer('FEED_JOB_MB', 256, 0, 65_536) * 1024 * 1024,
    /** Files of one account with an unfinished job. */
    filesWaitingMax: settings.integer('ACCOUNT_FILES', 20, 1, 100_000),
    /** Rows in one CSV or NDJSON file. */
    feedRowsMax: settings.integer('FEED_ROWS_MAX', 10_000_000, 1, 100_000_000),
  })
}

function readLoadLimits(settings: Settings) {
  return Object.freeze({
    /** Total size of the request bodies being received or processed at the same time. */
    bodiesInFlightBytesMax: settings.integer('BODIES_IN_FLIGHT_MB', 256, 1, 65_536) * 1024 * 1024,
    /** Database connections for reads, and as many for writes. */
    databaseConnections: settings.integer('DATABASE_CONNECTIONS', 4, 1, 1000),
    /** Concurrent writes of one account; its other writes wait. */
    accountWritesMax: settings.integer('ACCOUNT_WRITES', 2, 1, 1000),
    /** Waiting reads of one account; the same limit applies to its writes and its files. */
    accountWaitingMax: settings.integer('ACCOUNT_WAITING', 200, 1, 100_000),
    /** How long a write waits for its account's other writes, and a file for its account's other files. */
    accountWaitMs: settings.integer('ACCOUNT_WAIT_SECONDS', 30, 1, 600) * 1000,
    /** Waiting reads of all accounts; the same limit applies to writes and to files. */
    waitingMax: settings.integer('WAITING', 500, 1, 100_000),
    /** 0 for no limit. */
    eventLoopDelayMaxMs: settings.integer('EVENT_LOOP_DELAY_MS', 500, 0, 60_000),
    socketsMax: settings.integer('SOCKETS', 5000, 1, 1_000_000),
    /** How long a request may take to arrive. */
    arrivalMs: settings.integer('ARRIVAL_SECONDS', 120, 1, 3600) * 1000,
  })
}
