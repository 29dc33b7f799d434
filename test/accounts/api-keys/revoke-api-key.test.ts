import t from 'tap'
import { anApiKey, keysPath, listedKeys, withKey } from '../../helpers/api-keys.ts'
import { letPass } from '../../helpers/clocks.ts'
import { cloneDatabase } from '../../helpers/database.ts'
import { expectProblem, send } from '../../helpers/operations.ts'
import { startServiceOn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const service = await sharedService()
const path = '/api/v1/price_list/'

t.test('a revoked key stays in the list and is revoked once', async (t) => {
  const account = await service.newAccount(t)
  const { id } = await anApiKey(account)
  const answer = await account.send('DELETE', `${keysPath}${id}`)
  t.strictSame([answer.status, answer.body], [204, ''])
  const [{ revoked_at }] = await listedKeys(account)
  t.equal((await account.send('DELETE', `${keysPath}${id}/`)).status, 204)
  t.equal((await listedKeys(account))[0].revoked_at, revoked_at)
})

t.test('what is no key of the account is not found', async (t) => {
  const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
  const { id, key } = await anApiKey(other)
  for (const absent of [id, 999_999]) {
    const answer = await account.send('DELETE', `${keysPath}${absent}`)
    expectProblem(t, answer, 404, 'not-found', String(absent))
  }
  t.equal((await withKey(other, key).get(path)).status, 200, 'that of another account still works')
  for (const wrong of ['0', 'x', '1.5']) {
    const answer = await account.send('DELETE', `${keysPath}${wrong}`)
    expectProblem(t, answer, 400, 'invalid-request', wrong)
  }
})

t.test('a key that was never sent is refused at once', async (t) => {
  const account = await service.newAccount(t)
  const { id, key } = await anApiKey(account)
  await account.send('DELETE', `${keysPath}${id}`)
  const answer = await withKey(account, key).get(path)
  expectProblem(t, answer, 401, 'unauthorized', 'revoked')
  t.equal(answer.headers['www-authenticate'], 'jwt')
})

t.test('every process refuses a revoked key within 10 seconds', async (t) => {
  const database = await cloneDatabase()
  const first = await startServiceOn(t, database)
  const settings = { DATABASE_READ_URL: database.url }
  const second = await startServiceOn(t, { ...database, drop: async () => undefined }, settings)
  const account = await first.newAccount(t)
  const { id, key } = await anApiKey(account, { scopes: ['read', 'admin'] })
  const status = async (of: typeof first) => {
    const headers = { authorization: `jwt ${key}` }
    return (await send(t, of, { method: 'GET', path, headers })).status
  }
  t.strictSame([await status(first), await status(second)], [200, 200])
  t.equal((await withKey(account, key).send('DELETE', `${keysPath}${id}`)).status, 204)
  letPass(t, 9_000)
  t.strictSame([await status(first), await status(second)], [401, 401])
})
