import t from 'tap'
import { expectFaults, expectProblem } from '../helpers/faults.ts'
import { aSale, salesOf } from '../helpers/sales.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/bulk_delete/'
const loadPath = '/api/v1/sales_history/bulk_create_or_update'
const service = await sharedService()

async function load(shop: TestAccount, ids: string[]): Promise<void> {
  await shop.post(
    loadPath,
    ids.map((transaction_id) => aSale({ transaction_id })),
  )
}

const idsOf = async (shop: TestAccount) =>
  (await salesOf(shop)).map(({ transaction_id }) => transaction_id)

t.test('deletes the sales of the keys, and counts those that there are not', async (t) => {
  const shop = await service.newAccount(t)
  await load(shop, ['a', 'b', 'c'])
  const { status, body } = await shop.post(path, ['c', 'x', 'a'])
  t.strictSame([status, body], [200, { deleted: 2, absent: 1 }])
  t.strictSame(await idsOf(shop), ['b'])
  t.strictSame((await shop.post(path, ['c', 'a'])).body, { deleted: 0, absent: 2 }, 'again')
})

t.test('the sales of another account are absent', async (t) => {
  const [mine, theirs] = [await service.newAccount(t), await service.newAccount(t)]
  await load(mine, ['a'])
  t.strictSame((await theirs.post(path, ['a'])).body, { deleted: 0, absent: 1 })
  t.strictSame(await idsOf(mine), ['a'])
})

t.test('keys are compared code point by code point', async (t) => {
  const shop = await service.newAccount(t)
  const keys = ['a', 'A', ' a', 'a"b', 'a\\b', '{a,b}', 'NULL', '😀', 'é', 'e\u0301', '__proto__']
  await load(shop, keys)
  t.strictSame((await shop.post(path, ['A', '😀'])).body, { deleted: 2, absent: 0 })
  t.equal((await idsOf(shop)).length, keys.length - 2)
  const left = keys.filter((key) => key !== 'A' && key !== '😀')
  t.strictSame((await shop.post(path, left)).body, { deleted: left.length, absent: 0 })
})

t.test('every bad key is named, and nothing is deleted', async (t) => {
  const shop = await service.newAccount(t)
  await load(shop, ['a', 'b'])
  const body = ['a', 1, null, '', 'x'.repeat(256), 'b', 'a', {}]
  const type = ['/1 type', '/2 type', '/3 length', '/4 length', '/6 duplicate_row', '/7 type']
  const answer = await shop.post(path, body)
  expectFaults(t, answer, type)
  t.match(answer.body.errors[4], { row: 6, message: 'rows 0 and 6 are the same key' })
  t.strictSame(await idsOf(shop), ['a', 'b'])
})

t.test('a body that is no list, or an empty one, is refused', async (t) => {
  const shop = await service.newAccount(t)
  expectFaults(t, await shop.post(path, []), [' length'])
  for (const body of [{}, 'a', { keys: ['a'] }])
    t.match(await shop.post(path, JSON.stringify(body)), { status: 400 })
  t.equal((await shop.send('POST', path, undefined)).status, 400)
})

t.test('bad keys behind the first fifty are named as well', async (t) => {
  const shop = await service.newAccount(t)
  const keys = Array.from({ length: 120 }, (_, index) => `k${index}`)
  await load(shop, keys)
  expectFaults(t, await shop.post(path, [...keys, 7, 'k3']), ['/120 type', '/121 duplicate_row'])
  t.strictSame((await shop.post(path, keys)).body, { deleted: 120, absent: 0 })
})

t.test('100,000 keys are taken, and one more is 413', async (t) => {
  const shop = await service.newAccount(t)
  const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}`)
  await load(shop, keys)
  expectProblem(t, await shop.post(path, [...keys, 'one more']), {
    status: 413,
    type: 'payload-too-large',
  })
  t.strictSame((await shop.post(path, keys)).body, { deleted: 100_000, absent: 0 })
  t.strictSame(await idsOf(shop), [])
})

t.test('an Idempotency-Key answers a repeated call as the first one', async (t) => {
  const shop = await service.newAccount(t)
  await load(shop, ['a'])
  const headers = { 'idempotency-key': 'k' }
  const first = await shop.send('POST', path, ['a'], headers)
  const second = await shop.send('POST', path, ['a'], headers)
  t.strictSame(second.body, first.body)
  t.equal(second.headers['idempotent-replayed'], 'true')
})

t.test('a token that may only read is refused', async (t) => {
  const shop = await service.newAccount(t)
  const { body } = await shop.post('/api/v1/api_keys/', { name: 'k', scopes: ['plan'] })
  const headers = { authorization: `jwt ${body.key}` }
  const expected = { status: 403, type: 'forbidden' }
  expectProblem(t, await shop.send('POST', path, ['a'], headers), expected)
})

t.test('deletions and loads of the same keys do not block each other for good', async (t) => {
  const own = await startTestService(t)
  const shop = await own.newAccount(t)
  const keys = Array.from({ length: 3000 }, (_, index) => `k${index}`)
  const sales = keys.map((transaction_id) => aSale({ transaction_id }))
  const calls = Array.from({ length: 6 }, (_, index) =>
    index % 2 ? shop.post(path, keys.toReversed()) : shop.post(loadPath, sales),
  )
  for (const { status } of await Promise.all(calls)) t.ok(status < 300, String(status))
})
