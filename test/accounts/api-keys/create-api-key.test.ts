import t from 'tap'
import { anApiKey, keysPath, listedKeys, withKey } from '../../helpers/api-keys.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { select } from '../../helpers/sql.ts'
import { aToken } from '../../helpers/tokens.ts'

const service = await sharedService()
const day = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * day).toISOString()

t.test('a key is answered once, ends in a year, and opens what its scopes name', async (t) => {
  const account = await service.newAccount(t)
  const { status, body } = await account.post(keysPath, { name: 'Shop', scopes: ['read'] })
  t.equal(status, 201)
  t.strictSame(Object.keys(body).sort(), [
    'created_at',
    'expires_at',
    'id',
    'key',
    'name',
    'scopes',
  ])
  t.match(body, { name: 'Shop', scopes: ['read'], key: /^pwk_[\w-]+\.[\w-]+\.[\w-]+$/ })
  t.ok(Math.abs(Date.parse(body.created_at) - Date.now()) < 60_000)
  const year = (Date.parse(body.expires_at) - Date.parse(body.created_at)) / day
  t.ok(year > 364.9 && year < 366.1, `${year} days`)
  const program = withKey(account, body.key)
  t.equal((await program.get('/api/v1/price_list/')).status, 200)
  const claims = JSON.parse(Buffer.from(body.key.split('.')[1], 'base64url').toString())
  t.match(claims, { sub: `key:${body.id}`, account: account.id, scope: 'read' })
})

t.test('the key itself is kept nowhere', async (t) => {
  const account = await service.newAccount(t)
  const fields = { name: 'Shop', scopes: ['read'] }
  const { body } = await account.send('POST', keysPath, fields, { 'idempotency-key': 'k' })
  const signature = body.key.split('.')[2]
  for (const table of ['api_keys', 'idempotency_keys']) {
    const rows = await select(service.url, `select * from ${table}`)
    t.ok(rows.length > 0, table)
    t.notMatch(JSON.stringify(rows), signature, table)
  }
})

t.test('a replayed answer has no key, and no second one is made', async (t) => {
  const account = await service.newAccount(t)
  const send = (fields: object) =>
    account.send('POST', keysPath, fields, { 'idempotency-key': 'once' })
  const fields = { name: 'Shop', scopes: ['read', 'admin'] }
  const first = await send(fields)
  const { key, ...kept } = first.body
  t.match(key, /^pwk_/)
  t.equal(first.headers['idempotent-replayed'], undefined)
  const again = await send(fields)
  t.strictSame([again.status, again.headers['idempotent-replayed']], [201, 'true'])
  t.strictSame(again.body, kept)
  expectProblem(t, await send({ ...fields, name: 'Other' }), 422, 'idempotency-key-reused', 'body')
  t.equal((await listedKeys(account)).length, 1)
  t.equal((await withKey(account, key).get(keysPath)).status, 200, 'the first answer works')
})

t.test('what is no key is named', async (t) => {
  const account = await service.newAccount(t)
  const good = { name: 'N', scopes: ['read'] }
  const cases: [object, string, string][] = [
    [{ scopes: ['read'] }, '/name', 'required'],
    [{ name: 'N' }, '/scopes', 'required'],
    [{ ...good, name: '' }, '/name', 'length'],
    [{ ...good, name: 'x'.repeat(256) }, '/name', 'length'],
    [{ ...good, name: 1 }, '/name', 'type'],
    [{ ...good, scopes: [] }, '/scopes', 'length'],
    [{ ...good, scopes: 'read' }, '/scopes', 'type'],
    [{ ...good, scopes: ['all'] }, '/scopes/0', 'not_allowed'],
    [{ ...good, scopes: ['READ'] }, '/scopes/0', 'not_allowed'],
    [{ ...good, scopes: ['read', 'read'] }, '/scopes', 'not_allowed'],
    [{ ...good, scopes: ['override'] }, '/scopes', 'not_allowed'],
    [{ ...good, expires_at: null }, '/expires_at', 'type'],
    [{ ...good, expires_at: 'never' }, '/expires_at', 'format'],
    [{ ...good, expires_at: '2020-01-01' }, '/expires_at', 'range'],
    [{ ...good, expires_at: inDays(-0.001) }, '/expires_at', 'range'],
    [{ ...good, expires_at: inDays(5 * 366) }, '/expires_at', 'range'],
    [{ ...good, key: 'pwk_mine' }, '/key', 'unknown_key'],
  ]
  for (const [fields, pointer, code] of cases) {
    const answer = await account.post(keysPath, fields)
    const label = JSON.stringify(fields).slice(0, 80)
    expectProblem(t, answer, 400, 'invalid-request', label)
    t.match(answer.body.errors, [{ pointer, code }], label)
  }
  t.equal((await listedKeys(account)).length, 0)
})

t.test('the end may be any moment within five years', async (t) => {
  const account = await service.newAccount(t)
  const [earliest, latest] = [inDays(0.01), inDays(5 * 365)]
  const year = new Date().getUTCFullYear() + 1
  const ends: [string, string][] = [
    [earliest, earliest],
    [latest, latest],
    [`${year}-06-01`, `${year}-06-01T00:00:00.000Z`],
    [`${year}-06-01T12:00:00.999Z`, `${year}-06-01T12:00:00.000Z`],
    [`${year}-06-01T12:00:00+02:00`, `${year}-06-01T10:00:00.000Z`],
  ]
  for (const [expires_at, expected] of ends) {
    const key = await anApiKey(account, { expires_at })
    t.equal(key.expires_at, expected.replace(/\.\d+Z$/, '.000Z'), expires_at)
  }
})

t.test('a name is taken by a live key only', async (t) => {
  const account = await service.newAccount(t)
  const fields = { name: 'Shop', scopes: ['read'] }
  const { id } = await anApiKey(account, fields)
  const taken = await account.post(keysPath, fields)
  expectProblem(t, taken, 409, 'api-key-name-taken', 'the same name')
  t.equal((await account.post(keysPath, { ...fields, name: 'shop' })).status, 201, 'another case')
  await account.send('DELETE', `${keysPath}${id}`)
  const second = await account.post(keysPath, fields)
  t.equal(second.status, 201, 'that of a revoked key is free')
  await select(service.url, `update api_keys set expires_at = now() where id = ${second.body.id}`)
  t.equal((await account.post(keysPath, fields)).status, 201, 'and that of an expired one')
  const other = await service.newAccount(t)
  t.equal((await other.post(keysPath, fields)).status, 201, 'in another account it is free')
})

t.test('of many that take one name at the same time one has it', async (t) => {
  const account = await service.newAccount(t)
  const fields = { name: 'Shop', scopes: ['read'] }
  const answers = await Promise.all(Array.from({ length: 8 }, () => account.post(keysPath, fields)))
  const statuses = answers.map(({ status }) => status).sort()
  t.strictSame(statuses, [201, 409, 409, 409, 409, 409, 409, 409])
})

t.test('an account has at most 100 live keys', async (t) => {
  const account = await service.newAccount(t)
  const made = []
  for (let left = 100; left > 0; left--) made.push(await anApiKey(account))
  const fields = { name: 'One more', scopes: ['read'] }
  expectProblem(t, await account.post(keysPath, fields), 409, 'too-many-api-keys', 'the next')
  await account.send('DELETE', `${keysPath}${made[0]?.id}`)
  t.equal((await account.post(keysPath, fields)).status, 201)
})

t.test('nobody gives scopes that the own token lacks', async (t) => {
  const account = await service.newAccount(t)
  const make = async (own: string, scopes: string[]) => {
    const token = await aToken({ account: account.id, scope: own })
    const fields = { name: `${own} ${scopes}`, scopes }
    return withKey(account, token).post(keysPath, fields)
  }
  const refused: [string, string[]][] = [
    ['admin', ['read']],
    ['admin read', ['plan']],
    ['admin read', ['read', 'write']],
    ['admin plan', ['write']],
    ['admin write', ['write', 'override']],
  ]
  for (const [own, scopes] of refused)
    expectProblem(t, await make(own, scopes), 403, 'forbidden', `${own}: ${scopes}`)
  const allowed: [string, string[]][] = [
    ['admin', ['admin']],
    ['admin plan', ['read', 'plan']],
    ['admin write', ['read', 'plan', 'write']],
    ['admin write override', ['override', 'write']],
  ]
  for (const [own, scopes] of allowed)
    t.equal((await make(own, scopes)).status, 201, `${own}: ${scopes}`)
  const all = ['read', 'plan', 'write', 'override', 'admin']
  t.equal((await account.post(keysPath, { name: 'All', scopes: all })).status, 201, 'a login')
})

t.test('a key that a key makes ends no later than that one', async (t) => {
  const account = await service.newAccount(t)
  const expires_at = inDays(2).replace(/\.\d+Z$/, '.000Z')
  const maker = await anApiKey(account, { scopes: ['read', 'admin'], expires_at })
  const program = withKey(account, maker.key)
  t.equal((await anApiKey(program)).expires_at, expires_at, 'as by default')
  t.equal((await anApiKey(program, { expires_at })).expires_at, expires_at, 'not after')
  t.ok((await anApiKey(program, { expires_at: inDays(1) })).expires_at < expires_at, 'before')
  const later = await program.post(keysPath, { name: 'L', scopes: ['read'], expires_at: inDays(3) })
  expectProblem(t, later, 400, 'invalid-request', 'after')
  t.match(later.body.errors, [{ pointer: '/expires_at', code: 'range' }])
})

t.test('a key that was revoked a moment ago makes none', async (t) => {
  const account = await service.newAccount(t)
  const maker = await anApiKey(account, { scopes: ['read', 'admin'] })
  const program = withKey(account, maker.key)
  t.equal((await program.get(keysPath)).status, 200)
  await account.send('DELETE', `${keysPath}${maker.id}`)
  const answer = await program.post(keysPath, { name: 'L', scopes: ['read'] })
  expectProblem(t, answer, 401, 'unauthorized', 'the key is still known')
})

t.test('for an account that does not exist no key is made', async (t) => {
  const account = await service.newAccount(t)
  const token = await aToken({ account: 987_654_321, scope: 'admin read' })
  const answer = await withKey(account, token).post(keysPath, { name: 'N', scopes: ['read'] })
  expectProblem(t, answer, 401, 'unauthorized', 'no account')
})
