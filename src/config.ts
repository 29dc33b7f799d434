import { resolve } from 'node:path'
import { type Limits, type LoadLimits, readLimits, readLoadLimits } from './limits.ts'

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
