import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../helpers/shop.ts'

const path = '/api/v1/prices/get_prices/'
const service = await startTestService(t, { READ_ROWS_MAX: '2500' })

t.test(
  'a read above its limit is refused, also where its rows are sent while they are read',
  async (t) => {
    const products = Array.from({ length: 2501 }, (_, index) => ({
      code: `P${index}`,
      first: index === 0,
    }))
    const schema = { extensions: [{ name: 'first', type: 'boolean' }] }
    const shop = await aShopOf(t, service, schema, products)
    await aList(shop, { name: 'L' })
    await addProducts(shop, 'L', products)
    const read = (payload: object[]) => shop.post(path, { price_list_name: 'L', payload })
    const codes = products.map(({ code }) => ({ code }))
    const others = { first: false }
    for (const allowed of [[others], codes.slice(1)])
      t.equal((await read(allowed)).body.length, 2500, 'the limit itself is allowed')
    const tooLarge: [size: number, payload: object[]][] = [
      [2501, [{}]],
      [2501, codes],
      [2501, [others, { first: true }]],
      [5000, [others, others]],
    ]
    for (const [size, payload] of tooLarge) {
      const { status, body } = await read(payload)
      t.strictSame([status, body.type], [400, 'result-too-large'])
      t.match(body.detail, `at most 2500 rows, this one to ${size}.`)
    }
  },
)

t.test('a large read has values of every type and both ids, each in its place', async (t) => {
  const products = Array.from({ length: 2100 }, (_, index) => ({
    code: `P${10_000 + index}`,
    text: '1',
    whole: -2,
    number: 0.5,
    yes: true,
    since: '2024-02-29',
  }))
  const types = {
    text: 'string',
    whole: 'integer',
    number: 'number',
    yes: 'boolean',
    since: 'date',
  }
  const extensions = Object.entries(types).map(([name, type]) => ({ name, type }))
  const shop = await aShopOf(t, service, { extensions }, products)
  await aList(shop, { name: 'other' })
  await addProducts(shop, 'other', products.slice(0, 1))
  const { id: price_list_id } = await aList(shop, { name: 'L' })
  const ids = await addProducts(shop, 'L', products)
  const { results } = (await shop.get('/api/v1/product_catalog/?limit=1')).body
  const [{ active: _, ...first }] = results
  t.not(first.extended_catalog_id, ids[0], 'which is not the id of the product')
  const { body } = await shop.post(path, { price_list_name: 'L', payload: [{}] })
  t.strictSame(body[0], {
    ...first,
    price_list_name: 'L',
    price_list_id,
    pk: ids[0],
    active_price: 0,
    promotions: [],
  })
  t.strictSame(
    body.map(({ pk }: { pk: number }) => pk),
    ids,
  )
})
