import t from 'tap'
import { expectFaults } from '../helpers/faults.ts'
import { aMarket, anEntry, listPath, loadPath, schemaPath } from '../helpers/market.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/competitor_prices/bulk_delete/'
const service = await sharedService()

t.test('deletes the prices of the hashes, and counts those that there are not', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const codes = ['A', 'B', 'C']
  const { body: loaded } = await market.post(
    loadPath,
    codes.map((code) => anEntry({ code })),
  )
  const [a, b, c] = loaded.created
  const { status, body } = await market.post(path, [c, 'f'.repeat(64), a])
  t.strictSame([status, body], [200, { deleted: 2, absent: 1 }])
  const { results } = (await market.get(listPath)).body
  t.strictSame(
    results.map(({ hash }: { hash: string }) => hash),
    [b],
  )
})

t.test('without a schema every hash is absent', async (t) => {
  const account = await service.newAccount(t)
  t.strictSame((await account.post(path, ['0'.repeat(64)])).body, { deleted: 0, absent: 1 })
})

t.test('with no prices left the schema can be replaced', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const { body: loaded } = await market.post(loadPath, [anEntry()])
  const other = { attributes_config: ['brand'] }
  t.equal((await market.post(schemaPath, other)).status, 409)
  await market.post(path, loaded.created)
  t.match(await market.post(schemaPath, other), { status: 201, body: { output: { total: 0 } } })
})

t.test('the prices of another account are absent', async (t) => {
  const [mine, theirs] = [
    await aMarket(t, service, { attributes_config: ['code'] }),
    await aMarket(t, service, { attributes_config: ['code'] }),
  ]
  const { body: loaded } = await mine.post(loadPath, [anEntry()])
  t.strictSame((await theirs.post(path, loaded.created)).body, { deleted: 0, absent: 1 })
  t.equal((await mine.get(listPath)).body.count, 1)
})

t.test('every bad hash is named, and nothing is deleted', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const { body: loaded } = await market.post(loadPath, [anEntry()])
  const [hash] = loaded.created
  const body = [hash, hash.toUpperCase(), hash.slice(1), 1, hash]
  const faults = ['/1 format', '/2 format', '/3 type', '/4 duplicate_row']
  expectFaults(t, await market.post(path, body), faults)
  expectFaults(t, await market.post(path, []), [' length'])
  t.equal((await market.get(listPath)).body.count, 1)
})
