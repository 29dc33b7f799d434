import type { JWTPayload } from 'jose'
import { allScopes } from '../../src/accounts/token.ts'
import { jwtSecret } from './service.ts'
import { signClaims } from './user-token.ts'

/** Valid claims; an override of `undefined` leaves a claim out. */
export function claims(overrides: Record<string, unknown> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000)
  const scope = allScopes.join(' ')
  const valid = { sub: '1', account: 1, scope, iss: 'pricewell', aud: 'pricewell' }
  const all = { ...valid, iat: now, exp: now + 600, ...overrides }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** A token with valid claims, some overridden, signed with the service's secret. */
export function aToken(overrides: Record<string, unknown> = {}): Promise<string> {
  return signClaims(new TextEncoder().encode(jwtSecret), claims(overrides))
}
