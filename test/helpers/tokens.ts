import { type JWTPayload, SignJWT } from 'jose'
import { userScope } from '../../src/accounts/token.ts'
import { jwtSecret } from './service.ts'

/** Valid claims; an override of `undefined` leaves a claim out. */
export function claims(overrides: Record<string, unknown> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000)
  const valid = { sub: '1', account: 1, scope: userScope, iss: 'pricewell', aud: 'pricewell' }
  const all = { ...valid, iat: now, exp: now + 600, ...overrides }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** A token with valid claims, some overridden, signed with the service's secret. */
export function aToken(overrides: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT(claims(overrides))
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(jwtSecret))
}
