import t, { type Test } from 'tap'
import { anApiKey, keysPath, withKey } from '../helpers/api-keys.ts'
import { letPass } from '../helpers/clocks.ts'
import { cloneDatabase, query, type TestDatabase } from '../helpers/database.ts'
import { part, signed } from '../helpers/forgeries.ts'
import { concretePath, expectProblem, protectedOperations, send } from '../helpers/operations.ts'
import { startServiceOn, startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { statementsOf } from '../helpers/statements.ts'
import { claims } from '../helpers/tokens.ts'

const service = await startTestService(t)
const path = '/api/v1/price_list/'
const keyClaims = { aud: 'pricewell api key', sub: 'key:1', scope: 'read' }
const ask = (t: Test, token: string) =>
  send(t, service, { method: 'GET', path, headers: { authorization: `jwt ${token}` } })

t.test('a forged key is refused like any other token, without the database', async (t) => {
  const { key } = await anApiKey(await service.newAccount(t))
  const [header, payload, signature] = key.slice(4).split('.')
  const hs256 = { alg: 'HS256', typ: 'JWT' }
  const now = Math.floor(Date.now() / 1000)
  const forged = {
    'another secret': `pwk_${signed(hs256, claims(keyClaims), 'x'.repeat(32))}`,
    'no algorithm': `pwk_${part({ alg: 'none' })}.${payload}.${signature}`,
    'no signature': `pwk_${header}.${payload}.AA`,
    'other claims': `pwk_${header}.${part(claims(keyClaims))}.${signature}`,
    'a token of a login as a key': `pwk_${signed(hs256, claims())}`,
    'a key as the token of a login': key.slice(4),
    'another prefix': `PWK_${key.slice(4)}`,
    'the prefix twice': `pwk_${key}`,
    expired: `pwk_${signed(hs256, claims({ ...keyClaims, exp: now - 1 }))}`,
    'another issuer': `pwk_${signed(hs256, claims({ ...keyClaims, iss: 'me' }))}`,
    'without an end': `pwk_${signed(hs256, claims({ ...keyClaims, exp: undefined }))}`,
    'a key of its own': `pwk_${signed({ ...hs256, jwk: { kty: 'oct' } }, claims(keyClaims))}`,
  }
  for (const [name, token] of Object.entries(forged)) {
    const statements = await statementsOf(async () => {
      const answer = await ask(t, token)
      expectProblem(t, answer, 401, 'unauthorized', name)
      t.equal(answer.headers['www-authenticate'], 'jwt', name)
    })
    t.strictSame(statements, [], name)
  }
})

t.test('a key that is signed, but not there, is refused', async (t) => {
  const { id: account } = await service.newAccount(t)
  const hs256 = { alg: 'HS256' }
  for (const sub of ['key:999999999', 'key:', 'key:x', 'key:9007199254740993', '1']) {
    const token = `pwk_${signed(hs256, claims({ ...keyClaims, account, sub }))}`
    expectProblem(t, await ask(t, token), 401, 'unauthorized', sub)
  }
})

t.test('the key of a database that was lost does not open the next one of its id', async (t) => {
  const account = await service.newAccount(t)
  const { id, key } = await anApiKey(account)
  t.equal((await ask(t, key)).status, 200)
  await select(
    service.url,
    `update api_keys set created_at = created_at + interval '1 hour' where id = ${id}`,
  )
  letPass(t, 9_000)
  expectProblem(t, await ask(t, key), 401, 'unauthorized', 'it was signed at another moment')
})

t.test('a key opens its account alone, in which it sees what a user sees', async (t) => {
  const [own, other] = [await service.newAccount(t), await service.newAccount(t)]
  await aList(own, { name: 'Own' })
  await aList(other, { name: 'Other' })
  const { key } = await anApiKey(own)
  const { results } = (await ask(t, key)).body
  t.strictSame(
    results.map(({ name }: { name: string }) => name),
    ['Own'],
  )
})

const includes: Record<string, string[]> = {
  read: ['read'],
  plan: ['plan', 'read'],
  write: ['write', 'plan', 'read'],
  admin: ['admin'],
}

t.test('a key may call the operations of its scopes and no others', async (t) => {
  const account = await service.newAccount(t)
  for (const [own, allowed] of Object.entries(includes)) {
    const program = withKey(account, (await anApiKey(account, { scopes: [own] })).key)
    for (const { id, method, path, scope = '' } of protectedOperations) {
      // Refused for what a key is, after the body.
      if (scope === 'any') continue
      const body = method === 'GET' || method === 'DELETE' ? undefined : '{'
      const { status, body: answer } = await program.send(method, concretePath(path), body)
      if (allowed.includes(scope)) t.not(status, 403, `${own}: ${id}`)
      else t.strictSame([status, answer.type], [403, 'forbidden'], `${own}: ${id}`)
    }
  }
  const both = withKey(account, (await anApiKey(account, { scopes: ['read', 'override'] })).key)
  t.equal((await both.get(path)).status, 200)
  t.equal((await both.get(keysPath)).status, 403)
})

t.test('a key ends at its end, also while it is known', async (t) => {
  const account = await service.newAccount(t)
  const { key } = await anApiKey(account, { expires_at: new Date(Date.now() + 5000).toISOString() })
  t.equal((await ask(t, key)).status, 200)
  letPass(t, 5_000)
  expectProblem(t, await ask(t, key), 401, 'unauthorized', 'expired')
})

t.test('the word jwt may be in any case, and Bearer is refused', async (t) => {
  const { key } = await anApiKey(await service.newAccount(t))
  const status = async (authorization: string) =>
    (await send(t, service, { method: 'GET', path, headers: { authorization } })).status
  t.equal(await status(`JWT ${key}`), 200)
  for (const wrong of [`Bearer ${key}`, key, `jwt  ${key}`, `jwt pwk_ ${key.slice(4)}`])
    t.equal(await status(wrong), 401, wrong.slice(0, 12))
})

t.test('a known key is looked up every 8 seconds, once for all who send it', async (t) => {
  const { key } = await anApiKey(await service.newAccount(t))
  const lookUps = async (requests: number) => {
    const statements = await statementsOf(async () => {
      const asked = Array.from({ length: requests }, () => ask(t, key))
      for (const { status } of await Promise.all(asked)) t.equal(status, 200)
    })
    return statements.filter(({ text }) => /select .* from "api_keys"/.test(text)).length
  }
  t.equal(await lookUps(20), 1, 'many at first')
  t.equal(await lookUps(20), 0, 'then none')
  letPass(t, 8_500)
  t.equal(await lookUps(20), 1, 'after 8 seconds')
})

t.test(
  'while the database is away a known key is taken for 8 seconds, and again afterwards',
  async (t) => {
    const database = await cloneDatabase()
    const service = await startServiceOn(t, database)
    const account = await service.newAccount(t)
    const { key } = await anApiKey(account)
    const ask = (method: string, to: string, payload = '') =>
      send(t, service, {
        method,
        path: to,
        headers: { authorization: `jwt ${key}`, 'content-type': 'application/json' },
        payload,
      })
    t.equal((await ask('GET', path)).status, 200)
    await takeConnections(database, false)
    const malformed = () => ask('POST', '/api/v1/prices/get_prices/', '{')
    expectProblem(t, await malformed(), 400, 'malformed-body', 'the key is known')
    t.equal((await withKey(account, `${key}x`).get(path)).status, 401, 'a forged one is refused')
    letPass(t, 8_500)
    const refused = await malformed()
    expectProblem(t, refused, 503, 'unavailable', 'the key must be looked up')
    t.match(refused.headers['retry-after'], /^\d+$/)
    t.equal((await ask('GET', '/health/live')).status, 200)
    await takeConnections(database, true)
    t.equal((await ask('GET', path)).status, 200)
  },
)

/** Lets the service connect to its database, or keeps it away. */
async function takeConnections({ name, serverUrl }: TestDatabase, isTaking: boolean) {
  await query(serverUrl, `alter database ${name} allow_connections ${isTaking}`)
  if (isTaking) return
  await query(
    serverUrl,
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
  )
}

t.test('what a key changes is noted in its name', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id: list } = await aList(shop, { name: 'L' })
  const { id, key } = await anApiKey(shop, { name: 'Web shop ☀', scopes: ['write'] })
  const program = withKey(shop, key)
  await addProducts(program, 'L', [{ code: 'A', country: 'UK' }])
  await setPrices(program, 'L', [{ code: 'A', country: 'UK', price: 2 }])
  const { body } = await program.get(`${path}${list}/revisions/`)
  t.equal(body.count, 2)
  for (const { actor } of body.results)
    t.strictSame(actor, { type: 'api_key', id: `key:${id}`, name: 'Web shop ☀' })
})
