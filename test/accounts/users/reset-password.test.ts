import t from 'tap'
import { withKey } from '../../helpers/api-keys.ts'
import { letPass } from '../../helpers/clocks.ts'
import { cloneDatabase } from '../../helpers/database.ts'
import { expectProblem, send } from '../../helpers/operations.ts'
import { startServiceOn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aToken } from '../../helpers/tokens.ts'
import { anAddedUser, anAdmin, loggedIn, logIn, usersPath } from '../../helpers/users.ts'

const service = await sharedService()
const pathOf = (id: number) => `${usersPath}${id}/reset_password/`
const lists = '/api/v1/price_list/'

t.test('the new password logs in, the old one does not', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const { status, body } = await admin.send('POST', pathOf(user.id))
  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['id', 'email', 'scopes', 'password'])
  t.match(body, { id: user.id, email: user.email, scopes: ['read'] })
  t.not(body.password, user.password)
  t.equal((await logIn(t, service, user)).status, 401)
  t.equal((await logIn(t, service, body)).status, 200)
})

t.test('every process refuses the tokens from before within 10 seconds', async (t) => {
  const database = await cloneDatabase()
  const first = await startServiceOn(t, database)
  const second = await startServiceOn(t, { ...database, drop: async () => undefined })
  const admin = await anAdmin(t, first)
  const user = await anAddedUser(admin)
  const { token } = await loggedIn(t, first, user)
  const status = async (of: typeof first, presented: string) => {
    const headers = { authorization: `jwt ${presented}` }
    return (await send(t, of, { method: 'GET', path: lists, headers })).status
  }
  t.strictSame([await status(first, token), await status(second, token)], [200, 200])
  const { body: reset } = await admin.send('POST', pathOf(user.id))
  const fresh = (await loggedIn(t, second, reset)).token
  letPass(t, 9_000)
  t.strictSame([await status(first, token), await status(second, token)], [401, 401])
  t.strictSame([await status(first, fresh), await status(second, fresh)], [200, 200], 'the next')
})

t.test('a token that was never sent before the reset is refused at once', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const before = await loggedIn(t, service, user)
  await admin.send('POST', pathOf(user.id))
  expectProblem(t, await before.get(lists), 401, 'unauthorized', 'at once')
})

t.test('an answer that is kept for a key is kept without the password', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const reset = () => admin.send('POST', pathOf(user.id), undefined, { 'idempotency-key': 'reset' })
  const { password, ...kept } = (await reset()).body
  const second = await reset()
  t.strictSame([second.status, second.body], [200, kept])
  t.equal((await logIn(t, service, { ...user, password })).status, 200, 'it was reset once')
})

t.test('nobody resets the password of a user who may do more', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin, ['plan', 'override'])
  const as = async (scope: string) =>
    withKey(admin, await aToken({ account: admin.id, scope })).send('POST', pathOf(user.id))
  for (const scope of ['admin', 'admin read', 'admin write'])
    expectProblem(t, await as(scope), 403, 'forbidden', scope)
  t.equal((await logIn(t, service, user)).status, 200, 'nothing was changed')
  t.equal((await as('admin write override')).status, 200)
})

t.test('what is no user of the account is not found', async (t) => {
  const [admin, other] = [await anAdmin(t, service), await anAdmin(t, service)]
  const user = await anAddedUser(other)
  for (const absent of [user.id, 999_999_999])
    expectProblem(t, await admin.send('POST', pathOf(absent)), 404, 'not-found', String(absent))
  t.equal((await logIn(t, service, user)).status, 200)
  const answer = await admin.send('POST', `${usersPath}x/reset_password/`)
  expectProblem(t, answer, 400, 'invalid-request', 'no id')
})
