import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { anApiKey, keysPath, withKey } from '../../helpers/api-keys.ts'
import { letPass } from '../../helpers/clocks.ts'
import { cloneDatabase } from '../../helpers/database.ts'
import { expectProblem, send } from '../../helpers/operations.ts'
import { inAMonth, makeDue } from '../../helpers/plans.ts'
import { startServiceOn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aList } from '../../helpers/shop.ts'
import { anAddedUser, anAdmin, loggedIn, logIn, usersPath } from '../../helpers/users.ts'

const service = await sharedService()
const lists = '/api/v1/price_list/'

t.test('a deleted user is gone, and the e-mail is free', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin)
  const answer = await admin.send('DELETE', `${usersPath}${user.id}`)
  t.strictSame([answer.status, answer.body], [204, ''])
  t.match((await admin.get(usersPath)).body, { count: 1 })
  t.equal((await logIn(t, service, user)).status, 401)
  expectProblem(t, await admin.send('DELETE', `${usersPath}${user.id}/`), 404, 'not-found', 'again')
  t.equal((await admin.post(usersPath, { email: user.email, scopes: ['read'] })).status, 201)
})

t.test('every process refuses the tokens of a deleted user within 10 seconds', async (t) => {
  const database = await cloneDatabase()
  const first = await startServiceOn(t, database)
  const settings = { DATABASE_READ_URL: database.url }
  const second = await startServiceOn(t, { ...database, drop: async () => undefined }, settings)
  const admin = await anAdmin(t, first)
  const user = await anAddedUser(admin)
  const { token } = await loggedIn(t, first, user)
  const answer = (of: typeof first) =>
    send(t, of, { method: 'GET', path: lists, headers: { authorization: `jwt ${token}` } })
  for (const process of [first, second]) t.equal((await answer(process)).status, 200)
  t.equal((await admin.send('DELETE', `${usersPath}${user.id}`)).status, 204)
  letPass(t, 9_000)
  for (const process of [first, second]) {
    const refused = await answer(process)
    expectProblem(t, refused, 401, 'unauthorized', 'ended')
    t.equal(refused.headers['www-authenticate'], 'jwt')
  }
  t.equal((await admin.get(lists)).status, 200, 'those of others go on')
})

t.test('a deleted user gives no access to others, even in the first seconds', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin, ['read', 'admin'])
  const own = await loggedIn(t, service, user)
  t.equal((await own.get(usersPath)).status, 200)
  await admin.send('DELETE', `${usersPath}${user.id}`)
  const [{ id }] = (await admin.get(usersPath)).body.results
  for (const [path, body] of [
    [keysPath, { name: 'K', scopes: ['read'] }],
    [usersPath, { email: 'other@shop.example', scopes: ['read'] }],
    [`${usersPath}${id}/reset_password/`, undefined],
  ] as const)
    expectProblem(t, await own.post(path, body), 401, 'unauthorized', path)
})

t.test('a plan that a deleted user has scheduled keeps the name', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin, ['write'])
  const own = await loggedIn(t, service, user)
  const columns = { attributes: [], extensions: [], costs: [] }
  await own.post('/api/v1/product_catalog/schema/create_schema/', columns)
  await own.post('/api/v1/product_catalog/bulk_create_or_update/', [{ code: 'A' }])
  const { id } = await aList(own, { name: 'L' })
  const add = { price_list_name: 'L', payload: [{ code: 'A' }] }
  const { body: plan } = await own.post('/api/v1/prices/bulk_add_products/?plan=true', add)
  const schedule = { at: inAMonth() }
  t.equal((await own.post(`/api/v1/plans/${plan.id}/apply/`, schedule)).status, 201)
  await admin.send('DELETE', `${usersPath}${user.id}`)
  await makeDue(service.url, plan.id)
  const revisions = async () =>
    (await admin.get(`/api/v1/price_list/${id}/revisions/`)).body.results ?? []
  while ((await revisions()).length === 0) await sleep(100)
  t.match(await revisions(), [{ actor: { type: 'user', name: user.email } }])
})

t.test('API keys that a deleted user has made live on', async (t) => {
  const admin = await anAdmin(t, service)
  const user = await anAddedUser(admin, ['read', 'admin'])
  const { key } = await anApiKey(await loggedIn(t, service, user))
  await admin.send('DELETE', `${usersPath}${user.id}`)
  letPass(t, 9_000)
  t.equal((await withKey(admin, key).get(lists)).status, 200)
})

t.test('the last admin cannot be deleted', async (t) => {
  const admin = await anAdmin(t, service)
  const [{ id }] = (await admin.get(usersPath)).body.results
  const remove = () => admin.send('DELETE', `${usersPath}${id}`)
  expectProblem(t, await remove(), 409, 'last-admin', 'alone')
  await anAddedUser(admin, ['write'])
  expectProblem(t, await remove(), 409, 'last-admin', 'beside a user without the scope')
  await anAdmin(t, service)
  expectProblem(t, await remove(), 409, 'last-admin', 'beside an admin of another account')
  await anAddedUser(admin, ['admin'])
  t.equal((await remove()).status, 204, 'beside another admin')
})

t.test('of two admins who are deleted at the same time one is left', async (t) => {
  for (let round = 0; round < 8; round++) {
    const admin = await anAdmin(t, service)
    await anAddedUser(admin, ['admin'])
    const users = (await admin.get(usersPath)).body.results
    const answers = await Promise.all(
      users.map(({ id }: { id: number }, index: number) =>
        round % 2 === 0 || index === 0
          ? admin.send('DELETE', `${usersPath}${id}`)
          : admin.send('PATCH', `${usersPath}${id}`, { scopes: ['read'] }),
      ),
    )
    const [done, refused] = answers.map(({ status }) => status).sort()
    t.ok(done === 200 || done === 204, `${done}`)
    t.equal(refused, 409)
  }
})

t.test('what is no user of the account is not found', async (t) => {
  const [admin, other] = [await anAdmin(t, service), await anAdmin(t, service)]
  const user = await anAddedUser(other)
  for (const absent of [user.id, 999_999_999])
    expectProblem(
      t,
      await admin.send('DELETE', `${usersPath}${absent}`),
      404,
      'not-found',
      String(absent),
    )
  t.equal((await logIn(t, service, user)).status, 200, 'that of another account is still there')
  for (const wrong of ['0', 'x', '1.5'])
    expectProblem(
      t,
      await admin.send('DELETE', `${usersPath}${wrong}`),
      400,
      'invalid-request',
      wrong,
    )
})
