import { SignJWT } from 'jose'
import { issuer } from '../token.ts'

/** What an API key begins with, so that people and scanners of secrets know it. */
export const keyPrefix = 'pwk_'
/** Not that of a login: neither passes for the other. */
export const keyAudience = 'pricewell api key'

/** What the token of an API key says. */
export interface SignedKey {
  account: number
  id: number
  scopes: string[]
  created_at: Date
  expires_at: Date
}

/** An API key: a token after the prefix. It cannot be made again from what is kept. */
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
