import { join } from 'node:path'
import { SignJWT } from 'jose'
import type { Config } from '../config.ts'
import { keptSecret } from '../lib/secret-file.ts'

export const issuer = 'pricewell'
export const audience = 'pricewell'
const lifetime = '24h'

/** The scope of a user's token. */
export const userScope = 'read plan write override admin'

/** A token for a user of an account, valid for 24 hours. */
export function signToken(
  secret: Uint8Array,
  user: { id: number; account: number },
): Promise<string> {
  return new SignJWT({ account: user.account, scope: userScope })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(String(user.id))
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(lifetime)
    .sign(secret)
}

/** JWT_SECRET, or the secret that is kept in the data directory. */
export function readJwtSecret(config: Config): string {
  return config.jwtSecret || keptSecret(join(config.dataDir, 'jwt-secret'))
}
