import createClient from 'openapi-fetch'
import {
  atOnce,
  data,
  type FirstDay,
  manyProducts,
  present,
  type Shop,
  until,
} from './first-day.ts'
import type { paths } from './generated/openapi-fetch.ts'
import { secondDay } from './second-day/openapi-fetch.ts'

/** Answers are JSON unless a file is asked for. */
type JsonTypes = 'application/json' | 'application/merge-patch+json' | 'application/problem+json'

/** The first day's work with `openapi-typescript` and `openapi-fetch`. */
export async function firstDay({ url, email, password }: Shop): Promise<FirstDay> {
  const open = createClient<paths, JsonTypes>({ baseUrl: url })
  const { token } = data(await open.POST('/login/', { body: { email, password } }))
  const shop = createClient<paths, JsonTypes>({
    baseUrl: url,
    headers: { Authorization: `jwt ${token}` },
  })

  const schema = data(
    await shop.POST('/api/v1/product_catalog/schema/create_schema/', {
      body: {
        attributes: [{ name: 'description', type: 'string' }],
        extensions: [{ name: 'country', type: 'string' }],
        costs: [{ name: 'purchase' }],
      },
    }),
  )
  const load = '/api/v1/product_catalog/bulk_create_or_update/'
  const products = atOnce(
    data(
      await shop.POST(load, {
        body: [
          { code: '85123A', country: 'United Kingdom', description: 'White heart', purchase: 1.1 },
          { code: '85123A', country: 'France', active: true },
        ],
      }),
    ),
  )
  const catalog = data(
    await shop.GET('/api/v1/product_catalog/', {
      params: { query: { code: '85123A', limit: 10 } },
    }),
  )
  const list = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const lists = data(
    await shop.POST('/api/v1/price_list/bulk_create/', {
      body: [{ ...list, name: 'Retail', price_dimensions: ['retail'], product_filters: {} }],
    }),
  )
  const name = 'Retail'
  const added = data(
    await shop.POST('/api/v1/prices/bulk_add_products/', {
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
      await shop.POST('/api/v1/prices/bulk_update_prices/', {
        body: {
          price_list_name: name,
          payload: [{ ...row, price_dimension: 'retail', price: 2.55 }],
        },
      }),
    ),
  )
  const refused = await shop.POST('/api/v1/prices/bulk_update_prices/', {
    body: { price_list_name: name, payload: [{ ...row, country: 'Spain', price: 1 }] },
  })
  const attributes = atOnce(
    data(
      await shop.POST('/api/v1/prices/bulk_update_dynamic_attributes/', {
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
    await shop.POST('/api/v1/prices/get_prices/', {
      body: {
        price_list_name: name,
        include: ['base_price', 'margin', 'dynamic_attributes'],
        payload: [{ code: '85123A' }],
      },
    }),
  )
  const upsertSales = () =>
    shop.POST('/api/v1/sales_history/bulk_create_or_update', {
      params: { header: { 'Idempotency-Key': 'sales-1' } },
      body: [
        { transaction_id: '1', code: '85123A', extension: '', quantity: '6', revenue: '15.30' },
      ],
    })
  const sales = atOnce(data(await upsertSales()))
  const replayedSales = atOnce(data(await upsertSales()))
  const competitorSchema = data(
    await shop.POST('/api/v1/competitor_prices/schema/create_schema/', {
      body: { attributes_config: ['code', 'country'], is_dated: false },
    }),
  )
  const competitors = atOnce(
    data(
      await shop.POST('/api/v1/competitor_prices/bulk_create_or_update/', {
        body: [{ ...row, competitor_name: 'Lantern & Co', competitor_price: 2.39 }],
      }),
    ),
  )
  data(
    await shop.POST('/api/v1/agreement/bulk_create_or_update', {
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
  const found = data(
    await shop.GET('/api/v1/agreement/', { params: { query: { client_code: '17850' } } }),
  )
  const path = { id: present(found.results[0]).id }
  const read = await shop.GET('/api/v1/agreement/{id}', { params: { path } })
  const agreement = data(
    await shop.PATCH('/api/v1/agreement/{id}', {
      params: { path, header: { 'If-Match': read.response.headers.get('etag') ?? '' } },
      body: { prices: { retail: 2.2, wholesale: null } },
    }),
  )
  const promotions = atOnce(
    data(
      await shop.POST('/api/v1/promotions/bulk_create_or_update/', {
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
    await shop.POST('/api/v1/prices/get_prices/', {
      body: { price_list_name: name, promotion_date: '2026-11-27', payload: [row] },
    }),
  )
  const sync = '/api/v1/prices/sync_with_catalog/'
  const synced = data(await shop.POST(sync, { body: { price_list_name: name } }))
  data(await shop.POST(load, { body: manyProducts }))
  const started = data(await shop.POST(sync, { body: { price_list_name: name } }))
  if ('status' in synced || !('status' in started)) throw new Error('job or not?')
  const job = await until(async () => {
    const params = { path: { id: started.id } }
    const state = data(await shop.GET('/api/v1/jobs/{id}/', { params }))
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
    secondDay: await secondDay(shop),
  }
}

/** Must not compile. */
export function refusedByTypes(shop: ReturnType<typeof createClient<paths, JsonTypes>>): void {
  // @ts-expect-error no such path
  void shop.POST('/api/v1/prices/', { body: {} })
  const path = '/api/v1/prices/bulk_update_prices/'
  // @ts-expect-error a price is a number
  void shop.POST(path, { body: { price_list_name: 'L', payload: [{ code: 'A', price: '2' }] } })
  // @ts-expect-error the name of the list is required
  void shop.POST(path, { body: { payload: [] } })
  // @ts-expect-error no such kind of field
  void shop.POST('/api/v1/prices/get_prices/', { body: { include: ['cost'], payload: [] } })
}
