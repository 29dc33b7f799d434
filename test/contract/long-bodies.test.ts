import t from 'tap'
import { aSale } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const service = await sharedService()
const path = '/api/v1/sales_history/bulk_create_or_update'
const products = '/api/v1/product_catalog/bulk_create_or_update/'

/** A body of 3,000 sales is several times as long as what is read at once. */
const rows = 3000
const last = rows - 1
const sale = (index: number, more = {}) =>
  aSale({ transaction_id: `T${index}`, client_code: 'c'.repeat(60), ...more })
const longBody = () => Array.from({ length: rows }, (_, index) => sale(index))

const countOf = async (account: { id: number }) =>
  Number(
    (await select(service.url, `select count(*) from sales where account_id = ${account.id}`))[0]
      ?.count,
  )

t.test('the last row of a long body is bad: it is named, and none is written', async (t) => {
  const shop = await service.newAccount(t)
  const body = longBody()
  const bad = { 1: { quantity: 'many' }, [last]: { revenue: 'much' } }
  const sent = body.map((row, index) => ({ ...row, ...bad[index as 1] }))
  const answer = await shop.post(path, sent)
  t.match(answer, {
    status: 400,
    body: {
      error_count: 2,
      errors: [
        { pointer: '/1/quantity', row: 1 },
        { pointer: `/${last}/revenue`, row: last },
      ],
    },
  })
  t.equal(await countOf(shop), 0)
  const onlyLast = body.with(last, { ...sale(last), unknown: 1 } as never)
  const { status, body: problem } = await shop.post(path, onlyLast)
  t.match(
    { status, problem },
    { status: 400, problem: { errors: [{ pointer: `/${last}/unknown` }] } },
  )
  t.equal(await countOf(shop), 0)
})

t.test(
  'rows that are far apart and share a key are one if they are equal, else an error',
  async (t) => {
    const shop = await service.newAccount(t)
    const body = longBody().with(last, sale(0))
    const { status, body: ids } = await shop.post(path, body)
    t.equal(status, 201)
    t.equal(ids.length, rows - 1)
    t.strictSame(
      ids,
      ids.toSorted((a: number, b: number) => a - b),
      'ids in payload order',
    )
    const differing = await shop.post(path, body.with(last, sale(0, { revenue: '7' })))
    t.match(differing, {
      status: 400,
      body: {
        errors: [
          {
            pointer: `/${last}`,
            row: last,
            code: 'duplicate_row',
            message: `rows 0 and ${last} have the same key and differ`,
          },
        ],
      },
    })
  },
)

t.test('JSON that breaks at the end of a long body: none is written', async (t) => {
  const shop = await service.newAccount(t)
  const text = JSON.stringify(longBody())
  const endings = [
    `${text.slice(0, -1)},]`,
    `${text.slice(0, -1)}`,
    `${text} x`,
    `${text.slice(0, -1)},{"a":1,"a":2}]`,
  ]
  for (const body of endings) {
    const answer = await shop.send('POST', path, body, { 'content-type': 'application/json' })
    t.match(answer, { status: 400, body: { type: 'malformed-body' } }, body.slice(-10))
  }
  t.equal(await countOf(shop), 0)
})

t.test(
  'long bodies of one account with the same keys in other orders do not deadlock',
  async (t) => {
    const shop = await service.newAccount(t)
    const deadlocks = async () =>
      Number(
        (
          await select(
            service.url,
            'select deadlocks from pg_stat_database where datname = current_database()',
          )
        )[0]?.deadlocks,
      )
    const before = await deadlocks()
    const feeds = Array.from({ length: 12 }, (_, feed) => {
      const body = longBody().map((row) => ({ ...row, revenue: `${feed}` }))
      return feed % 2 ? body.toReversed() : body
    })
    const short = Array.from({ length: 12 }, (_, feed) => [sale(last - feed), sale(feed)])
    const answers = await Promise.all([...feeds, ...short].map((body) => shop.post(path, body)))
    // With 12 long bodies at a time some may be told to come again; none is half written.
    for (const { status } of answers) t.ok([201, 503].includes(status), `${status}`)
    t.equal(await deadlocks(), before)
    t.equal(await countOf(shop), rows)
  },
)

t.test('rows of a long body that give a code two values of an attribute are named', async (t) => {
  const shop = await aShop(t, service, { codes: [], countries: ['UK', 'FR'] })
  const product = (index: number, more = {}) => ({
    code: `P${index}`.padEnd(60, '.'),
    country: 'UK',
    ...more,
  })
  const body = Array.from({ length: rows }, (_, index) => product(index, { description: 'b' }))
  const answer = await shop.post(
    products,
    body.with(last, product(0, { country: 'FR', description: 'c' }) as never),
  )
  t.match(answer, {
    status: 400,
    body: { errors: [{ pointer: `/${last}/description`, code: 'duplicate_row' }] },
  })
  const { status, body: result } = await shop.post(products, body)
  t.match(
    { status, created: result.created.length, updated: result.updated },
    { status: 200, created: rows, updated: { length: 0 } },
  )
  const again = await shop.post(products, body.toReversed())
  t.strictSame(
    again.body,
    { created: [], updated: result.created.toReversed() },
    'ids in payload order',
  )
})
