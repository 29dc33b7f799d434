import { SignJWT } from 'jose'
import { issuer } from '../token.ts'

/** The prefix by which people and secret scanners recognize an API key. */
export const keyPrefix = 'pwk_'
/** Differs from the audience of a login: neither token passes for the other. */
export const keyAudience = 'pricewell api key'

/** The content of an API key's token. */
export interface SignedKey {
  account: number
  id: number
  scopes: string[]
  created_at: Date
  expires_at: Date
}

/** Signs an API key: a token after the prefix. The key is not stored; the database alone cannot recreate it. */
export async function signKey(secret: Uint8Array, key: SignedKey): Promise<string> {
  const token = new SignJWT({ account: key.account, scope: key.scopes.join(' ') })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(`key:${key.id}`)
    .setIssuer(issuer)
    .setAudience(keyAudience)
    .setIssuedAt(key.created_at)
    .setExpirationTime(key.expires_at)
  return keyPrefix + (await token.sign(secret))
}

/** The id of the API key with this `sub`; undefined for another `sub`. */
export function keyIdOf(subject: string): number | undefined {
  const [, id] = /^key:(\d{1,15})$/.exec(subject) ?? []
  return id === undefined ? undefined : Number(id)
}
