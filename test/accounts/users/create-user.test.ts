import t from 'tap'
import { anApiKey, keysPath, withKey } from '../../helpers/api-keys.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { select } from '../../helpers/sql.ts'
import { aToken } from '../../helpers/tokens.ts'
import {
  anAddedUser,
  anAdmin,
  anEmail,
  claimsOf,
  loggedIn,
  logIn,
  usersPath,
} from '../../helpers/users.ts'

const service = await sharedService()

t.test(
  'a user is answered with a password that logs in, in the account of the admin',
  async (t) => {
    const admin = await anAdmin(t, service)
    const email = anEmail()
    const { status, body } = await admin.post(usersPath, { email, scopes: ['read'] })
    t.equal(status, 201)
    t.strictSame(Object.keys(body), ['id', 'email', 'scopes', 'password'])
    t.match(body, { email, scopes: ['read'] })
    t.ok(body.password.length >= 20, 'nobody guesses it')
    const { token } = (await logIn(t, service, body)).body
    t.match(claimsOf(token), { account: admin.id, sub: String(body.id), scope: 'read' })
  },
)

t.test('a login may do what its user may, and no more', async (t) => {
  const admin = await anAdmin(t, service)
  const reader = await loggedIn(t, service, await anAddedUser(admin, ['read']))
  t.equal((await reader.get('/api/v1/price_list/')).status, 200)
  const write = await reader.post('/api/v1/sales_history/bulk_create_or_update', [])
  expectProblem(t, write, 403, 'forbidden', 'a write')
  expectProblem(t, await reader.get(usersPath), 403, 'forbidden', 'the users')
  const planner = await loggedIn(t, service, await anAddedUser(admin, ['plan']))
  t.equal((await planner.get('/api/v1/price_list/')).status, 200, 'plan includes read')
  const keeper = await loggedIn(t, service, await anAddedUser(admin, ['admin']))
  t.equal((await keeper.get(usersPath)).status, 200)
  expectProblem(t, await keeper.get('/api/v1/price_list/'), 403, 'forbidden', 'no read in admin')
})

t.test('what is no user is named', async (t) => {
  const admin = await anAdmin(t, service)
  const good = { email: anEmail(), scopes: ['read'] }
  const cases: [object, string, string][] = [
    [{ scopes: ['read'] }, '/email', 'required'],
    [{ email: good.email }, '/scopes', 'required'],
    [{ ...good, email: '' }, '/email', 'format'],
    [{ ...good, email: 'ben' }, '/email', 'format'],
    [{ ...good, email: 'ben@acme@example' }, '/email', 'format'],
    [{ ...good, email: 'ben @acme.example' }, '/email', 'format'],
    [{ ...good, email: `${'b'.repeat(255)}@x` }, '/email', 'length'],
    [{ ...good, email: null }, '/email', 'type'],
    [{ ...good, scopes: [] }, '/scopes', 'length'],
    [{ ...good, scopes: null }, '/scopes', 'type'],
    [{ ...good, scopes: ['all'] }, '/scopes/0', 'not_allowed'],
    [{ ...good, scopes: ['read', 'read'] }, '/scopes', 'not_allowed'],
    [{ ...good, scopes: ['override'] }, '/scopes', 'not_allowed'],
    [{ ...good, password: 'a password of mine' }, '/password', 'unknown_key'],
  ]
  for (const [body, pointer, code] of cases) {
    const answer = await admin.post(usersPath, body)
    const label = JSON.stringify(body).slice(0, 80)
    expectProblem(t, answer, 400, 'invalid-request', label)
    t.match(answer.body.errors, [{ pointer, code }], label)
  }
  t.match((await admin.get(usersPath)).body, { count: 1 })
})

t.test('an e-mail is taken once, in any case and in every account', async (t) => {
  const [admin, other] = [await anAdmin(t, service), await anAdmin(t, service)]
  const email = anEmail()
  const added = await admin.post(usersPath, { email: email.toUpperCase(), scopes: ['read'] })
  t.match(added, { status: 201, body: { email } })
  for (const taken of [email, email.toUpperCase()]) {
    for (const account of [admin, other]) {
      const answer = await account.post(usersPath, { email: taken, scopes: ['read'] })
      expectProblem(t, answer, 409, 'email-taken', taken)
    }
  }
  const upper = { ...added.body, email: email.toUpperCase() }
  t.equal((await logIn(t, service, upper)).status, 200, 'a login in capitals')
})

t.test('of two that take one e-mail at the same time one has it', async (t) => {
  const admin = await anAdmin(t, service)
  const body = { email: anEmail(), scopes: ['read'] }
  const answers = await Promise.all([admin.post(usersPath, body), admin.post(usersPath, body)])
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 409])
})

t.test('nobody gives scopes that the own token lacks', async (t) => {
  const admin = await anAdmin(t, service)
  const add = async (own: string, scopes: string[]) => {
    const token = await aToken({ account: admin.id, scope: own })
    return withKey(admin, token).post(usersPath, { email: anEmail(), scopes })
  }
  const refused: [string, string[]][] = [
    ['admin', ['read']],
    ['admin read', ['plan']],
    ['admin write', ['write', 'override']],
  ]
  for (const [own, scopes] of refused)
    expectProblem(t, await add(own, scopes), 403, 'forbidden', `${own}: ${scopes}`)
  t.equal((await add('admin', ['admin'])).status, 201)
  t.equal((await add('admin write', ['read', 'plan', 'write'])).status, 201)
  const all = ['read', 'plan', 'write', 'override', 'admin']
  t.equal((await admin.post(usersPath, { email: anEmail(), scopes: all })).status, 201)
})

t.test('an API key with the scope admin adds users, too', async (t) => {
  const admin = await anAdmin(t, service)
  const { key } = await anApiKey(admin, { scopes: ['read', 'admin'] })
  t.match(await anAddedUser(withKey(admin, key)), { scopes: ['read'] })
})

t.test('an answer that is kept for a key is kept without the password', async (t) => {
  const admin = await anAdmin(t, service)
  const body = { email: anEmail(), scopes: ['read'] }
  const add = (fields: object = body) =>
    admin.send('POST', usersPath, fields, { 'idempotency-key': 'k' })
  const first = await add()
  const { password, ...kept } = first.body
  const second = await add()
  t.strictSame([second.status, second.body], [201, kept])
  t.equal(second.headers['idempotent-replayed'], 'true')
  expectProblem(t, await add({ ...body, scopes: ['plan'] }), 422, 'idempotency-key-reused', 'body')
  const stored = await select(service.url, 'select * from idempotency_keys')
  t.notMatch(JSON.stringify(stored), password)
  t.equal((await logIn(t, service, first.body)).status, 200, 'the first answer works')
})

t.test('an account that does not exist gets no user', async (t) => {
  const admin = await anAdmin(t, service)
  const token = await aToken({ account: 987_654_321, scope: 'admin read' })
  const answer = await withKey(admin, token).post(usersPath, { email: anEmail(), scopes: ['read'] })
  expectProblem(t, answer, 401, 'unauthorized', 'no account')
})

t.test('a user is not more than others by making a key', async (t) => {
  const admin = await anAdmin(t, service)
  const keeper = await loggedIn(t, service, await anAddedUser(admin, ['admin', 'read']))
  const answer = await keeper.post(keysPath, { name: 'K', scopes: ['write'] })
  expectProblem(t, answer, 403, 'forbidden', 'a key beyond the user')
})
