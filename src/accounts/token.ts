import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import type { Config } from '../config.ts'
import type { Scope } from '../contract/operation.ts'
import { keptSecret } from '../lib/secret-file.ts'

/** `iss` and `aud` of the tokens of users. */
export const issuer = 'pricewell'
export const audience = 'pricewell'
const lifetime = '24h'

/** The scopes of users made by `account create`. */
export const allScopes: Scope[] = ['read', 'plan', 'write', 'override', 'admin']

/** What a token says of its user, and the hash of the password under which it is issued. */
export interface LoggedIn {
  id: number
  account: number
  scopes: string[]
  password_hash: string
}

/** Signs a token for a user, valid for 24 hours and no longer than the password. */
export function signToken(secret: Uint8Array, user: LoggedIn): Promise<string> {
  const claims = { account: user.account, scope: user.scopes.join(' ') }
  return new SignJWT({ ...claims, password: passwordMark(user.password_hash) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(String(user.id))
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(lifetime)
    .sign(secret)
}

/** Distinguishes one password from the next, as each hash has a new salt, but reveals neither password nor hash. */
export function passwordMark(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('base64url').slice(0, 16)
}

/** JWT_SECRET, or the secret kept in the data directory. */
export function readJwtSecret(config: Config): string {
  return config.jwtSecret || keptSecret(join(config.dataDir, 'jwt-secret'))
}
