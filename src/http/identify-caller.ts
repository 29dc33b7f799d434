import {
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import { findLiveKey } from '../accounts/api-keys/find-live-key.ts'
import { keyAudience, keyIdOf, keyPrefix } from '../accounts/api-keys/key-token.ts'
import { audience, issuer } from '../accounts/token.ts'
import { findLiveUser } from '../accounts/users/queries.ts'
import type { Config } from '../config.ts'
import { unauthorized, unavailable } from '../contract/problem.ts'
import type { Database } from '../database/pool.ts'
import { isOutage, providerKeys } from './jwks.ts'
import type { Caller, Known } from './known-tokens.ts'

/**
 * Verifies a token and looks up its API key or user. Throws `unauthorized`, or `unavailable` without the identity
 * provider.
 */
export type Identify = (token: string) => Promise<Known>

/** Tokens are verified again after this time, because the identity provider may have dropped their key. */
const trustedMs = 30_000
/** Ensures that a revoked key or an ended login stops working within 10 seconds. */
const lookedUpMs = 8_000

/**
 * Identifies callers by the service's own tokens (HS256), or else those of the configured identity provider, and by API
 * keys. Looks up logins and keys in `db` only after verifying the signature, so a forged token costs no query.
 */
export function identifying({ jwks }: Config, secret: Uint8Array, db: Database): Identify {
  const verify = jwks ? verifyRemote(jwks) : verifyOwn(secret, { ...required, audience })
  const type = jwks ? 'external' : 'user'
  // The service sets their `exp` by its own clock.
  const ofKeys = { ...required, audience: keyAudience, clockTolerance: 0 }
  const verifyKey = verifyOwn(secret, ofKeys)
  const identify = async (token: string): Promise<Known> => {
    const now = performance.now()
    const { caller, expiresAt, password } = await verifyToken(token, verify, type)
    const known = { caller, expiresAt, until: now + trustedMs }
    if (jwks || password === undefined) return known
    return { ...known, caller: await allowedByUser(db, caller, password), until: now + lookedUpMs }
  }
  const identifyKey = async (key: string): Promise<Known> => {
    const until = performance.now() + lookedUpMs
    const token = key.slice(keyPrefix.length)
    const { caller, expiresAt, issuedAt } = await verifyToken(token, verifyKey, 'api_key')
    return { caller: await namedByKey(db, caller, issuedAt), expiresAt, until }
  }
  return sharing((token) => (token.startsWith(keyPrefix) ? identifyKey : identify)(token))
}

/** Concurrent requests with the same token share one verification. */
function sharing(identify: Identify): Identify {
  const running = new Map<string, Promise<Known>>()
  return (token) => {
    const shared = running.get(token)
    if (shared) return shared
    const started = identify(token).finally(() => running.delete(token))
    running.set(token, started)
    return started
  }
}

/** Adds the key's name to the caller. Throws `unauthorized` if the key was revoked. */
async function namedByKey(db: Database, caller: Caller, issuedAt: number): Promise<Caller> {
  const { account, subject } = caller
  const id = keyIdOf(subject)
  const name = id && (await findLiveKey(db, { account, id, issuedAt }))
  if (!name) throw unauthorized('The API key was revoked.')
  return { ...caller, name }
}

/**
 * Limits the caller to the user's current scopes. Throws `unauthorized` if the user was deleted or has a new password.
 */
async function allowedByUser(db: Database, caller: Caller, password: string): Promise<Caller> {
  const { account, subject } = caller
  const user = await findLiveUser(db, { account, id: Number(subject), password })
  if (!user)
    throw unauthorized('The login has ended: the password was changed or the user deleted.')
  const allowed = withIncluded(user.scopes)
  return { ...caller, scopes: new Set([...caller.scopes].filter((scope) => allowed.has(scope))) }
}

interface Verified {
  caller: Caller
  expiresAt: number
  issuedAt: number
  /** Identifies the password that a login used; undefined for other tokens. */
  password: string | undefined
}

async function verifyToken(token: string, verify: Verify, type: Caller['type']): Promise<Verified> {
  try {
    const { payload, protectedHeader } = await verify(token)
    if (keyHeaders.some((name) => name in protectedHeader))
      throw new Error('the token brings its own key')
    const { exp = 0, iat = 0, password } = payload
    const mark = password === undefined ? undefined : String(password)
    return { caller: readCaller(payload, type), expiresAt: exp, issuedAt: iat, password: mark }
  } catch (cause) {
    throw isOutage(cause)
      ? unavailable('The identity provider does not answer.', 5, cause)
      : unauthorized('The token is not valid or has expired.', cause)
  }
}

const keyHeaders = ['jwk', 'jku', 'x5u', 'x5c']

type Verify = (
  token: string,
) => Promise<{ payload: JWTPayload; protectedHeader: ProtectedHeaderParameters }>

const required: JWTVerifyOptions = {
  requiredClaims: ['sub', 'account', 'scope', 'iat', 'exp'],
  clockTolerance: 30,
}

function verifyOwn(secret: Uint8Array, options: JWTVerifyOptions): Verify {
  return (token) => jwtVerify(token, secret, { ...options, issuer, algorithms: ['HS256'] })
}

function verifyRemote(jwks: NonNullable<Config['jwks']>): Verify {
  const keys = providerKeys(jwks.url)
  const options = { ...required, issuer: jwks.issuer, audience: jwks.audience }
  return (token) => jwtVerify(token, keys, { ...options, algorithms: ['RS256', 'ES256', 'EdDSA'] })
}

/** The further scopes that a scope includes. */
const included = new Map([
  ['write', ['plan', 'read']],
  ['plan', ['read']],
])

function withIncluded(scopes: string[]): Set<string> {
  return new Set(scopes.flatMap((one) => [one, ...(included.get(one) ?? [])]))
}

function readCaller({ sub, account, scope }: JWTPayload, type: Caller['type']): Caller {
  if (typeof sub !== 'string' || !isStorable(sub)) throw new Error('sub is not a text')
  if (typeof account !== 'number' || !Number.isSafeInteger(account) || account < 1)
    throw new Error('account is not an id')
  if (typeof scope !== 'string') throw new Error('scope is not a text')
  return { account, subject: sub, type, scopes: withIncluded(scope.split(' ')) }
}

/** As in OpenID Connect. */
const subjectLengthMax = 255

/** The subject is part of the key of a stored response. */
const isStorable = (sub: string): boolean =>
  sub !== '' && sub.length <= subjectLengthMax && sub.isWellFormed() && !sub.includes('\0')
