import t from 'tap'
import { expectFaults } from '../helpers/faults.ts'
import { aSale, salesOf } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/'
const service = await sharedService()

async function load(shop: TestAccount, sales: object[]): Promise<number[]> {
  return (await shop.post('/api/v1/sales_history/bulk_create_or_update', sales)).body
}

async function idsOf(shop: TestAccount, query: string): Promise<unknown[]> {
  return (await salesOf(shop, query)).map(({ transaction_id }) => transaction_id)
}

t.test('code and transaction_id narrow the sales to those that are equal', async (t) => {
  const shop = await service.newAccount(t)
  await load(shop, [
    aSale({ transaction_id: '1', code: 'A' }),
    aSale({ transaction_id: '2', code: 'B' }),
    aSale({ transaction_id: '3', code: 'A' }),
    aSale({ transaction_id: '4', code: 'a b&c=d+%' }),
  ])
  t.strictSame(await idsOf(shop, ''), ['1', '2', '3', '4'])
  t.strictSame(await idsOf(shop, 'code=A'), ['1', '3'])
  t.strictSame(await idsOf(shop, 'code=a'), [])
  t.strictSame(await idsOf(shop, `code=${encodeURIComponent('a b&c=d+%')}`), ['4'])
  t.strictSame(await idsOf(shop, 'transaction_id=3'), ['3'])
  t.strictSame(await idsOf(shop, 'transaction_id=3&code=A'), ['3'])
  t.strictSame(await idsOf(shop, 'transaction_id=3&code=B'), [])
  t.strictSame(await idsOf(shop, 'transaction_id=03'), [])
  t.equal((await shop.get(`${path}?code=A&limit=1`)).body.count, 2, 'count is of all that match')
})

t.test(
  'from and to are UTC days, both of them in; a sale without a date is in no range',
  async (t) => {
    const shop = await service.newAccount(t)
    const dates = {
      before: '2026-02-27T23:59:59.999999Z',
      first: '2026-02-28T00:00:00Z',
      inside: '2026-02-28T12:00:00',
      last: '2026-03-01T23:59:59.999999Z',
      after: '2026-03-02',
      shifted: '2026-03-02T01:00:00+02:00',
      none: undefined,
    }
    const sales = Object.entries(dates).map(([transaction_id, transaction_date]) =>
      aSale({ transaction_id, transaction_date }),
    )
    await load(shop, sales)
    const ids = async (query: string) => new Set(await idsOf(shop, query))
    const range = new Set(['first', 'inside', 'last', 'shifted'])
    t.strictSame(await ids('from=2026-02-28&to=2026-03-01'), range)
    t.strictSame(await ids('from=2026-03-01'), new Set(['last', 'after', 'shifted']))
    t.strictSame(await ids('to=2026-02-28'), new Set(['before', 'first', 'inside']))
    t.strictSame(await ids('from=2026-02-27&to=2026-02-27'), new Set(['before']))
    t.strictSame(await ids('from=2026-03-02&to=2026-03-01'), new Set())
    t.strictSame(await ids('from=0001-01-01&to=9999-12-31'), new Set([...range, 'before', 'after']))
    t.equal((await ids('')).size, 7)
  },
)

t.test('pages go by offset and limit in the order of the ids', async (t) => {
  const shop = await service.newAccount(t)
  const sales = Array.from({ length: 30 }, (_, index) =>
    aSale({ transaction_id: `T${30 - index}` }),
  )
  const created = await load(shop, sales)
  const all = created.toSorted((a, b) => a - b)
  const page = async (query: string) => {
    const { body } = await shop.get(`${path}${query}`)
    t.equal(body.count, 30)
    return body.results.map(({ id }: { id: number }) => id)
  }
  t.strictSame(await page(''), all.slice(0, 25), 'the first 25 when nothing is said')
  t.strictSame(await page('?offset=25'), all.slice(25))
  t.strictSame(await page('?offset=3&limit=2'), all.slice(3, 5))
  t.strictSame(await page('?limit=1000'), all)
  t.strictSame(await page('?offset=30'), [])
  t.strictSame(await page('?offset=9007199254740991'), [])
})

t.test('an account sees its own sales only', async (t) => {
  const [one, other] = [await service.newAccount(t), await service.newAccount(t)]
  await load(one, [aSale()])
  t.strictSame((await other.get(path)).body, { count: 0, results: [] })
  t.strictSame((await other.get(`${path}?transaction_id=T1`)).body, { count: 0, results: [] })
})

t.test('bad parameters', async (t) => {
  const shop = await service.newAccount(t)
  const table: [string, string[]][] = [
    ['limit=0', ['/query/limit range']],
    ['limit=1001', ['/query/limit range']],
    ['limit=x', ['/query/limit type']],
    ['limit=1.5', ['/query/limit type']],
    ['offset=-1', ['/query/offset range']],
    ['from=2026-02-29', ['/query/from format']],
    ['to=today', ['/query/to format']],
    ['from=2026-01-01T00:00:00Z', ['/query/from format']],
    ['from=', ['/query/from format']],
    ['code=', ['/query/code length']],
    ['code=a%00b', ['/query/code format']],
    ['transaction_id=%00', ['/query/transaction_id format']],
    [`code=${'x'.repeat(256)}`, ['/query/code length']],
    ['transaction_id=', ['/query/transaction_id length']],
    ['limit=0&from=x', ['/query/limit range', '/query/from format']],
  ]
  for (const [query, faults] of table)
    await t.test(query.slice(0, 40), async (t) => {
      expectFaults(t, await shop.get(`${path}?${query}`), faults)
    })
})
