import t from 'tap'
import { groupColumns } from '../../src/catalog/columns.ts'
import { KnownPricings, type Pricing } from '../../src/prices/read/pricing.ts'
import { compilePromotions } from '../../src/promotions/promoted-prices.ts'
import { startServiceOn, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, setPrices } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const service = await sharedService()
const day = '2026-11-27'
const nextDay = '2026-11-28'
const a = { code: 'A', country: 'UK' }

/** The database of the service, which another service does not drop. */
const sameDatabase = { name: '', serverUrl: '', url: service.url, drop: async () => undefined }

async function aPricedShop(test: Parameters<typeof aShop>[0]): Promise<TestAccount> {
  const shop = await aShop(test, service, { codes: ['A'], countries: ['UK'] })
  await publish(shop, 10)
  return shop
}

async function publish(shop: TestAccount, price: number): Promise<number> {
  const { id } = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [a])
  await setPrices(shop, 'L', [{ ...a, price }])
  return id
}

const send = (shop: TestAccount, row: object, request: object = {}) =>
  shop.post('/api/v1/prices/get_prices/', {
    price_list_name: 'L',
    promotion_date: day,
    payload: [row],
    ...request,
  })

/** The price in force of row A; read twice, so that the second read has everything at hand. */
async function price(shop: TestAccount): Promise<number> {
  await send(shop, a)
  const { body } = await send(shop, a)
  return body[0].active_price
}

async function promote(shop: TestAccount, value: number): Promise<number[]> {
  const promotion = { name: 'P', kind: 'amount', value, valid_from: day, valid_to: day }
  const path = '/api/v1/promotions/bulk_create_or_update/'
  return (await shop.post(path, [promotion])).body.created
}

t.test('a read sees each change of promotions at once', async (t) => {
  const shop = await aPricedShop(t)
  t.equal(await price(shop), 10)
  const [id] = await promote(shop, 1)
  t.equal(await price(shop), 9, 'made')
  await promote(shop, 2)
  t.equal(await price(shop), 8, 'changed')
  await shop.send('DELETE', `/api/v1/promotions/${id}`)
  t.equal(await price(shop), 10, 'deleted')
})

t.test('a read sees a promotion that another process makes', async (t) => {
  const shop = await aPricedShop(t)
  t.equal(await price(shop), 10)
  await select(
    service.url,
    `insert into promotions (account_id, name, kind, value, valid_from, valid_to)
     values (${shop.id}, 'P', 'amount', 3, '${day}', '${day}');
     update accounts set settings_version = settings_version + 1 where id = ${shop.id}`,
  )
  t.equal(await price(shop), 7)
})

t.test('a read sees the settings of a list that are changed in another process', async (t) => {
  const shop = await aPricedShop(t)
  const [{ price_list_id }] = (await send(shop, a)).body
  const other = await startServiceOn(t, sameDatabase)
  const patch = async (formula: string) => {
    const { statusCode } = await other.app.inject({
      method: 'PATCH',
      url: `/api/v1/price_list/${price_list_id}`,
      headers: { authorization: `jwt ${shop.token}` },
      payload: { margin_formula: formula },
    })
    t.equal(statusCode, 200)
  }
  const margin = async () => (await send(shop, a, { include: ['margin'] })).body[0].margin
  t.equal(await margin(), null)
  await patch('= Price')
  t.equal(await margin(), 10)
  await patch('= Price * 2')
  t.equal(await margin(), 20)
})

t.test('a read sees new prices and another list of the same name at once', async (t) => {
  const shop = await aPricedShop(t)
  t.equal(await price(shop), 10)
  await setPrices(shop, 'L', [{ ...a, price: 11 }])
  t.equal(await price(shop), 11)
  const [{ price_list_id }] = (await send(shop, a)).body
  await shop.send('DELETE', `/api/v1/price_list/${price_list_id}`)
  t.equal((await send(shop, a)).status, 404)
  t.equal((await send(shop, a, { price_list_name: undefined, price_list_id })).status, 404)
  const id = await publish(shop, 12)
  t.equal(await price(shop), 12)
  t.equal((await send(shop, a)).body[0].price_list_id, id)
})

t.test('so does every way to read', async (t) => {
  const { shop, id } = await aFilledList(t, service, { countries: ['UK', 'FR', 'DE', 'IT', 'ES'] })
  const all = ['UK', 'FR', 'DE', 'IT', 'ES'].map((country) => ({ code: 'A', country }))
  await setPrices(
    shop,
    'L',
    all.map((row) => ({ ...row, price: 10 })),
  )
  const read = async (payload: object[], request: object = {}) => {
    const body = { price_list_name: 'L', promotion_date: day, payload, ...request }
    const answer = await shop.post('/api/v1/prices/get_prices/', body)
    return answer.status === 201
      ? answer.body.map((row: { active_price: number }) => row.active_price)
      : answer.status
  }
  const ways = [
    () => read(all),
    () => read([{ code: 'A' }]),
    () => read([{ country: 'UK' }]),
    () => read([a], { include: ['margin'] }),
    () => read([]),
  ]
  for (const way of ways) {
    const [before] = [await way(), await way()]
    const [promotion] = await promote(shop, 1)
    t.strictSame(
      await way(),
      before.map(() => 9),
    )
    await shop.send('DELETE', `/api/v1/promotions/${promotion}`)
    t.strictSame(await way(), before)
  }
  await shop.send('DELETE', `/api/v1/price_list/${id}`)
  for (const way of ways.toReversed()) t.equal(await way(), 404)
})

t.test('a list that a failover has lost is forgotten when its id is given again', async (t) => {
  const price_dimensions = ['retail', 'wholesale']
  const { shop, id } = await aFilledList(t, service, { name: 'lost', price_dimensions })
  const wholesale = { ...a, price_dimension: 'wholesale' }
  const byId = { price_list_name: undefined, price_list_id: id }
  for (const request of [{ price_list_name: 'lost' }, byId])
    t.equal((await send(shop, wholesale, request)).status, 201)
  await select(service.url, `delete from price_lists where id = ${id}`)
  for (const table of ['list_revisions', 'list_changes'])
    await select(service.url, `delete from ${table} where price_list_id = ${id}`)
  await select(service.url, `alter table price_lists alter column id restart with ${id}`)
  t.equal((await aList(shop, { name: 'next' })).id, id)
  await addProducts(shop, 'next', [a])
  await setPrices(shop, 'next', [{ ...a, price: 7 }])
  t.equal((await send(shop, wholesale, { price_list_name: 'lost' })).status, 404)
  t.match((await send(shop, a, byId)).body, [{ price_list_name: 'next', active_price: 7 }])
})

t.test('a list whose publication a failover has lost is not published', async (t) => {
  const shop = await aPricedShop(t)
  t.equal(await price(shop), 10)
  await select(service.url, `update price_lists set version = 0 where account_id = ${shop.id}`)
  for (const payload of [[a], [{ code: 'A' }], []])
    t.match(await send(shop, a, { payload }), { status: 409, body: { type: /not-published/ } })
})

t.test('a promotion that does not exist is an error in every read', async (t) => {
  const shop = await aPricedShop(t)
  await promote(shop, 1)
  t.equal(await price(shop), 9)
  const { status, body } = await send(shop, { ...a, promotion: 'none' })
  t.match({ status, body }, { status: 400, body: { errors: [{ code: 'unknown_promotion' }] } })
})

/** A pricing with so many promotions, or with filters of so many codes: in a promotion, or in the list. */
async function pricing({ promotions = 1, codes = 0, listCodes = 0 }): Promise<Pricing> {
  const columns = groupColumns([])
  const codesOf = (count: number) => Array.from({ length: count }, (_, index) => `P${index}`)
  const rules = Array.from({ length: promotions }, (_, index) => ({
    name: `${index}`,
    kind: 'amount' as const,
    value: 1,
    price_dimensions: null,
    product_filters: codes > 0 ? { code: codesOf(codes) } : {},
  }))
  const list = { product_filters: { code: codesOf(listCodes) } }
  return {
    columns,
    promotions: await compilePromotions(rules, columns, 6),
    list,
  } as unknown as Pricing
}

t.test('pricings are bounded by the size of what they have, whatever it is', async (t) => {
  const most = { promotions: 150_000, codes: 600_000, listCodes: 600_000 }
  for (const [what, count] of Object.entries(most)) {
    const known = new KnownPricings()
    known.add('a', await pricing({ [what]: count / 2 }))
    known.add('b', await pricing({ [what]: count / 10 }))
    t.ok(known.find('a') && known.find('b'), `${what}: there is room`)
    known.add('c', await pricing({ [what]: count }))
    t.notOk(known.find('a') ?? known.find('b'), `${what}: there is none`)
    t.ok(known.find('c'))
  }
})

t.test('more than is kept makes room, and what comes then is kept again', async (t) => {
  const known = new KnownPricings()
  known.add('a', await pricing({ promotions: 100_000 }))
  known.add('b', await pricing({ promotions: 100_000 }))
  t.strictSame([known.find('a') !== undefined, known.find('b') !== undefined], [false, true])
  known.add('c', await pricing({ promotions: 50_000 }))
  known.add('c', await pricing({ promotions: 50_000 }))
  t.ok(known.find('b') && known.find('c'))
  known.add('d', await pricing({ promotions: 50_000 }))
  t.notOk(known.find('b') ?? known.find('c'), 'all of them count')
})

t.test('a read takes columns as soon as they are declared', async (t) => {
  const shop = await aPricedShop(t)
  t.equal(await price(shop), 10)
  t.equal((await send(shop, { ...a, season: 'winter' })).status, 400)
  await shop.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [
      { name: 'description', type: 'string' },
      { name: 'season', type: 'string' },
    ],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  })
  t.equal((await send(shop, { ...a, season: 'winter' })).status, 201)
})

t.test('what one account has is nothing to another with the same names', async (t) => {
  const shop = await aPricedShop(t)
  const other = await aPricedShop(t)
  await promote(other, 4)
  t.strictSame([await price(shop), await price(other), await price(shop)], [10, 6, 10])
})

t.test(
  'a read that begins as a day ends leaves the promotions of that day as they are',
  async (t) => {
    const shop = await aPricedShop(t)
    const promotions = [
      { name: 'last day', kind: 'amount', value: 1, valid_from: day, valid_to: day },
      { name: 'next day', kind: 'amount', value: 2, valid_from: nextDay, valid_to: nextDay },
    ]
    await shop.post('/api/v1/promotions/bulk_create_or_update/', promotions)
    const restore = atMidnight()
    const { body } = await send(shop, a, { promotion_date: undefined })
    restore()
    t.equal(body[0].active_price, 9)
    t.equal((await send(shop, a)).body[0].active_price, 9)
    t.equal((await send(shop, a, { promotion_date: nextDay })).body[0].active_price, 8)
  },
)

/** From the second look at the calendar on it is the next day. */
function atMidnight(): () => void {
  const { now } = Date
  let time = Date.parse(nextDay) - 1
  Date.now = () => (/calendar\.ts/.test(new Error().stack ?? '') ? time++ : now())
  return () => {
    Date.now = now
  }
}
