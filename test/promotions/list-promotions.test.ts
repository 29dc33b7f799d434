import t from 'tap'
import { nextMoment } from '../helpers/clocks.ts'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { select } from '../helpers/sql.ts'

const path = '/api/v1/promotions/'
const service = await sharedService()

const spring = {
  name: 'Spring',
  kind: 'amount',
  value: 1,
  valid_from: '2026-03-01',
  valid_to: '2026-05-31',
}
const may = {
  name: 'May',
  kind: 'percentage',
  value: 5,
  valid_from: '2026-05-01',
  valid_to: '2026-05-31',
}

async function withPromotions(t: Parameters<typeof service.newAccount>[0], promotions: object[]) {
  const shop = await service.newAccount(t)
  await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions)
  const names = async (query: string) => {
    const { body } = await shop.get(`${path}${query}`)
    t.equal(body.count, body.results.length)
    return body.results.map(({ name }: { name: string }) => name)
  }
  return { shop, names }
}

t.test('without promotions the page is empty', async (t) => {
  const shop = await service.newAccount(t)
  t.strictSame((await shop.get(path)).body, { count: 0, results: [] })
})

t.test('valid_on finds the promotions of a day, first and last day included', async (t) => {
  const { names } = await withPromotions(t, [spring, may])
  t.strictSame(await names('?valid_on=2026-02-28'), [])
  t.strictSame(await names('?valid_on=2026-03-01'), ['Spring'])
  t.strictSame(await names('?valid_on=2026-04-30'), ['Spring'])
  t.strictSame(new Set(await names('?valid_on=2026-05-01')), new Set(['Spring', 'May']))
  t.strictSame(new Set(await names('?valid_on=2026-05-31')), new Set(['Spring', 'May']))
  t.strictSame(await names('?valid_on=2026-06-01'), [])
})

t.test('name finds the promotion of exactly that name, and filters combine', async (t) => {
  const { names } = await withPromotions(t, [spring, may])
  t.strictSame(await names('?name=May'), ['May'])
  t.strictSame(await names('?name=may'), [])
  t.strictSame(await names('?name=May&valid_on=2026-05-01'), ['May'])
  t.strictSame(await names('?name=May&valid_on=2026-04-30'), [])
})

t.test('pages are in the order of the ids and count all', async (t) => {
  const promotions = Array.from({ length: 30 }, (_, index) => ({ ...may, name: `P${99 - index}` }))
  const { shop } = await withPromotions(t, promotions)
  const first = (await shop.get(path)).body
  t.equal(first.count, 30)
  t.equal(first.results.length, 25)
  const rest = (await shop.get(`${path}?offset=25`)).body
  t.equal(rest.count, 30)
  const ids = [...first.results, ...rest.results].map(({ id }: { id: number }) => id)
  t.equal(new Set(ids).size, 30)
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  t.equal((await shop.get(`${path}?offset=7&limit=1`)).body.results[0].id, ids[7])
})

t.test('a bad parameter is refused by name', async (t) => {
  const shop = await service.newAccount(t)
  const cases = {
    valid_on: ['2026-02-30', 'today', ''],
    name: [''],
    limit: ['0', '1001', 'x'],
    offset: ['-1'],
  }
  for (const [name, values] of Object.entries(cases)) {
    for (const value of values) {
      const { status, body } = await shop.get(`${path}?${name}=${value}`)
      t.equal(status, 400, `${name}=${value}`)
      t.equal(body.errors[0].pointer, `/query/${name}`)
    }
  }
})

t.test('the promotions of another account are not seen', async (t) => {
  await withPromotions(t, [spring, may])
  const { names } = await withPromotions(t, [])
  t.strictSame(await names(''), [])
  t.strictSame(await names('?name=May'), [])
})

t.test(
  'a page of more than 32 MB says how many results to ask for, and one result is always answered',
  async (t) => {
    const codes = Array.from({ length: 44_000 }, (_, index) => `${index}`.padStart(255, '€'))
    const { shop } = await withPromotions(t, [{ ...spring, product_filters: { code: codes } }])
    // On a busy machine it may take longer than the five seconds that a read has.
    const read = async (query: string) => {
      let answer = await shop.get(`${path}${query}`)
      while (answer.body.type === 'too-costly') answer = await shop.get(`${path}${query}`)
      return answer
    }
    t.equal((await read('')).body.results[0].product_filters.code.length, codes.length)
    await shop.post('/api/v1/promotions/bulk_create_or_update/', [may])
    const refused = await read('')
    expectProblem(t, refused, { status: 400, type: 'result-too-large' })
    t.match(
      refused.body.detail,
      /^A page has at most 32 MB, these 2 results have 34\. .*`limit`, such as 1\.$/,
    )
    t.equal((await read('?limit=1')).body.count, 2)
    t.strictSame((await read('?limit=1&offset=1')).body.results[0].name, 'May')
  },
)

t.test('as_of shows promotions as they were at a moment', async (t) => {
  const { shop } = await withPromotions(t, [{ ...spring, value: 10 }])
  const first = await nextMoment()
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...spring, value: 20 }])
  const values = async (query: string) =>
    (await shop.get(`${path}${query}`)).body.results.map(({ value }: { value: number }) => value)
  t.strictSame(await values(`?as_of=${first}`), [10])
  t.strictSame(await values(''), [20])
  t.strictSame(await values('?as_of=2020-01-01T00:00:00Z'), [])
  const ahead = await shop.get(`${path}?as_of=2999-01-01T00:00:00Z`)
  t.match(ahead, { status: 400, body: { errors: [{ pointer: '/query/as_of', code: 'range' }] } })
  const versions = () =>
    select(service.url, `select from promotion_versions where account_id = ${shop.id}`)
  const kept = (await versions()).length
  const second = await nextMoment()
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [{ ...spring, value: 20 }])
  t.equal((await versions()).length, kept, 'what is sent again keeps nothing')
  t.strictSame([await values(`?as_of=${first}`), await values(`?as_of=${second}`)], [[10], [20]])
  const day = await shop.get(`${path}?as_of=2026-11-28`)
  t.match(day, { status: 400, body: { errors: [{ pointer: '/query/as_of', code: 'format' }] } })
})

t.test('as_of before the kept history is refused, unless the account is younger', async (t) => {
  const { shop } = await withPromotions(t, [spring])
  const read = (days: number, accept = 'application/json') => {
    const at = new Date(Date.now() - days * 86_400_000).toISOString()
    return shop.send('GET', `${path}?as_of=${at}`, undefined, { accept })
  }
  t.match(await read(410), { status: 200, body: { count: 0 } })
  await query(
    service.url,
    `update accounts set created_at = now() - interval '405 days' where id = ${shop.id}`,
  )
  t.match(await read(410), { status: 200 })
  t.match(await read(399), { status: 200 })
  const { status, body } = await read(401)
  t.match({ status, body }, { status: 409, body: { type: 'history-not-kept' } })
  t.ok(Math.abs(Date.parse(body.oldest) - Date.now() + 400 * 86_400_000) < 600_000)
  t.match(await read(401, 'text/csv'), { status: 409 })
})
