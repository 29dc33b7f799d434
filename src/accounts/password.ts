import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

type Scrypt = (
  password: string,
  salt: Buffer,
  bytes: number,
  options: { N: number; r: number; p: number; maxmem: number },
) => Promise<Buffer>
const scryptAsync = promisify(scrypt) as unknown as Scrypt

/** scrypt parameters that take 64 MiB, stored with each hash so that they can be raised later. Tests lower them. */
export const passwordCost = { N: 2 ** 16, r: 8, p: 1 }
const hashBytes = 32

/** Returns `scrypt:N:r:p:salt:hash`, salt and hash in base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const { N, r, p } = passwordCost
  const hash = await derive(password, salt, { N, r, p })
  return ['scrypt', N, r, p, salt.toString('base64'), hash.toString('base64')].join(':')
}

/** Checks a password against a stored hash, in constant time. */
export async function isPassword(password: string, stored: string): Promise<boolean> {
  const [, N, r, p, salt = '', hash = ''] = stored.split(':')
  const expected = Buffer.from(hash, 'base64')
  const actual = await derive(password, Buffer.from(salt, 'base64'), {
    N: Number(N),
    r: Number(r),
    p: Number(p),
  })
  return timingSafeEqual(actual, expected)
}

/** A random password: 20 characters, 120 bits. */
export function generatePassword(): string {
  return randomBytes(15).toString('base64url')
}

function derive(password: string, salt: Buffer, { N, r, p }: typeof passwordCost): Promise<Buffer> {
  return scryptAsync(password, salt, hashBytes, { N, r, p, maxmem: 256 * N * r })
}
