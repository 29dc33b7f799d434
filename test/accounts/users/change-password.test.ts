import t from 'tap'
import { anApiKey, withKey } from '../../helpers/api-keys.ts'
import { letPass } from '../../helpers/clocks.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { select } from '../../helpers/sql.ts'
import { aToken } from '../../helpers/tokens.ts'
import {
  anAddedUser,
  anAdmin,
  changePath,
  loggedIn,
  logIn,
  usersPath,
} from '../../helpers/users.ts'

const service = await sharedService()
const new_password = 'a new wörd, long enough'

t.test('a user of any scope changes the own password', async (t) => {
  const admin = await anAdmin(t, service)
  for (const scopes of [['read'], ['admin'], ['write', 'override']]) {
    const user = await anAddedUser(admin, scopes)
    const own = await loggedIn(t, service, user)
    const answer = await own.post(changePath, { current_password: user.password, new_password })
    t.strictSame([answer.status, answer.body], [204, ''], String(scopes))
    t.equal((await logIn(t, service, user)).status, 401)
    t.equal((await logIn(t, service, { ...user, password: new_password })).status, 200)
  }
})

t.test('tokens of the old password end within 10 seconds', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const [own, elsewhere] = [await loggedIn(t, service, user), await loggedIn(t, service, user)]
  t.equal((await elsewhere.get('/api/v1/jobs/')).status, 200)
  await own.post(changePath, { current_password: user.password, new_password })
  letPass(t, 9_000)
  for (const token of [own, elsewhere])
    expectProblem(t, await token.get('/api/v1/jobs/'), 401, 'unauthorized', 'ended')
})

t.test('another current password is refused, ten times a minute', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const own = await loggedIn(t, service, user)
  const change = (current_password: string) =>
    own.post(changePath, { current_password, new_password })
  for (const wrong of ['wrong', `${user.password} `, user.password.toLowerCase(), 'p'])
    expectProblem(t, await change(wrong), 403, 'wrong-password', wrong)
  t.equal((await logIn(t, service, user)).status, 200, 'nothing was changed')
  for (let failure = 5; failure <= 10; failure++) await change('wrong')
  const answer = await change(user.password)
  expectProblem(t, answer, 429, 'too-many-requests', 'the right one, too')
  t.ok(Number(answer.headers['retry-after']) >= 1)
})

t.test('failed logins of any name do not keep a user from changing the password', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const own = await loggedIn(t, service, user)
  const stranger = { email: `${admin.id}/${user.id}`, password: 'x' }
  for (let failure = 1; failure <= 10; failure++) await logIn(t, service, stranger)
  t.equal((await logIn(t, service, stranger)).status, 429)
  const change = { current_password: user.password, new_password }
  t.equal((await own.post(changePath, change)).status, 204)
})

t.test('what cannot be a password is named', async (t) => {
  const admin = await anAdmin(t, service)
  const good = { current_password: admin.password, new_password }
  const cases: [object, string, string][] = [
    [{ new_password }, '/current_password', 'required'],
    [{ current_password: admin.password }, '/new_password', 'required'],
    [{ ...good, new_password: 'eleven char' }, '/new_password', 'length'],
    [{ ...good, new_password: 'x'.repeat(256) }, '/new_password', 'length'],
    [{ ...good, new_password: null }, '/new_password', 'type'],
    [{ ...good, current_password: '' }, '/current_password', 'length'],
    [{ ...good, id: 1 }, '/id', 'unknown_key'],
  ]
  for (const [body, pointer, code] of cases) {
    const answer = await admin.post(changePath, body)
    expectProblem(t, answer, 400, 'invalid-request', JSON.stringify(body).slice(0, 80))
    t.match(answer.body.errors, [{ pointer, code }])
  }
  const twelve = { current_password: admin.password, new_password: 'twelve chars' }
  t.equal((await admin.post(changePath, twelve)).status, 204)
})

t.test('who does not log in has no password to change', async (t) => {
  const admin = await anAdmin(t, service)
  const body = { current_password: admin.password, new_password }
  const { key } = await anApiKey(admin, { scopes: ['write', 'admin'] })
  expectProblem(t, await withKey(admin, key).post(changePath, body), 403, 'forbidden', 'a key')
  const foreign = await aToken({ account: admin.id, sub: 'ana|42' })
  const answer = await withKey(admin, foreign).post(changePath, body)
  expectProblem(t, answer, 403, 'forbidden', 'a subject that is no user')
})

t.test('a user who was deleted a moment ago changes nothing', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const own = await loggedIn(t, service, user)
  await own.get('/api/v1/jobs/')
  await admin.send('DELETE', `${usersPath}${user.id}`)
  const answer = await own.post(changePath, { current_password: user.password, new_password })
  expectProblem(t, answer, 401, 'unauthorized', 'the token is still known')
})

t.test('of two changes at the same time one takes effect', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const own = await loggedIn(t, service, user)
  const passwords = ['the first of two', 'the other of two']
  const answers = await Promise.all(
    passwords.map((password) =>
      own.post(changePath, { current_password: user.password, new_password: password }),
    ),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 403])
  const winner = passwords[answers.findIndex(({ status }) => status === 204)] ?? ''
  t.equal((await logIn(t, service, { ...user, password: winner })).status, 200)
})

t.test(
  'a change that is sent again is done once, and its passwords are kept nowhere',
  async (t) => {
    const admin = await anAdmin(t, service)
    const user = await anAddedUser(admin)
    const own = await loggedIn(t, service, user)
    const body = { current_password: user.password, new_password }
    const change = () => own.send('POST', changePath, body, { 'idempotency-key': 'change' })
    t.equal((await change()).status, 204)
    const again = await change()
    t.strictSame([again.status, again.body], [204, ''])
    t.equal(again.headers['idempotent-replayed'], 'true')
    const [kept] = await select(
      service.url,
      `select body, body_hash = sha256('${JSON.stringify(body)}'::bytea) as is_plain
     from idempotency_keys where account_id = ${admin.id} and key = 'change'`,
    )
    t.strictSame(kept, { body: '', is_plain: false })
  },
)
