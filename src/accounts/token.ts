import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import type { Config } from '../config.ts'
import type { Scope } from '../contract/operation.ts'
import { keptSecret } from '../lib/secret-file.ts'

export const issuer = 'pricewell'
export const audience = 'pricewell'
const lifetime = '24h'

/** What the users of `account create` may do. */
export const allScopes: Scope[] = ['read', 'plan', 'write', 'override', 'admin']

/** The user of a login. */
export interface LoggedIn {
  id: number
  account: number
  scopes: string[]
  password_hash: string
}

/** A token for a user of an account, valid for 24 hours, and no longer than the password. */
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

/** Tells one password from the next, as its hash has a new salt each time, and neither the password nor the hash. */
export function passwordMark(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('base64url').slice(0, 16)
}

/** JWT_SECRET, or the secret that is kept in the data directory. */
export function readJwtSecret(config: Config): string {
  return config.jwtSecret || keptSecret(join(config.dataDir, 'jwt-secret'))
}
