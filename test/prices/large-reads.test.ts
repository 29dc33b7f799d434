import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/get_prices/'
const service = await sharedService()
const { port } = service.app.server.address() as AddressInfo
const day = '2026-11-27'
const rows = 2500

/** Texts that COPY or JSON escapes; the others are plain. */
const escaped = ['\\', '\\N', '\b', '\f', '\n', '\r', '\t', '\v', '"', '\\t']
const hostile = [...escaped, '\u0001', '😀', "'", '[]', ',']

const codeOf = (index: number) => `${hostile[index] ?? ''}P${String(index).padStart(5, '0')}`

/** A shop with a list L of all products, dynamic attributes on the hostile ones, and a promotion of one brand. */
async function aLargeShop(test: Test): Promise<TestAccount> {
  const products = Array.from({ length: rows }, (_, index) => ({
    code: codeOf(index),
    size: index % 7,
    new: index % 2 === 0,
    ...(index % 3 > 0 && { brand: hostile[index] ?? `B${index % 3}` }),
    ...(index % 5 > 0 && { purchase: 1.5 }),
  }))
  const schema = {
    attributes: [{ name: 'brand', type: 'string' }],
    extensions: [
      { name: 'size', type: 'integer' },
      { name: 'new', type: 'boolean' },
    ],
    costs: [{ name: 'purchase' }],
  }
  const shop = await aShopOf(test, service, schema, products)
  await aList(shop, { name: 'L', price_dimensions: ['web', 'shop'] })
  const keys = products.map(({ code, size, new: isNew }) => ({ code, size, new: isNew }))
  await addProducts(shop, 'L', keys)
  const dimensions = ['web', 'shop']
  await expectDone(
    shop.post('/api/v1/prices/bulk_update_prices/', {
      price_list_name: 'L',
      payload: keys.flatMap((key, index) =>
        dimensions.map((price_dimension, at) => ({
          ...key,
          price_dimension,
          price: index + at / 4,
        })),
      ),
    }),
  )
  await expectDone(
    shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
      price_list_name: 'L',
      payload: keys.slice(0, hostile.length).map((key, index) => ({
        ...key,
        dynamic_attribute_name: hostile[index],
        dynamic_attribute_value: { text: hostile[index], list: [1, null] },
      })),
    }),
  )
  const promotion = { name: 'P', kind: 'percentage', value: 50, valid_from: day, valid_to: day }
  const filtered = { ...promotion, product_filters: { brand: ['B1'] } }
  await expectDone(shop.post('/api/v1/promotions/bulk_create_or_update/', [filtered]))
  return shop
}

/** The head of an answer, whose rows are still on their way. */
function beginRead(shop: TestAccount, body: string): Promise<IncomingMessage> {
  const headers = { authorization: `jwt ${shop.token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method: 'POST', headers }, resolve)
    sent.on('error', reject).end(body)
  })
}

async function expectDone(response: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await response
  if (status >= 300) throw new Error(JSON.stringify(body))
}

t.test('a read of many rows says of each what a read of that row says', async (t) => {
  const shop = await aLargeShop(t)
  const include = ['base_price', 'margin', 'active_margin', 'dynamic_attributes']
  const requests = [
    { price_list_name: 'L' },
    { price_list_name: 'L', include },
    { price_list_name: 'L', promotion_date: day },
    { price_list_name: 'L', promotion_date: day, include },
    { price_list_name: 'L', promotion_date: day, include: ['active_margin'] },
  ]
  for (const body of requests) {
    const wild = [{ price_dimension: 'shop' }, { new: true, price_dimension: 'web' }]
    const large = await shop.post(path, { ...body, payload: wild })
    t.equal(large.body.length, rows + rows / 2)
    const payload = large.body.map(({ code, size, new: isNew, price_dimension }: never) => ({
      code,
      size,
      new: isNew,
      price_dimension,
    }))
    const exact = await shop.post(path, { ...body, payload })
    const sorted = (row: object) => Object.fromEntries(Object.entries(row).sort())
    t.strictSame(large.body.map(sorted), exact.body.map(sorted))
  }
})

t.test('a large read has the margin at the price in force of each row', async (t) => {
  const shop = await aLargeShop(t)
  const body = { price_list_name: 'L', promotion_date: day, include: ['active_margin', 'margin'] }
  const { body: found } = await shop.post(path, { ...body, payload: [{ price_dimension: 'web' }] })
  const at = (index: number) =>
    found.find(({ code }: { code: string }) => code === codeOf(index)) as Record<string, unknown>
  t.match(at(1004), { active_price: 1004, margin: 99.850598, active_margin: 99.850598 })
  t.match(at(1003), { active_price: 501.5, margin: 99.850449, active_margin: 99.700897 })
  t.match(at(1005), { margin: null, active_margin: null }, 'no cost')
})

t.test('rows of a large read stand in payload order, then by code and extensions', async (t) => {
  const shop = await aLargeShop(t)
  const payload = [{ price_dimension: 'web', size: 3 }, { price_dimension: 'shop' }]
  const { body } = await shop.post(path, { price_list_name: 'L', payload })
  const first = body.findIndex((row: { price_dimension: string }) => row.price_dimension === 'shop')
  t.equal(first, Math.ceil((rows - 3) / 7))
  const codes = body.slice(first).map(({ code }: { code: string }) => code)
  t.strictSame(
    codes,
    Array.from({ length: rows }, (_, index) => codeOf(index)).sort((x, y) =>
      Buffer.compare(Buffer.from(x), Buffer.from(y)),
    ),
  )
})

t.test('a read is large by the rows of its codes, and not by those of its list', async (t) => {
  const shop = await aLargeShop(t)
  const isWhole = async (payload: object[]) => {
    const { status, headers } = await shop.post(path, {
      price_list_name: 'L',
      payload: payload.map((row) => ({ price_dimension: 'web', ...row })),
    })
    t.equal(status, 201)
    return headers['content-length'] !== undefined
  }
  const codes = Array.from({ length: rows }, (_, index) => ({ code: codeOf(index) }))
  const keys = codes.map((code, index) => ({ ...code, size: index % 7, new: index % 2 === 0 }))
  t.ok(await isWhole(codes.slice(0, 1)))
  t.ok(await isWhole([...codes.slice(0, 1000), ...keys.slice(0, 1000)]))
  t.notOk(await isWhole([...codes.slice(0, 1001), ...keys.slice(0, 1000)]), 'sent as it is read')
  t.notOk(await isWhole([{ new: true }]))
})

t.test('a client that leaves in the middle frees what it held', async (t) => {
  const shop = await aLargeShop(t)
  // More answers than there are connections, each larger than what is buffered on the way.
  const payload = Array.from({ length: 20 }, () => ({ price_dimension: 'web' }))
  const body = JSON.stringify({ price_list_name: 'L', payload })
  for (let times = 0; times < 10; times++) {
    const response = await beginRead(shop, body)
    response.once('data', () => response.destroy())
    response.on('error', () => undefined)
    await new Promise((resolve) => response.once('close', resolve))
  }
  const { status, body: rest } = await shop.post(path, JSON.parse(body))
  t.equal(status, 201)
  t.equal(rest.length, 20 * rows)
})

t.test(
  'a large read of days, by attributes and nested extensions, says what small ones say',
  async (t) => {
    const keys = Array.from({ length: 2500 }, (_, index) => ({
      code: `P${10000 + index}`,
      size: index % 2,
    }))
    const products = keys.map((key, index) => ({ ...key, brand: `B${index % 10}` }))
    const schema = {
      attributes: [{ name: 'brand', type: 'string' }],
      extensions: [{ name: 'size', type: 'integer' }],
    }
    const shop = await aShopOf(t, service, schema, products)
    await aList(shop, { name: 'L', is_calendar: true })
    await addProducts(shop, 'L', keys)
    const days = ['2026-01-31', '2026-02-01']
    await setPrices(
      shop,
      'L',
      keys.flatMap((key, index) =>
        days.map((date, at) => ({ ...key, date, price: index * 10 + at })),
      ),
    )
    const read = async (payload: object[]) =>
      (await shop.post(path, { price_list_name: 'L', payload })).body.map(
        (row: Record<string, unknown>) => [row.code, row.size, row.date, row.active_price],
      )
    const priced = (date: string, at: number, isWanted: (index: number) => boolean) =>
      keys.flatMap(({ code, size }, index) =>
        isWanted(index) ? [[code, size, date, at < 0 ? 0 : index * 10 + at]] : [],
      )
    t.strictSame(
      await read([{ date: days[0] }]),
      priced('2026-01-31', 0, () => true),
    )
    t.strictSame(
      await read([
        { brand: 'B3', date: days[1] },
        { extensions: { size: 1 }, date: days[0] },
        { date: '2026-03-01' },
      ]),
      [
        ...priced('2026-02-01', 1, (index) => index % 10 === 3),
        ...priced('2026-01-31', 0, (index) => index % 2 === 1),
        ...priced('2026-03-01', -1, () => true),
      ],
    )
  },
)

/** A shop with a list L of the products A and B, and so many promotions with long names. */
async function aPromotedShop(test: Test, promoted: number): Promise<TestAccount> {
  const shop = await aShopOf(test, service, {}, [{ code: 'A' }, { code: 'B' }])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A' }, { code: 'B' }])
  const promotions = Array.from({ length: promoted }, (_, index) => ({
    name: `${index} ${'p'.repeat(230)}`,
    kind: 'percentage',
    value: 10,
    valid_from: day,
    valid_to: day,
  }))
  await expectDone(shop.post('/api/v1/promotions/bulk_create_or_update/', promotions))
  return shop
}

t.test('an answer that is too long to be held says the same in pieces', async (t) => {
  const shop = await aPromotedShop(t, 100)
  await setPrices(shop, 'L', [
    { code: 'A', price: 3 },
    { code: 'B', price: 4 },
  ])
  const read = async (payload: object[]) =>
    (await shop.post(path, { price_list_name: 'L', promotion_date: day, payload })).body
  const short = await read([{ code: 'A' }, { code: 'none' }, { code: 'B' }])
  t.equal(short.length, 2)
  const codes = Array.from({ length: 1350 }, () => [{ code: 'B' }, { code: 'none' }, { code: 'A' }])
  const long = await read(codes.flat())
  t.ok(JSON.stringify(long).length > 64_000_000, 'longer than what is held')
  t.equal(long.length, 2700)
  const expected = [short[1], short[0]]
  t.strictSame(
    long.filter((row: object, at: number) => !isDeepStrictEqual(row, expected[at % 2])),
    [],
  )
})

t.test('few rows that are too long to be held are sent while they are read', async (t) => {
  const shop = await aPromotedShop(t, 2000)
  for (const row of [{ code: 'A' }, {}]) {
    const payload = Array.from({ length: 300 }, () => row)
    const body = { price_list_name: 'L', promotion_date: day, payload }
    const response = await beginRead(shop, JSON.stringify(body))
    response.destroy()
    t.equal(response.statusCode, 201)
    t.equal(response.headers['content-length'], undefined)
  }
})
