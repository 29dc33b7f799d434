import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { aList, aShop } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_add_products/'
const service = await startTestService(t)

t.test(
  'adds rows at price 0, publishes the list, and answers the ids in payload order',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'FR'] })
    const list = await aList(shop, { name: 'L' })
    const payload = [
      { code: 'B', country: 'FR' },
      { code: 'A', extensions: { country: 'UK' } },
    ]
    const { status, body } = await shop.post(path, { price_list_name: 'L', payload })
    t.equal(status, 201)
    const rows = (await shop.get(`/api/v1/price_list/${list.id}/rows`)).body
    t.equal(rows.count, 2)
    t.strictSame(new Set(rows.results.map((row: { pk: number }) => row.pk)), new Set(body))
    t.strictSame(
      rows.results.find((row: { pk: number }) => row.pk === body[0]),
      {
        pk: body[0],
        extended_catalog_id: rows.results.find((row: { code: string }) => row.code === 'B')
          .extended_catalog_id,
        code: 'B',
        country: 'FR',
        prices: { price: 0 },
        margin: { price: null },
        dynamic_attributes: {},
      },
    )
  },
)

t.test(
  'above 100 products answers a job, which publishes all rows with the ids as its result',
  async (t) => {
    const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    const list = await aList(shop, { name: 'L' })
    const payload = codes.map((code) => ({ code, country: 'UK' }))
    const response = await shop.post(path, { name: 'L', payload })
    t.equal(response.status, 201)
    t.match(response.body, {
      status: 'progress',
      resource_type: 'published-price-list',
      progress: { total: 101, finished: 0, error: 0 },
    })
    t.equal(response.headers.location, `/api/v1/jobs/${response.body.id}/`)
    const job = await shop.finished(response.body)
    t.match(job, { status: 'done', progress: { total: 101, finished: 101, error: 0 }, errors: [] })
    const rows = (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=1000`)).body.results
    const pkOf = new Map(rows.map((row: { code: string; pk: number }) => [row.code, row.pk]))
    t.strictSame(
      job.result,
      codes.map((code) => pkOf.get(code)),
    )
  },
)
