import {
  atOnce,
  type FirstDay,
  manyProducts,
  present,
  type Shop,
  succeeded,
  until,
} from './first-day.ts'
import * as api from './generated/orval.ts'
import { secondDay } from './second-day/orval.ts'

/** The first day's work with `orval` on `fetch`. */
export async function firstDay({ email, password }: Shop): Promise<FirstDay> {
  const { token } = succeeded(await api.login({ email, password }))
  const headers = { Authorization: `jwt ${token}` }

  const schema = succeeded(
    await api.createCatalogSchema(
      {
        attributes: [{ name: 'description', type: 'string' }],
        extensions: [{ name: 'country', type: 'string' }],
        costs: [{ name: 'purchase' }],
      },
      { headers },
    ),
  )
  const products = succeeded(
    await api.upsertProducts(
      [
        { code: '85123A', country: 'United Kingdom', description: 'White heart', purchase: 1.1 },
        { code: '85123A', country: 'France', active: true },
      ],
      { headers },
    ),
  )
  const catalog = succeeded(await api.listProducts({ code: '85123A', limit: 10 }, { headers }))
  const list = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
  const lists = succeeded(
    await api.createPriceLists(
      [{ ...list, name: 'Retail', price_dimensions: ['retail'], product_filters: {} }],
      { headers },
    ),
  )
  const name = 'Retail'
  const added = succeeded(
    await api.addProducts(
      {
        price_list_name: name,
        payload: [
          { code: '85123A', country: 'United Kingdom' },
          { code: '85123A', extensions: { country: 'France' } },
        ],
      },
      {},
      { headers },
    ),
  )
  const row = { code: '85123A', country: 'United Kingdom' }
  const updated = succeeded(
    await api.updatePrices(
      { price_list_name: name, payload: [{ ...row, price_dimension: 'retail', price: 2.55 }] },
      {},
      { headers },
    ),
  )
  const refused = await api.updatePrices(
    { price_list_name: name, payload: [{ ...row, country: 'Spain', price: 1 }] },
    {},
    { headers },
  )
  if (refused.status === 201) throw new Error('a bad row was taken')
  const problem = refused.data
  const attributes = succeeded(
    await api.updateDynamicAttributes(
      {
        price_list_name: name,
        payload: [
          { ...row, dynamic_attribute_name: 'shelf', dynamic_attribute_value: { aisle: 4 } },
        ],
      },
      { headers },
    ),
  )
  const prices = succeeded(
    await api.getPrices(
      {
        price_list_name: name,
        include: ['base_price', 'margin', 'dynamic_attributes'],
        payload: [{ code: '85123A' }],
      },
      { headers },
    ),
  )
  const upsertSales = () =>
    api.upsertSales(
      [{ transaction_id: '1', code: '85123A', extension: '', quantity: '6', revenue: '15.30' }],
      { headers: { ...headers, 'Idempotency-Key': 'sales-1' } },
    )
  const sales = succeeded(await upsertSales())
  const replayedSales = succeeded(await upsertSales())
  const competitorSchema = succeeded(
    await api.createCompetitorSchema(
      { attributes_config: ['code', 'country'], is_dated: false },
      { headers },
    ),
  )
  const competitors = succeeded(
    await api.upsertCompetitorPrices(
      [{ ...row, competitor_name: 'Lantern & Co', competitor_price: 2.39 }],
      {},
      { headers },
    ),
  )
  succeeded(
    await api.upsertAgreements(
      [
        {
          name: 'Frame contract',
          client_code: '17850',
          price_list_code: name,
          price_line: { product_code: '85123A', attribute_2: 3 },
          prices: { retail: 2.35, wholesale: 1.9 },
        },
      ],
      { headers },
    ),
  )
  const found = succeeded(await api.listAgreements({ client_code: '17850' }, { headers }))
  const { id } = present(found.results[0])
  const read = await api.readAgreement(id, { headers })
  const agreement = succeeded(
    await api.updateAgreement(
      id,
      { prices: { retail: 2.2, wholesale: null } },
      { headers: { ...headers, 'If-Match': read.headers.get('etag') ?? '' } },
    ),
  )
  const promotions = succeeded(
    await api.upsertPromotions(
      [
        {
          name: 'Black Friday',
          kind: 'percentage',
          value: 20,
          valid_from: '2026-11-27',
          valid_to: '2026-11-30',
          price_lists: [name],
        },
      ],
      {},
      { headers },
    ),
  )
  const promoted = succeeded(
    await api.getPrices(
      { price_list_name: name, promotion_date: '2026-11-27', payload: [row] },
      { headers },
    ),
  )
  const synced = succeeded(await api.syncWithCatalog({ price_list_name: name }, {}, { headers }))
  succeeded(await api.upsertProducts(manyProducts, { headers }))
  const started = succeeded(await api.syncWithCatalog({ price_list_name: name }, {}, { headers }))
  if ('status' in synced || !('status' in started)) throw new Error('job or not?')
  const job = await until(async () => {
    const state = succeeded(await api.readJob(started.id, { headers }))
    return state.status === 'progress' ? undefined : state
  })
  const result = present(job.result)
  return {
    letters: [...schema.attributes, ...schema.extensions, ...schema.costs].map((c) => c.letter),
    products: atOnce(products),
    catalog: catalog.results,
    lists,
    added: atOnce(added),
    updated: atOnce(updated),
    attributes,
    prices,
    fault: {
      type: problem.type,
      faults: (problem.errors ?? []).map((e) => `${e.pointer} ${e.code}`),
    },
    sales,
    replayedSales,
    dimensions: competitorSchema.input.dimensions,
    competitors: atOnce(competitors),
    agreement,
    promotions: atOnce(promotions),
    promoted,
    sync: synced,
    job: {
      status: job.status,
      total: job.progress.total,
      added: 'added' in result && Array.isArray(result.added) ? result.added.length : -1,
    },
    secondDay: await secondDay(headers),
  }
}

/** Must not compile. */
export function refusedByTypes(): void {
  // @ts-expect-error a price is a number
  void api.updatePrices({ price_list_name: 'L', payload: [{ code: 'A', price: '2' }] })
  // @ts-expect-error the name of the list is required
  void api.updatePrices({ payload: [] })
  // @ts-expect-error no such kind of field
  void api.getPrices({ include: ['cost'], payload: [] })
}
