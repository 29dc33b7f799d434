import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import { audience, issuer } from '../accounts/token.ts'
import type { Config } from '../config.ts'
import { Problem, unauthorized, unavailable } from '../contract/problem.ts'
import { isOutage, providerKeys } from './jwks.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; undefined for open paths. */
    caller?: Caller
  }
  interface FastifyContextConfig {
    /** The path needs no token. */
    isOpen?: boolean
  }
}

/** What a verified token says about the sender of a request. */
export interface Caller {
  account: number
  subject: string
  /** Whether the token is from another issuer. */
  isExternal: boolean
  scopes: ReadonlySet<string>
}

const tokenLengthMax = 8192
/** As in OpenID Connect. */
const subjectLengthMax = 255
const keyHeaders = ['jwk', 'jku', 'x5u', 'x5c']

/**
 * Identifies the caller of each request from its Authorization header alone, except for open paths. Accepts our own tokens
 * (HS256), or those of the configured identity provider instead. Throws `unauthorized`, or `forbidden` without the scope of
 * the operation.
 */
export function authenticateRequests(
  app: FastifyInstance,
  { jwks }: Config,
  secret: Uint8Array,
): void {
  const verify = jwks ? verifyRemote(jwks) : verifyOwn(secret)
  const isExternal = jwks !== undefined
  const knownTokens = new KnownTokens()
  const admit = (request: FastifyRequest, caller: Caller) => {
    const { scope } = request.routeOptions.config.operation ?? {}
    request.caller = caller
    if (scope && !caller.scopes.has(scope))
      throw new Problem('forbidden', `The token lacks the scope "${scope}".`)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    const { operation, isOpen } = request.routeOptions.config
    if (isOpen || (operation && operation.scope === undefined)) return done()
    const token = readToken(request)
    const known = knownTokens.find(token)
    if (known) {
      admit(request, known)
      return done()
    }
    verifyToken(token, verify, { knownTokens, isExternal })
      .then((caller) => admit(request, caller))
      .then(() => done(), done)
  })
}

async function verifyToken(
  token: string,
  verify: Verify,
  { knownTokens, isExternal }: { knownTokens: KnownTokens; isExternal: boolean },
): Promise<Caller> {
  try {
    const { payload, protectedHeader } = await verify(token)
    if (keyHeaders.some((name) => name in protectedHeader))
      throw new Error('the token brings its own key')
    const caller = readCaller(payload, isExternal)
    knownTokens.add(token, caller, payload.exp ?? 0)
    return caller
  } catch (cause) {
    throw isOutage(cause)
      ? unavailable('The identity provider does not answer.', 5, cause)
      : unauthorized('The token is not valid or has expired.', cause)
  }
}

type Verify = (
  token: string,
) => Promise<{ payload: JWTPayload; protectedHeader: ProtectedHeaderParameters }>

const required: JWTVerifyOptions = {
  requiredClaims: ['sub', 'account', 'scope', 'iat', 'exp'],
  clockTolerance: 30,
}

function verifyOwn(secret: Uint8Array): Verify {
  return (token) =>
    jwtVerify(token, secret, { ...required, issuer, audience, algorithms: ['HS256'] })
}

function verifyRemote(jwks: NonNullable<Config['jwks']>): Verify {
  const keys = providerKeys(jwks.url)
  const options = { ...required, issuer: jwks.issuer, audience: jwks.audience }
  return (token) => jwtVerify(token, keys, { ...options, algorithms: ['RS256', 'ES256', 'EdDSA'] })
}

function readToken(request: FastifyRequest): string {
  const headers = request.raw.rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization',
  )
  if (headers.length === 0)
    throw unauthorized(
      'Send the header "Authorization: jwt <token>"; POST /login/ answers a token.',
    )
  if (headers.length > 1) throw unauthorized('The Authorization header is there more than once.')
  const match = /^jwt ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(request.headers.authorization ?? '')
  if (!match?.[1] || match[1].length > tokenLengthMax) {
    throw unauthorized('The Authorization header must be the word jwt, a space, and the token.')
  }
  return match[1]
}

/** The scopes that a scope includes. */
const included = new Map([['write', ['read']]])

function readCaller({ sub, account, scope }: JWTPayload, isExternal: boolean): Caller {
  if (typeof sub !== 'string' || !isStorable(sub)) throw new Error('sub is not a text')
  if (typeof account !== 'number' || !Number.isSafeInteger(account) || account < 1)
    throw new Error('account is not an id')
  if (typeof scope !== 'string') throw new Error('scope is not a text')
  const scopes = scope.split(' ').flatMap((one) => [one, ...(included.get(one) ?? [])])
  return { account, subject: sub, isExternal, scopes: new Set(scopes) }
}

/** The subject is part of the key of a stored answer. */
const isStorable = (sub: string): boolean =>
  sub !== '' && sub.length <= subjectLengthMax && sub.isWellFormed() && !sub.includes('\0')

/** A token is verified again after this time: its key may have been dropped. */
const trustedMs = 30_000
const tokensMax = 1000

/** Callers by token. Verifying a signature takes as long as reading a price. */
export class KnownTokens {
  readonly #callers = new Map<string, { caller: Caller; until: number; expiresAt: number }>()

  /** The caller of a token that was verified within 30 seconds and has not expired. */
  find(token: string): Caller | undefined {
    const known = this.#callers.get(token)
    const isFresh = known && performance.now() < known.until && Date.now() < known.expiresAt * 1000
    return isFresh ? known.caller : undefined
  }

  /** Keeps the caller of a verified token; `expiresAt` is its `exp`, in seconds. */
  add(token: string, caller: Caller, expiresAt: number): void {
    if (this.#callers.size >= tokensMax) this.#callers.clear()
    this.#callers.set(token, { caller, until: performance.now() + trustedMs, expiresAt })
  }
}
