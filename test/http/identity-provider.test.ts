import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import t from 'tap'
import { anApiKey, keysPath, withKey } from '../helpers/api-keys.ts'
import { letPass, setClock } from '../helpers/clocks.ts'
import { forgeries, wrongClaims } from '../helpers/forgeries.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { startTestService } from '../helpers/service.ts'
import { aToken, claims } from '../helpers/tokens.ts'

const path = '/api/v1/price_list/'
const ours = { iss: 'https://id.example', aud: 'prices' }

interface Key {
  kid: string
  alg: string
  privateKey: CryptoKey
  jwk: JWK
}

async function aKey(alg: string, kid: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

function signWith({ privateKey, alg, kid }: Key, overrides = {}, header = {}): Promise<string> {
  return new SignJWT(claims({ ...ours, ...overrides }))
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey)
}

/** What the provider answers now. */
let answer: (response: ServerResponse) => void
let fetches = 0
const provider = createServer((_request, response) => {
  fetches++
  answer(response)
})
provider.listen(0, '127.0.0.1')
await once(provider, 'listening')
t.teardown(() => {
  provider.closeAllConnections()
  provider.close()
})
const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/keys`
const settings = { JWT_JWKS_URL: url, JWT_ISSUER: ours.iss, JWT_AUDIENCE: ours.aud }

function publish(...keys: Key[]): void {
  answer = (response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
  }
}

const keys = await Promise.all(
  ['RS256', 'ES256', 'EdDSA'].map((alg) => aKey(alg, `key-${alg.toLowerCase()}`)),
)

t.test('tokens of the provider are accepted by its keys and no others', async (t) => {
  publish(...keys)
  const service = await startTestService(t, settings)
  const status = async (token: string) =>
    (await send(t, service, { method: 'GET', path, headers: { authorization: `jwt ${token}` } }))
      .status
  for (const key of keys) {
    t.equal(await status(await signWith(key)), 200, key.alg)
    const wrong = {
      ...wrongClaims(),
      'our issuer': { iss: 'pricewell' },
      ours: { aud: 'pricewell' },
    }
    for (const [name, overrides] of Object.entries(wrong))
      t.equal(await status(await signWith(key, overrides)), 401, `${key.alg}, ${name}`)
    for (const header of [{ jku: url }, { jwk: key.jwk }, { x5u: url }, { x5c: ['MIIB'] }])
      t.equal(await status(await signWith(key, {}, header)), 401, JSON.stringify(header))
  }
  t.equal(await status(await aToken()), 401, 'our own token')
  for (const [name, token] of Object.entries(await forgeries()))
    t.equal(await status(token), 401, name)
  t.equal(await status(await aToken(ours)), 401, 'our own secret in the name of the provider')
  const [stranger] = await Promise.all([aKey('RS256', 'key-rs256')])
  t.equal(await status(await signWith(stranger as Key)), 401, 'another key by a known name')
  const others = await Promise.all(
    ['PS256', 'ES384', 'RS512'].map((alg) => aKey(alg, `key-${alg}`)),
  )
  for (const other of others) t.equal(await status(await signWith(other)), 401, other.alg)
  const confused = await new SignJWT(claims(ours))
    .setProtectedHeader({ alg: 'HS256', kid: 'key-rs256' })
    .sign(new TextEncoder().encode(JSON.stringify(keys[0]?.jwk)))
  t.equal(await status(confused), 401, 'the public key as a secret')
  t.equal(fetches, 1, 'the keys were fetched once')
})

t.test(
  'a key that the provider takes into use is fetched, one that it drops is refused',
  async (t) => {
    const [first, second] = await Promise.all([aKey('ES256', 'first'), aKey('ES256', 'second')])
    publish(first)
    const service = await startTestService(t, settings)
    const status = async (key: Key) => {
      const headers = { authorization: `jwt ${await signWith(key)}` }
      return (await send(t, service, { method: 'GET', path, headers })).status
    }
    t.equal(await status(first), 200)
    publish(second)
    letPass(t, 61_000)
    t.equal(await status(second), 200, 'the new key')
    t.equal(await status(first), 401, 'the old key')
  },
)

t.test(
  'while the provider is away known keys serve, anything else is 503, and it recovers',
  async (t) => {
    const [known, next] = await Promise.all([aKey('ES256', 'known'), aKey('ES256', 'next')])
    publish(known)
    const service = await startTestService(t, settings)
    const ask = async (key: Key) => {
      const headers = { authorization: `jwt ${await signWith(key)}` }
      return send(t, service, { method: 'GET', path, headers })
    }
    t.equal((await ask(known)).status, 200)
    letPass(t, 61_000)
    const outages: Record<string, (response: ServerResponse) => void> = {
      'an error': (response) => response.writeHead(500).end('secret of the provider'),
      'not found': (response) => response.writeHead(404).end(),
      'a redirect': (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      'no JSON': (response) => response.end('<html>'),
      'no keys': (response) => response.end('{}'),
      'keys that are none': (response) => response.end('{"keys": "x"}'),
      'a closed connection': (response) => response.destroy(),
      'half an answer': (response) => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"keys": [')
        setImmediate(() => response.destroy())
      },
      'no answer': () => undefined,
    }
    for (const [name, outage] of Object.entries(outages)) {
      answer = outage
      letPass(t, 2_000)
      const refused = await ask(next)
      expectProblem(t, refused, 503, 'unavailable', name)
      t.match(refused.headers['retry-after'], /^\d+$/, name)
      t.notMatch(JSON.stringify(refused.body), /127\.0\.0\.1|secret|fetch/, name)
      t.equal((await ask(known)).status, 200, `${name}: a known key`)
    }
    publish(next)
    letPass(t, 2_000)
    t.equal((await ask(next)).status, 200, 'it recovers')
  },
)

t.test('a service that starts while the provider is away answers 503 and recovers', async (t) => {
  answer = (response) => response.destroy()
  const service = await startTestService(t, settings)
  const ask = async () => {
    const headers = { authorization: `jwt ${await signWith(keys[0] as Key)}` }
    return send(t, service, { method: 'GET', path, headers })
  }
  expectProblem(t, await ask(), 503, 'unavailable', 'away')
  const health = await send(t, service, { method: 'GET', path: '/health/live' })
  t.equal(health.status, 200)
  publish(...keys)
  letPass(t, 2_000)
  t.equal((await ask()).status, 200)
})

t.test('API keys are taken beside the tokens of the provider, also while it is away', async (t) => {
  publish(...keys)
  const service = await startTestService(t, settings)
  const account = await service.newAccount(t)
  const claimsOf = { account: account.id, sub: 'key:1', scope: 'admin write' }
  const user = withKey(account, await signWith(keys[0] as Key, claimsOf))
  const { id, key } = await anApiKey(user, { name: 'Shop', scopes: ['write'] })
  answer = (response) => response.destroy()
  const program = withKey(account, key)
  const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
  t.equal((await program.post('/api/v1/price_list/bulk_create/', [list])).status, 201)
  expectProblem(t, await program.get(keysPath), 403, 'forbidden', 'it has the scopes of the key')
  t.equal((await account.get(path)).status, 401, 'our own logins are not taken')
  publish(...keys)
  const create = (by: typeof user, name: string) =>
    by.send('POST', '/api/v1/price_list/bulk_create/', [{ ...list, name }], {
      'idempotency-key': 'k',
    })
  t.equal((await create(program, 'of the key')).status, 201)
  const namesake = { ...claimsOf, sub: `key:${id}` }
  const other = withKey(account, await signWith(keys[0] as Key, namesake))
  t.match(await create(other, 'of the key'), { status: 409 }, 'no answer of the key is repeated')
  t.equal((await user.send('DELETE', `${keysPath}${id}`)).status, 204)
  letPass(t, 9_000)
  t.equal((await program.get(path)).status, 401, 'revoked')
})

t.test('a clock that is set back holds up no fetch of keys', async (t) => {
  answer = (response) => response.destroy()
  const service = await startTestService(t, settings)
  const headers = { authorization: `jwt ${await signWith(keys[0] as Key)}` }
  const ask = async () => (await send(t, service, { method: 'GET', path, headers })).status
  t.equal(await ask(), 503)
  setClock(t, -3_600_000)
  publish(...keys)
  // Timers may fire a moment early.
  await sleep(1100)
  t.equal(await ask(), 200)
})

t.test('keys that are held serve on through an outage of hours', async (t) => {
  const [known, next] = await Promise.all([aKey('ES256', 'held'), aKey('ES256', 'new')])
  publish(known)
  const service = await startTestService(t, settings)
  const ask = async (key: Key) => {
    const headers = { authorization: `jwt ${await signWith(key)}` }
    return (await send(t, service, { method: 'GET', path, headers })).status
  }
  t.equal(await ask(known), 200)
  answer = (response) => response.writeHead(500).end()
  for (const seconds of [601, 3600, 36_000]) {
    letPass(t, seconds * 1000)
    t.equal(await ask(known), 200, `after ${seconds} more seconds`)
    t.equal(await ask(next), 503)
  }
  publish(next)
  letPass(t, 31_000)
  t.equal(await ask(known), 401, 'a key that the provider has dropped goes as soon as it answers')
  t.equal(await ask(next), 200)
  publish(known)
  letPass(t, 601_000)
  t.equal(await ask(next), 401, 'and when the keys are 10 minutes old')
})

t.test(
  'a new key is accepted 5 seconds after the last fetch; without an answer, 503',
  async (t) => {
    const [known, next] = await Promise.all([aKey('ES256', 'first'), aKey('ES256', 'second')])
    publish(known)
    const service = await startTestService(t, settings)
    const ask = async (key: Key) => {
      const headers = { authorization: `jwt ${await signWith(key)}` }
      return (await send(t, service, { method: 'GET', path, headers })).status
    }
    t.equal(await ask(known), 200)
    answer = (response) => response.writeHead(500).end()
    letPass(t, 5_001)
    t.equal(await ask(next), 503)
    t.equal(await ask(known), 200)
    publish(known, next)
    letPass(t, 1_001)
    t.equal(await ask(next), 200)
  },
)

t.test('a key that the provider has dropped ends the tokens that were let in by it', async (t) => {
  const [first, second] = await Promise.all([aKey('ES256', 'before'), aKey('ES256', 'after')])
  publish(first)
  const service = await startTestService(t, settings)
  const token = await signWith(first, { exp: Math.floor(Date.now() / 1000) + 7200 })
  const headers = { authorization: `jwt ${token}` }
  const ask = async () => (await send(t, service, { method: 'GET', path, headers })).status
  t.equal(await ask(), 200)
  letPass(t, 590_000)
  t.equal(await ask(), 200)
  publish(second)
  letPass(t, 31_000)
  t.equal(await ask(), 401, 'although it was let in half a minute ago')
})

t.test('many requests ask the provider once', async (t) => {
  const [known, next] = await Promise.all([aKey('ES256', 'first'), aKey('ES256', 'unknown')])
  publish(known)
  const service = await startTestService(t, settings)
  /** Status and number of 30 answers to tokens that have not been seen, and how often the provider was asked. */
  const crowd = async (key: Key) => {
    const before = fetches
    const tokens = await Promise.all(
      Array.from({ length: 30 }, (_, index) => signWith(key, { jti: `${Date.now()} ${index}` })),
    )
    const answers = tokens.map((token) => {
      const headers = { authorization: `jwt ${token}` }
      return send(t, service, { method: 'GET', path, headers })
    })
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    return [[...new Set(statuses)], fetches - before]
  }
  t.strictSame(await crowd(known), [[200], 1], 'at the start')
  t.strictSame(await crowd(next), [[401], 0], 'with an unknown key, the keys just fetched')
  letPass(t, 31_000)
  t.strictSame(await crowd(next), [[401], 1], 'with an unknown key, the keys older')
  letPass(t, 601_000)
  t.strictSame(await crowd(known), [[200], 1], 'when the keys are 10 minutes old')
  answer = (response) => response.destroy()
  letPass(t, 31_000)
  // Whether the second crowd comes at once is not for a busy machine to say.
  const moment = performance.now()
  performance.now = () => moment
  t.strictSame(await crowd(next), [[503], 1], 'while the provider is away')
  t.strictSame(await crowd(next), [[503], 0], 'and again at once')
})
