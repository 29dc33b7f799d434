import t from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/promotions/'
const service = await sharedService()

async function create(shop: TestAccount, names: string[]): Promise<number[]> {
  const terms = { kind: 'amount', value: 1, valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const { body } = await shop.post(
    `${path}bulk_create_or_update/`,
    names.map((name) => ({ name, ...terms })),
  )
  return body.created
}

const ids = async (shop: TestAccount) =>
  (await shop.get(path)).body.results.map(({ id }: { id: number }) => id)

t.test('deletes the promotion and no other', async (t) => {
  const shop = await service.newAccount(t)
  const [a, b] = await create(shop, ['a', 'b'])
  const { status, body } = await shop.send('DELETE', `${path}${a}`)
  t.equal(status, 204)
  t.equal(body, '')
  t.strictSame(await ids(shop), [b])
})

t.test('a promotion that is gone is not found, and its name is free', async (t) => {
  const shop = await service.newAccount(t)
  const [a] = await create(shop, ['a'])
  await shop.send('DELETE', `${path}${a}/`)
  const { status, body } = await shop.send('DELETE', `${path}${a}`)
  t.equal(status, 404)
  t.equal(body.type, 'not-found')
  const [again] = await create(shop, ['a'])
  t.not(again, a)
})

t.test('the promotion of another account answers like one that does not exist', async (t) => {
  const [mine, theirs] = [await service.newAccount(t), await service.newAccount(t)]
  const [a] = await create(mine, ['a'])
  const foreign = await theirs.send('DELETE', `${path}${a}`)
  const absent = await theirs.send('DELETE', `${path}9007199254740991`)
  t.equal(foreign.status, 404)
  t.strictSame({ ...foreign.body, instance: '' }, { ...absent.body, instance: '' })
  t.strictSame(await ids(mine), [a])
})

t.test('an id that is none is refused', async (t) => {
  const shop = await service.newAccount(t)
  for (const id of ['0', '-1', 'x', '1.5', '9007199254740992', '9223372036854775808'])
    t.equal((await shop.send('DELETE', `${path}${id}`)).status, 400, id)
})
