import t from 'tap'
import { withKey } from '../../helpers/api-keys.ts'
import { letPass } from '../../helpers/clocks.ts'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aToken } from '../../helpers/tokens.ts'
import { anAddedUser, anAdmin, loggedIn, usersPath } from '../../helpers/users.ts'

const service = await sharedService()
const lists = '/api/v1/price_list/'
const sales = '/api/v1/sales_history/bulk_create_or_update'

t.test('scopes replace those of the user and count from the next login', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const before = await loggedIn(t, service, user)
  const answer = await admin.send('PATCH', `${usersPath}${user.id}`, { scopes: ['write'] })
  const { created_at, ...changed } = answer.body
  t.equal(answer.status, 200)
  t.strictSame(changed, { id: user.id, email: user.email, scopes: ['write'] })
  t.match(created_at, /^\d{4}-/)
  letPass(t, 9_000)
  expectProblem(t, await before.post(sales, []), 403, 'forbidden', 'a token gains nothing')
  t.equal((await (await loggedIn(t, service, user)).post(sales, [])).status, 201)
})

t.test('a scope that is taken away ends within 10 seconds', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin, ['write', 'admin'])
  const before = await loggedIn(t, service, user)
  t.equal((await before.post(sales, [])).status, 201)
  await admin.send('PATCH', `${usersPath}${user.id}/`, { scopes: ['plan'] })
  letPass(t, 9_000)
  expectProblem(t, await before.post(sales, []), 403, 'forbidden', 'write')
  expectProblem(t, await before.get(usersPath), 403, 'forbidden', 'admin')
  t.equal((await before.get(lists)).status, 200, 'plan includes read')
})

t.test('what cannot be the scopes is named', async (t) => {
  const admin = await anAdmin(t, service)
  const { id } = await anAddedUser(admin)
  const cases: [object, string, string][] = [
    [{}, '/scopes', 'required'],
    [{ scopes: null }, '/scopes', 'type'],
    [{ scopes: [] }, '/scopes', 'length'],
    [{ scopes: ['override'] }, '/scopes', 'not_allowed'],
    [{ scopes: ['all'] }, '/scopes/0', 'not_allowed'],
    [{ scopes: ['read'], email: 'other@example.com' }, '/email', 'unknown_key'],
  ]
  for (const [body, pointer, code] of cases) {
    const answer = await admin.send('PATCH', `${usersPath}${id}`, body)
    expectProblem(t, answer, 400, 'invalid-request', JSON.stringify(body))
    t.match(answer.body.errors, [{ pointer, code }])
  }
  const [, user] = (await admin.get(usersPath)).body.results
  t.strictSame(user.scopes, ['read'], 'nothing was changed')
})

t.test('nobody gives scopes that the own token lacks', async (t) => {
  const admin = await anAdmin(t, service)
  const { id } = await anAddedUser(admin)
  const token = await aToken({ account: admin.id, scope: 'admin read' })
  const patch = (scopes: string[]) =>
    withKey(admin, token).send('PATCH', `${usersPath}${id}`, { scopes })
  expectProblem(t, await patch(['read', 'plan']), 403, 'forbidden', 'plan')
  t.equal((await patch(['read', 'admin'])).status, 200)
})

t.test('the last admin keeps the scope', async (t) => {
  const admin = await anAdmin(t, service)
  const [{ id }] = (await admin.get(usersPath)).body.results
  const patch = (scopes: string[]) => admin.send('PATCH', `${usersPath}${id}`, { scopes })
  expectProblem(t, await patch(['write']), 409, 'last-admin', 'alone')
  await anAddedUser(admin, ['write'])
  expectProblem(t, await patch(['write']), 409, 'last-admin', 'beside another user')
  t.equal((await patch(['read', 'admin'])).status, 200, 'other scopes may go')
  const token = await aToken({ account: admin.id })
  await anAddedUser(withKey(admin, token), ['admin'])
  t.equal((await patch(['read'])).status, 200, 'beside another admin')
})

t.test('what is no user of the account is not found', async (t) => {
  const [admin, other] = [await anAdmin(t, service), await anAdmin(t, service)]
  const { id } = await anAddedUser(other)
  for (const absent of [id, 999_999_999]) {
    const answer = await admin.send('PATCH', `${usersPath}${absent}`, { scopes: ['read'] })
    expectProblem(t, answer, 404, 'not-found', String(absent))
  }
})
