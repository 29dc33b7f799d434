import t from 'tap'
import { operations } from '../../src/contract/document.ts'
import { bodyCheck } from '../../src/contract/validation.ts'
import { faultsOf } from '../helpers/faults.ts'
import { bodyOperations, concretePath } from '../helpers/operations.ts'
import { aSale } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const sales = '/api/v1/sales_history/bulk_create_or_update'

t.test('a fault names its row, however many rows there are', async (t) => {
  const account = await service.newAccount(t)
  const faulty = [0, 49, 50, 99, 100, 1000, 1030]
  const rows = Array.from({ length: 1031 }, (_, index) =>
    aSale(faulty.includes(index) ? { revenue: 1 } : {}),
  )
  const expected = faulty.map((row) => `/${row}/revenue type`)
  t.strictSame(faultsOf(await account.post(sales, rows)), expected)
  const payload = rows.map(({ code }, index) => (faulty.includes(index) ? {} : { code, price: 1 }))
  const answer = await account.post('/api/v1/prices/bulk_update_prices/', {
    price_list: 'L',
    payload,
  })
  t.strictSame(faultsOf(answer), [
    '/price_list_name required',
    '/price_list unknown_key',
    ...faulty.flatMap((row) => [`/payload/${row}/code required`, `/payload/${row}/price required`]),
  ])
})

t.test('a list is refused where a body is an object, however long it is', async (t) => {
  const account = await service.newAccount(t)
  const lists = new Set(['upsertProducts', 'createPriceLists', 'upsertPromotions', 'upsertSales'])
  lists.add('upsertCompetitorPrices').add('upsertAgreements')
  for (const kind of ['Products', 'Sales', 'CompetitorPrices', 'Agreements', 'Promotions'])
    lists.add(`delete${kind}`)
  for (const { id, method, path } of bodyOperations.filter(({ id }) => !lists.has(id))) {
    const answer = await account.send(method, concretePath(path), Array(1001).fill({ code: 'A' }))
    t.equal(answer.status, 400, id)
    t.strictSame(faultsOf(answer), [' type'], id)
  }
})

t.test('errors behind those that are listed are counted, each once', async (t) => {
  const account = await service.newAccount(t)
  const rows = Array.from({ length: 1200 }, (_, index) => {
    const unknown = Object.fromEntries(
      Array.from({ length: index % 3 }, (_, key) => [`x${key}`, 1]),
    )
    return { ...aSale({ transaction_id: `${index}` }), ...unknown, revenue: 1 }
  })
  const { body } = await account.post(sales, [...rows, aSale({}), aSale({ quantity: '2' })])
  t.equal(body.error_count, 2401, 'a sound row that contradicts another among them')
  t.equal(body.errors.length, 1000)
  const listed = body.errors.map(({ row }: { row: number }) => row)
  t.strictSame(
    listed,
    listed.toSorted((a: number, b: number) => a - b),
  )
  t.equal(new Set(listed).size, 501)
  const around = await account.post('/api/v1/prices/bulk_update_prices/', { payload: rows, x: 1 })
  t.strictSame(faultsOf(around).slice(0, 3), [
    '/price_list_name required',
    '/x unknown_key',
    '/payload/0/price required',
  ])
  t.equal(around.body.errors.length, 1000)
})

t.test('the faults of long rows are not held together, and name their rows', async (t) => {
  const operation = operations.find(({ id }) => id === 'createPriceLists')
  const findFaults = bodyCheck(operation as NonNullable<typeof operation>)
  const list = (_: unknown, index: number) => ({
    name: `${index}`,
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
    product_filters: { code: Array(index % 10 === 0 ? 9_000 : 2).fill(null) },
  })
  for (const length of [25, 75]) {
    const seen = new Map<string, number>()
    let most = 0
    await findFaults(Array.from({ length }, list), (faults) => {
      most = Math.max(most, faults.length)
      for (const { instancePath } of faults) {
        const row = instancePath.split('/')[1] ?? ''
        seen.set(row, (seen.get(row) ?? 0) + 1)
      }
    })
    const expected = Array.from({ length }, (_, row) => [`${row}`, row % 10 === 0 ? 9_000 : 2])
    t.strictSame([...seen], expected)
    t.ok(most < 18_000, `${most} at once`)
  }
})
