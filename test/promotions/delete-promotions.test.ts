import t from 'tap'
import { nextMoment } from '../helpers/clocks.ts'
import { expectFaults } from '../helpers/faults.ts'
import { aPricedList, uk } from '../helpers/plans.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/promotions/'
const service = await sharedService()

async function create(shop: TestAccount, names: string[]): Promise<void> {
  const terms = { kind: 'amount', value: 1, valid_from: '2026-01-01', valid_to: '2026-12-31' }
  await shop.post(
    `${path}bulk_create_or_update/`,
    names.map((name) => ({ name, ...terms })),
  )
}

const namesOf = async (shop: TestAccount, query = '') =>
  (await shop.get(`${path}${query}`)).body.results.map(({ name }: { name: string }) => name)

t.test('deletes the promotions of the names, and counts those that there are not', async (t) => {
  const shop = await service.newAccount(t)
  await create(shop, ['a', 'b', 'c'])
  const { status, body } = await shop.post(`${path}bulk_delete/`, ['c', 'x', 'a'])
  t.strictSame([status, body], [200, { deleted: 2, absent: 1 }])
  t.strictSame(await namesOf(shop), ['b'])
})

t.test('prices are read without them at once, and with them as of a moment before', async (t) => {
  const { shop } = await aPricedList(t, service)
  await create(shop, ['less', 'other'])
  const read = async (as_of?: string) => {
    const ask = { price_list_name: 'L', promotion_date: '2026-06-01', payload: [uk('A')] }
    const { body } = await shop.post('/api/v1/prices/get_prices/', { ...ask, as_of })
    return body[0].active_price
  }
  t.equal(await read(), 9)
  const before = await nextMoment()
  await shop.post(`${path}bulk_delete/`, ['less', 'other'])
  t.equal(await read(), 10)
  t.equal(await read(before), 9)
  t.strictSame(await namesOf(shop, `?as_of=${before}`), ['less', 'other'])
})

t.test('a plan of a promotion that was deleted since is stale', async (t) => {
  const { shop, apply } = await aPricedList(t, service)
  await create(shop, ['a'])
  const other = { name: 'a', kind: 'amount', value: 2 }
  const { body: plan } = await shop.post(`${path}bulk_create_or_update/?plan=true`, [
    { ...other, valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  await shop.post(`${path}bulk_delete/`, ['a'])
  t.match(await apply(plan.id), { status: 409, body: { type: 'plan-stale' } })
})

t.test('the promotions of another account are absent', async (t) => {
  const [mine, theirs] = [await service.newAccount(t), await service.newAccount(t)]
  await create(mine, ['a'])
  t.strictSame((await theirs.post(`${path}bulk_delete/`, ['a'])).body, { deleted: 0, absent: 1 })
  t.strictSame(await namesOf(mine), ['a'])
})

t.test('every bad name is named, and nothing is deleted', async (t) => {
  const shop = await service.newAccount(t)
  await create(shop, ['a'])
  const answer = await shop.post(`${path}bulk_delete/`, ['a', 1, '', 'a'])
  expectFaults(t, answer, ['/1 type', '/2 length', '/3 duplicate_row'])
  expectFaults(t, await shop.post(`${path}bulk_delete/`, []), [' length'])
  t.strictSame(await namesOf(shop), ['a'])
})
