import t from 'tap'
import { anApiKey, keysPath, listedKeys, withKey } from '../../helpers/api-keys.ts'
import { expectPaging } from '../../helpers/paging.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { select } from '../../helpers/sql.ts'

const service = await sharedService()

t.test('keys are listed with their state, never the key itself', async (t) => {
  const account = await service.newAccount(t)
  const { key, ...first } = await anApiKey(account, { scopes: ['write', 'admin'] })
  const second = await anApiKey(account)
  await account.send('DELETE', `${keysPath}${second.id}`)
  const { status, body } = await account.get(keysPath)
  t.equal(status, 200)
  t.match(body, { count: 2, results: [{ id: first.id }, { id: second.id }] })
  t.strictSame(body.results[0], { ...first, last_used_on: null, revoked_at: null })
  t.match(body.results[1].revoked_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.notMatch(JSON.stringify(body), key.split('.')[2])
})

t.test('keys come in pages', async (t) => {
  const account = await service.newAccount(t)
  for (let left = 30; left > 0; left--) await anApiKey(account)
  await expectPaging(t, account, keysPath, 'id')
})

t.test('the day of the last use is written once a day', async (t) => {
  const account = await service.newAccount(t)
  const { id, key } = await anApiKey(account)
  const program = withKey(account, key)
  const today = new Date().toISOString().slice(0, 10)
  /** Nobody waits for the note. */
  const dayOfUse = async () => {
    for (let tries = 0; tries < 100; tries++) {
      const [{ last_used_on } = { last_used_on: null }] = await listedKeys(account)
      if (last_used_on === today) return last_used_on
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return undefined
  }
  const version = async () =>
    (await select(service.url, `select xmin::text from api_keys where id = ${id}`))[0]
  t.equal((await program.get('/api/v1/jobs/')).status, 200)
  t.equal(await dayOfUse(), today)
  const before = await version()
  const other = await service.newAccount(t)
  t.equal((await withKey(other, key).get('/api/v1/jobs/')).status, 200)
  t.strictSame(await version(), before, 'not written again')
})
