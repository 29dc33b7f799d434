import { request } from 'node:http'
import t from 'tap'
import { anAgreement } from '../helpers/agreement.ts'
import { letPass } from '../helpers/clocks.ts'
import { forgeries, part, withClaims } from '../helpers/forgeries.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { aSale } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aToken } from '../helpers/tokens.ts'

const service = await sharedService()
const path = '/api/v1/price_list/'
const now = Math.floor(Date.now() / 1000)
const valid = await aToken()

t.test('a forged or malformed token is answered 401 and tells nothing', async (t) => {
  const cases = Object.entries(await forgeries())
  t.ok(cases.length >= 80, `${cases.length} tokens`)
  for (const [name, token] of cases) {
    const headers = { authorization: `jwt ${token}` }
    const answer = await send(t, service, { method: 'GET', path, headers })
    expectProblem(t, answer, 401, 'unauthorized', name)
    t.equal(answer.headers['www-authenticate'], 'jwt', name)
    t.notMatch(JSON.stringify(answer.body), /claim|signature|jose|JWS|alg/i, `${name}: no reason`)
  }
})

t.test('the header must be the word jwt, one space, and the token', async (t) => {
  const refused = {
    Bearer: `Bearer ${valid}`,
    'bearer in lower case': `bearer ${valid}`,
    JWS: `JWS ${valid}`,
    Token: `Token ${valid}`,
    Basic: `Basic ${part('admin:admin')}`,
    'the token alone': valid,
    'the word alone': 'jwt',
    'the word and a space': 'jwt ',
    'no space': `jwt${valid}`,
    'two spaces': `jwt  ${valid}`,
    'a tab': `jwt\t${valid}`,
    'a colon': `jwt: ${valid}`,
    'two tokens': `jwt ${valid} ${valid}`,
    'two tokens with a comma': `jwt ${valid}, jwt ${valid}`,
    'a parameter': `jwt token=${valid}`,
    quotes: `jwt "${valid}"`,
    'another word after it': `jwt ${valid} x`,
  }
  for (const [name, authorization] of Object.entries(refused)) {
    const answer = await send(t, service, { method: 'GET', path, headers: { authorization } })
    expectProblem(t, answer, 401, 'unauthorized', name)
  }
  for (const word of ['jwt', 'JWT', 'Jwt', 'jWt']) {
    const headers = { authorization: `${word} ${valid}` }
    t.equal((await send(t, service, { method: 'GET', path, headers })).status, 200, word)
  }
})

t.test('a token in any other place is not looked at', async (t) => {
  const places = [
    { path: `${path}?token=${valid}&access_token=${valid}`, headers: {} },
    { path, headers: { cookie: `jwt=${valid}; token=${valid}` } },
    { path, headers: { 'x-authorization': `jwt ${valid}`, 'proxy-authorization': `jwt ${valid}` } },
  ]
  for (const request of places)
    t.equal((await send(t, service, { method: 'GET', ...request })).status, 401)
})

t.test('the Authorization header twice is refused', async (t) => {
  const { port } = service.app.server.address() as { port: number }
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    const headers = ['host', 'a', 'authorization', `jwt ${valid}`, 'authorization', `jwt ${valid}`]
    request({ port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  t.equal(answer, 401)
})

t.test('clocks may differ by 30 seconds', async (t) => {
  const accepted = [{ exp: now - 10 }, { nbf: now + 20 }, { exp: now + 10 }, { nbf: now - 1 }]
  for (const overrides of accepted) {
    const headers = { authorization: `jwt ${withClaims(overrides)}` }
    const { status } = await send(t, service, { method: 'GET', path, headers })
    t.equal(status, 200, JSON.stringify(overrides))
  }
  const early = { nbf: Math.floor(Date.now() / 1000) + 40 }
  const headers = { authorization: `jwt ${withClaims(early)}` }
  t.equal((await send(t, service, { method: 'GET', path, headers })).status, 401, 'and no more')
})

t.test('a token that was let in is refused once it has expired beyond the skew', async (t) => {
  const headers = { authorization: `jwt ${await aToken({ exp: now + 20 })}` }
  const status = async () => (await send(t, service, { method: 'GET', path, headers })).status
  t.equal(await status(), 200)
  letPass(t, 40_000)
  t.equal(await status(), 200, 'within the skew')
  letPass(t, 15_000)
  t.equal(await status(), 401, 'beyond it, a moment after it was let in')
})

t.test('an audience among others and claims that nobody knows are taken', async (t) => {
  for (const overrides of [
    { aud: ['other', 'pricewell'] },
    { email: 'a@b', roles: [1] },
    { jti: 'x' },
  ]) {
    const headers = { authorization: `jwt ${withClaims(overrides)}` }
    t.equal((await send(t, service, { method: 'GET', path, headers })).status, 200)
  }
})

t.test('a token for an account that does not exist sees nothing and writes nothing', async (t) => {
  const headers = {
    authorization: `jwt ${withClaims({ account: 987654321 })}`,
    'content-type': 'application/json',
  }
  const seen = await send(t, service, { method: 'GET', path, headers })
  t.strictSame([seen.status, seen.body.count], [200, 0])
  const writes = {
    '/api/v1/price_list/bulk_create/': {
      name: 'L',
      valid_from: '2026-01-01',
      valid_to: '2026-12-31',
    },
    '/api/v1/sales_history/bulk_create_or_update/': aSale(),
    '/api/v1/agreement/bulk_create_or_update/': anAgreement(),
    '/api/v1/product_catalog/bulk_create_or_update/': { code: 'A' },
  }
  for (const [path, row] of Object.entries(writes)) {
    const payload = JSON.stringify([row])
    const written = await send(t, service, { method: 'POST', path, headers, payload })
    expectProblem(t, written, 401, 'unauthorized', path)
  }
})
