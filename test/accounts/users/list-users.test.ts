import t from 'tap'
import { expectPaging } from '../../helpers/paging.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { select } from '../../helpers/sql.ts'
import { anAddedUser, anAdmin, usersPath } from '../../helpers/users.ts'

const service = await sharedService()

t.test('the users of the account are listed, never what they log in with', async (t) => {
  const admin = await anAdmin(t, service)
  await anAdmin(t, service)
  const { password, ...added } = await anAddedUser(admin)
  const { status, body } = await admin.get(usersPath)
  t.equal(status, 200)
  t.equal(body.count, 2)
  const [first, second] = body.results
  t.match(first, { email: admin.email, scopes: ['read', 'plan', 'write', 'override', 'admin'] })
  t.strictSame({ ...second, created_at: '' }, { ...added, created_at: '' })
  t.match(second.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.notMatch(JSON.stringify(body), /password|scrypt/)
})

t.test('users come in pages', async (t) => {
  const admin = await anAdmin(t, service)
  await select(
    service.url,
    `insert into users (account_id, email, password_hash, scopes)
     select ${admin.id}, 'page' || n || '@example.com', '', '{read}' from generate_series(1, 30) n`,
  )
  await expectPaging(t, admin, usersPath, 'id')
})
