import {
  atOnce,
  data,
  type FirstDay,
  manyProducts,
  present,
  type Shop,
  until,
} from './first-day.ts'
import { client } from './generated/hey-api/client.gen.ts'
import * as api from './generated/hey-api/index.ts'
import { secondDay } from './second-day/hey-api.ts'

/** The first day's work with `@hey-api/openapi-ts`. */
export async function firstDay({ url, email, password }: Shop): Promise<FirstDay> {
  client.setConfig({ baseUrl: url })
  const { token } = data(await api.login({ body: { email, password } }))
  client.setConfig({ baseUrl: url, auth: `jwt ${token}` })

  const schema = data(
    await api.createCatalogSchema({
      body: {
        attributes: [{ name: 'description', type: 'string' }],
        extensions: [{ name: 'country', type: 'string' }],
        costs: [{ name: 'purchase' }],
      },
    }),
  )
  const products = atOnce(
    data(
      await api.upsertProducts({
        body: [
          { code: '85123A', country: 'United Kingdom', description: 'White heart', purchase: 1.1 },
          { code: '85123A', country: 'France', active: true },
        ],
      }),
    ),
  )
  const catalog = data(await api.listProducts({ query: { code: '85123A', limit: 10 } }))
  const list = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const lists = data(
    await api.createPriceLists({
      body: [{ ...list, name: 'Retail', price_dimensions: ['retail'], product_filters: {} }],
    }),
  )
  const name = 'Retail'
  const added = data(
    await api.addProducts({
      body: {
        price_list_name: name,
        payload: [
          { code: '85123A', country: 'United Kingdom' },
          { code: '85123A', extensions: { country: 'France' } },
        ],
      },
    }),
  )
  const row = { code: '85123A', country: 'United Kingdom' }
  const updated = atOnce(
    data(
      await api.updatePrices({
        body: {
          price_list_name: name,
          payload: [{ ...row, price_dimension: 'retail', price: 2.55 }],
        },
      }),
    ),
  )
  const refused = await api.updatePrices({
    body: { price_list_name: name, payload: [{ ...row, country: 'Spain', price: 1 }] },
  })
  const attributes = atOnce(
    data(
      await api.updateDynamicAttributes({
        body: {
          price_list_name: name,
          payload: [
            { ...row, dynamic_attribute_name: 'shelf', dynamic_attribute_value: { aisle: 4 } },
          ],
        },
      }),
    ),
  )
  const prices = data(
    await api.getPrices({
      body: {
        price_list_name: name,
        include: ['base_price', 'margin', 'dynamic_attributes'],
        payload: [{ code: '85123A' }],
      },
    }),
  )
  const upsertSales = () =>
    api.upsertSales({
      headers: { 'Idempotency-Key': 'sales-1' },
      body: [
        { transaction_id: '1', code: '85123A', extension: '', quantity: '6', revenue: '15.30' },
      ],
    })
  const sales = atOnce(data(await upsertSales()))
  const replayedSales = atOnce(data(await upsertSales()))
  const competitorSchema = data(
    await api.createCompetitorSchema({
      body: { attributes_config: ['code', 'country'], is_dated: false },
    }),
  )
  const competitors = atOnce(
    data(
      await api.upsertCompetitorPrices({
        body: [{ ...row, competitor_name: 'Lantern & Co', competitor_price: 2.39 }],
      }),
    ),
  )
  data(
    await api.upsertAgreements({
      body: [
        {
          name: 'Frame contract',
          client_code: '17850',
          price_list_code: name,
          price_line: { product_code: '85123A', attribute_2: 3 },
          prices: { retail: 2.35, wholesale: 1.9 },
        },
      ],
    }),
  )
  const found = data(await api.listAgreements({ query: { client_code: '17850' } }))
  const path = { id: present(found.results[0]).id }
  const { response } = await api.readAgreement({ path })
  const agreement = data(
    await api.updateAgreement({
      path,
      headers: { 'If-Match': response?.headers.get('etag') ?? '' },
      body: { prices: { retail: 2.2, wholesale: null } },
    }),
  )
  const promotions = atOnce(
    data(
      await api.upsertPromotions({
        body: [
          {
            name: 'Black Friday',
            kind: 'percentage',
            value: 20,
            valid_from: '2026-11-27',
            valid_to: '2026-11-30',
            price_lists: [name],
          },
        ],
      }),
    ),
  )
  const promoted = data(
    await api.getPrices({
      body: { price_list_name: name, promotion_date: '2026-11-27', payload: [row] },
    }),
  )
  const synced = data(await api.syncWithCatalog({ body: { price_list_name: name } }))
  data(await api.upsertProducts({ body: manyProducts }))
  const started = data(await api.syncWithCatalog({ body: { price_list_name: name } }))
  if ('status' in synced || !('status' in started)) throw new Error('job or not?')
  const job = await until(async () => {
    const state = data(await api.readJob({ path: { id: started.id } }))
    return state.status === 'progress' ? undefined : state
  })
  const result = present(job.result)
  return {
    letters: [...schema.attributes, ...schema.extensions, ...schema.costs].map((c) => c.letter),
    products,
    catalog: catalog.results,
    lists,
    added: atOnce(added),
    updated,
    attributes,
    prices,
    fault: {
      type: present(refused.error).type,
      faults: (present(refused.error).errors ?? []).map((e) => `${e.pointer} ${e.code}`),
    },
    sales,
    replayedSales,
    dimensions: competitorSchema.input.dimensions,
    competitors,
    agreement,
    promotions,
    promoted,
    sync: synced,
    job: {
      status: job.status,
      total: job.progress.total,
      added: 'added' in result && Array.isArray(result.added) ? result.added.length : -1,
    },
    secondDay: await secondDay(),
  }
}

/** Must not compile. */
export function refusedByTypes(): void {
  // @ts-expect-error a price is a number
  void api.updatePrices({ body: { price_list_name: 'L', payload: [{ code: 'A', price: '2' }] } })
  // @ts-expect-error the name of the list is required
  void api.updatePrices({ body: { payload: [] } })
  // @ts-expect-error no such kind of field
  void api.getPrices({ body: { include: ['cost'], payload: [] } })
}
