import t from 'tap'
import { anAgreement, listPath, loadPath } from '../helpers/agreement.ts'
import { expectFaults } from '../helpers/faults.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/agreement/bulk_delete/'
const service = await sharedService()

/** Loads agreements of these names; returns their ids. */
async function load(account: TestAccount, names: string[]): Promise<number[]> {
  await account.post(
    loadPath,
    names.map((name) => anAgreement({ name })),
  )
  return idsOf(account)
}

async function idsOf(account: TestAccount): Promise<number[]> {
  return (await account.get(listPath)).body.results.map(({ id }: { id: number }) => id)
}

t.test('deletes the agreements of the ids, and counts those that there are not', async (t) => {
  const account = await service.newAccount(t)
  const [a = 0, b = 0, c = 0] = await load(account, ['a', 'b', 'c'])
  const { status, body } = await account.post(path, [c, 9007199254740991, a])
  t.strictSame([status, body], [200, { deleted: 2, absent: 1 }])
  t.strictSame(await idsOf(account), [b])
  t.equal((await account.get(`${listPath}${a}`)).status, 404)
})

t.test('a deleted agreement can be made again, with another id', async (t) => {
  const account = await service.newAccount(t)
  const [first = 0] = await load(account, ['a'])
  await account.post(path, [first])
  const [second] = await load(account, ['a'])
  t.not(second, first)
})

t.test('prices of the client are read without it at once', async (t) => {
  const { shop } = await aPricedList(t, service)
  const agreement = { name: 'Frame', client_code: 'C1', price_list_code: 'L' }
  await shop.post(loadPath, [{ ...agreement, price_line: { code: 'A' }, prices: { price: 4 } }])
  const ask = { price_list_name: 'L', client_code: 'C1', payload: [uk('A')] }
  const price = async () =>
    (await shop.post('/api/v1/prices/get_prices/', ask)).body[0].active_price
  t.equal(await price(), 4)
  await shop.post(path, await idsOf(shop))
  t.equal(await price(), 10)
})

t.test('the agreements of another account are absent', async (t) => {
  const [mine, theirs] = [await service.newAccount(t), await service.newAccount(t)]
  const ids = await load(mine, ['a'])
  t.strictSame((await theirs.post(path, ids)).body, { deleted: 0, absent: 1 })
  t.strictSame(await idsOf(mine), ids)
})

t.test('every bad id is named, and nothing is deleted', async (t) => {
  const account = await service.newAccount(t)
  const [a = 0] = await load(account, ['a'])
  const faults = ['/1 type', '/2 range', '/3 type', '/4 range', '/5 duplicate_row']
  expectFaults(t, await account.post(path, [a, `${a}`, 0, 1.5, 9007199254740992, a]), faults)
  expectFaults(t, await account.post(path, []), [' length'])
  t.strictSame(await idsOf(account), [a])
})
