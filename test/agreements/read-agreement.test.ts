import t from 'tap'
import { anAgreement, listPath, loadAgreement } from '../helpers/agreement.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('shows the agreement with a strong ETag', async (t) => {
  const account = await service.newAccount(t)
  const agreement = await loadAgreement(account, anAgreement())
  for (const path of [`${listPath}${agreement.id}`, `${listPath}${agreement.id}/`]) {
    const { status, headers, body } = await account.get(path)
    t.equal(status, 200)
    t.strictSame(body, agreement)
    t.match(headers.etag, /^"[^"]+"$/)
  }
})

t.test("another account's agreement answers like one that does not exist", async (t) => {
  const { id } = await loadAgreement(await service.newAccount(t), anAgreement())
  const account = await service.newAccount(t)
  const foreign = await account.get(`${listPath}${id}`)
  const absent = await account.get(`${listPath}${id + 1000}`)
  t.equal(foreign.status, 404)
  t.equal(foreign.body.type, 'not-found')
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
})

t.test('an id that is none is refused', async (t) => {
  const account = await service.newAccount(t)
  for (const id of ['x', '0', '-1', '1.5', '9007199254740993']) {
    const { status, body } = await account.get(`${listPath}${id}`)
    t.equal(status, 400, id)
    t.equal(body.errors[0].pointer, '/path/id', id)
  }
})
