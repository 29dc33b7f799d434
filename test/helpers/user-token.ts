import { type JWTPayload, SignJWT } from 'jose'
import { allScopes, audience, issuer } from '../../src/accounts/token.ts'

/** A signed token of these claims, as someone who has the secret makes it: it names no password, so no user is looked up. */
export function signClaims(secret: Uint8Array, claims: JWTPayload): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(secret)
}

/** A token with all scopes in the name of a user who need not exist. */
export function userToken(
  secret: Uint8Array,
  { id, account }: { id: number; account: number },
): Promise<string> {
  const iat = Math.floor(Date.now() / 1000)
  const named = { sub: String(id), account, scope: allScopes.join(' ') }
  return signClaims(secret, { ...named, iss: issuer, aud: audience, iat, exp: iat + 86_400 })
}
