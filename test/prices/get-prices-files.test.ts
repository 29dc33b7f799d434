import { parse } from 'csv-parse/sync'
import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShop, aShopOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/get_prices/'
const service = await startTestService(t)
const codes = Array.from({ length: 2100 }, (_, index) => `=${index},"]`)

t.test('prices are answered as CSV or NDJSON with the same rows as in JSON', async (t) => {
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, {})
  await addProducts(
    shop,
    'list',
    codes.map((code) => ({ code, country: 'UK' })),
  )
  await setPrices(shop, 'list', [{ code: codes[0], country: 'UK', price: 2.5 }])
  const promotion = {
    name: 'P',
    kind: 'amount',
    value: 1,
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
  }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [promotion])
  const payloads = [
    [{ code: codes[0] }, { code: codes[1], promotion: 'P' }],
    [{}],
    [{ code: 'absent' }],
    [],
  ]
  for (const payload of payloads) {
    const body = {
      price_list_name: 'list',
      promotion_date: '2026-11-27',
      payload,
      include: ['base_price', 'dynamic_attributes'],
    }
    const { body: rows } = await shop.post(path, body)
    const csv = await shop.send('POST', path, body, { accept: 'text/csv' })
    const ndjson = await shop.send('POST', path, body, { accept: 'application/x-ndjson' })
    t.strictSame([csv.status, ndjson.status], [201, 201])
    const lines = ndjson.body.split('\n').slice(0, -1)
    t.strictSame(
      lines.map((line: string) => JSON.parse(line)),
      rows,
    )
    const records: Record<string, string>[] = parse(csv.body, { columns: true })
    t.strictSame(
      records.map((record) => [
        record.code,
        record.promotion ?? '',
        record.active_price,
        record.promotions,
      ]),
      rows.map((row: Record<string, unknown>) => [
        `'${row.code}`,
        row.promotion ?? '',
        String(row.active_price),
        JSON.stringify(row.promotions),
      ]),
    )
  }
})

t.test(
  'a file has the margin at the price in force, an empty cell where there is none',
  async (t) => {
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    const [first = '', second = ''] = codes
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [
      { code: first, country: 'UK', purchase: 1, freight: 0 },
    ])
    await aList(shop, { name: 'L' })
    await addProducts(
      shop,
      'L',
      codes.map((code) => ({ code, country: 'UK' })),
    )
    await setPrices(shop, 'L', [{ code: first, country: 'UK', price: 4 }])
    await shop.post('/api/v1/promotions/bulk_create_or_update/', [
      { name: 'P', kind: 'amount', value: 2, valid_from: '2026-11-27', valid_to: '2026-11-27' },
    ])
    for (const payload of [[{ code: first }, { code: second }], [{}]]) {
      const body = {
        price_list_name: 'L',
        promotion_date: '2026-11-27',
        payload,
        include: ['active_margin', 'margin'],
      }
      const csv = await shop.send('POST', path, body, { accept: 'text/csv' })
      const records: Record<string, string>[] = parse(csv.body, { columns: true })
      t.strictSame(
        [first, second].map((code) => {
          const record = records.find((one) => one.code === `'${code}`)
          return [record?.active_price, record?.margin, record?.active_margin]
        }),
        [
          ['2', '75', '50'],
          ['0', '', ''],
        ],
      )
      const ndjson = await shop.send('POST', path, body, { accept: 'application/x-ndjson' })
      const lines = ndjson.body.split('\n').slice(0, -1)
      t.match(JSON.parse(lines.find((line: string) => line.includes(JSON.stringify(first)))), {
        margin: 75,
        active_margin: 50,
      })
    }
  },
)

t.test('a file of no rows has its header, however large the list is', async (t) => {
  const products = Array.from({ length: 2100 }, (_, index) => ({ code: `P${index}`, size: 1 }))
  const schema = { extensions: [{ name: 'size', type: 'integer' }] }
  const shop = await aShopOf(t, service, schema, products)
  for (const rows of [3, 2100]) {
    const name = `of ${rows} rows`
    await aList(shop, { name })
    await addProducts(shop, name, products.slice(0, rows))
    const body = { price_list_name: name, payload: [{ size: 2 }] }
    const answer = await shop.send('POST', path, body, { accept: 'text/csv' })
    t.strictSame([answer.status, answer.body], [201, 'size\r\n'], name)
  }
})

t.test('what is wrong with a read is a problem, whatever is accepted', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const body = { price_list_name: 'list', payload: [] }
  const answer = await shop.send('POST', path, body, { accept: 'text/csv' })
  t.match(answer, { status: 404, body: { type: 'price-list-not-found' } })
})
