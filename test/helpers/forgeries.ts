import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { jwtSecret } from './service.ts'
import { aToken, claims } from './tokens.ts'

const now = Math.floor(Date.now() / 1000)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsaPem = rsa.publicKey.export({ type: 'spki', format: 'pem' })

/** A value as a segment of a token. */
export function part(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString(
    'base64url',
  )
}

/** A token with any header and claims, signed with the service's secret. */
export function signed(
  header: unknown,
  payload: unknown,
  secret: string | Buffer = jwtSecret,
  hash = 'sha256',
) {
  const content = `${part(header)}.${part(payload)}`
  return `${content}.${createHmac(hash, secret).update(content).digest('base64url')}`
}

const hs256 = { alg: 'HS256', typ: 'JWT' }
/** A token with valid claims, some overridden, signed with the service's secret. */
export const withClaims = (overrides: Record<string, unknown>) => signed(hs256, claims(overrides))
const withHeader = (header: Record<string, unknown>) => signed({ ...hs256, ...header }, claims())
const jwk = { kty: 'oct', k: part('x'.repeat(32)), alg: 'HS256' }

/** Tokens that must be refused, by their defect. */
export async function forgeries(): Promise<Record<string, string>> {
  const valid = await aToken()
  const [header = '', payload = '', signature = ''] = valid.split('.')
  const content = `${part({ alg: 'RS256' })}.${part(claims())}`
  const byRsa = sign('sha256', Buffer.from(content), rsa.privateKey).toString('base64url')
  const ecContent = `${part({ alg: 'ES256' })}.${part(claims())}`
  const byEc = sign('sha256', Buffer.from(ecContent), {
    key: ec.privateKey,
    dsaEncoding: 'ieee-p1363',
  })
  const none = (alg: unknown, end: string) => `${part({ alg, typ: 'JWT' })}.${payload}.${end}`
  return {
    'no algorithm, no signature': none('none', ''),
    'no algorithm, a signature': none('none', signature),
    'no algorithm, spelt None': none('None', ''),
    'no algorithm, spelt NONE': none('NONE', signature),
    'no algorithm, spelt nOnE': none('nOnE', 'AA'),
    'an empty algorithm': none('', signature),
    'a null algorithm': none(null, signature),
    'a list of algorithms': none(['HS256'], signature),
    'a header without alg': `${part({ typ: 'JWT' })}.${payload}.${signature}`,
    'signed with another secret': signed(hs256, claims(), 'x'.repeat(32)),
    'signed with an empty secret': signed(hs256, claims(), ''),
    'signed with the public RSA key as secret': signed(hs256, claims(), String(rsaPem)),
    HS384: signed({ alg: 'HS384' }, claims(), jwtSecret, 'sha384'),
    HS512: signed({ alg: 'HS512' }, claims(), jwtSecret, 'sha512'),
    HS1: signed({ alg: 'HS1' }, claims(), jwtSecret, 'sha1'),
    'RS256 by a key of their own': `${content}.${byRsa}`,
    'RS256 over an HMAC': signed({ alg: 'RS256' }, claims()),
    'ES256 by a key of their own': `${ecContent}.${byEc.toString('base64url')}`,
    'ES256 with a signature of zeros': `${ecContent}.${Buffer.alloc(64).toString('base64url')}`,
    'EdDSA over an HMAC': signed({ alg: 'EdDSA' }, claims()),
    'PS256 over an HMAC': signed({ alg: 'PS256' }, claims()),
    'its own jwk': withHeader({ jwk }),
    'its own jwk, signed with it': signed({ ...hs256, jwk }, claims(), 'x'.repeat(32)),
    'its own jku': withHeader({ jku: 'http://127.0.0.1:1/keys' }),
    'its own x5u': withHeader({ x5u: 'http://127.0.0.1:1/cert' }),
    'its own x5c': withHeader({ x5c: ['MIIB'] }),
    'an unknown crit': withHeader({ crit: ['exp'] }),
    'an empty crit': withHeader({ crit: [] }),
    'crit of b64': withHeader({ crit: ['b64'], b64: false }),
    'crit that is no list': withHeader({ crit: 'exp' }),
    'another signature': `${header}.${payload}.${part('x'.repeat(32))}`,
    'no signature': `${header}.${payload}.`,
    'half a signature': `${header}.${payload}.${signature.slice(0, 20)}`,
    'the claims of another token': `${header}.${part(claims({ account: 2 }))}.${signature}`,
    'the header of another token': `${part({ ...hs256, kid: 'x' })}.${payload}.${signature}`,
    'two parts': `${header}.${payload}`,
    'four parts': `${valid}.${signature}`,
    'five parts (encrypted)': `${header}.${payload}.${signature}.${payload}.${signature}`,
    'one part': header,
    'no token': '',
    'padding in base64': `${header}.${payload}.${signature}=`,
    'plain base64': `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+/`,
    'a header that is no JSON': `${part('{')}.${payload}.${signature}`,
    'a header that is a list': signed([], claims()),
    'a header that is null': signed('null', claims()),
    'claims that are no JSON': signed(hs256, 'x'),
    'claims that are a list': signed(hs256, []),
    'claims that are null': signed(hs256, 'null'),
    'claims that are a text': signed(hs256, '"x"'),
    'no claims': signed(hs256, {}),
    'over 8 KB': withClaims({ padding: 'x'.repeat(8000) }),
    'over 8 KB in the header': withHeader({ padding: 'x'.repeat(7000) }),
    ...Object.fromEntries(
      Object.entries(wrongClaims()).map(([name, wrong]) => [name, withClaims(wrong)]),
    ),
  }
}

/** Claims that must be refused whatever signs them: out of bounds, missing, of a wrong type. */
export function wrongClaims(): Record<string, Record<string, unknown>> {
  const wrong: Record<string, unknown[]> = {
    exp: [String(now + 600), null, {}, [now + 600], true],
    iat: [String(now), null, {}, true],
    iss: [1, null, ['pricewell'], {}],
    aud: [1, null, {}, true],
    sub: [1, null, '', {}, ['1'], 'a\0b', '\ud800', 'x'.repeat(256)],
    account: ['1', 0, -1, 1.5, 1e300, null, true, [1], {}, 2 ** 53],
    scope: [1, null, ['read'], {}, true],
    nbf: ['0', null, {}],
  }
  const cases = Object.entries(wrong).flatMap(([claim, values]) =>
    values.map((value) => [`${claim} ${JSON.stringify(value)}`, { [claim]: value }]),
  )
  const missing = Object.keys(wrong)
    .filter((claim) => claim !== 'nbf')
    .map((claim) => [`without ${claim}`, { [claim]: undefined }])
  return {
    expired: { exp: now - 3600 },
    'expired beyond the skew': { exp: now - 32 },
    'not valid yet': { nbf: now + 3600 },
    'another issuer': { iss: 'someone' },
    'an issuer in capitals': { iss: 'Pricewell' },
    'another audience': { aud: 'someone' },
    'other audiences': { aud: ['a', 'b'] },
    'no audience in the list': { aud: [] },
    ...Object.fromEntries([...cases, ...missing]),
  }
}
