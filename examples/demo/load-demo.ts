import cliProgress from 'cli-progress'
import { isJob, type PricewellClient, type Schemas } from '../../src/client/index.ts'
import {
  demoAgreements,
  demoCompetitorPrices,
  demoLists,
  demoPromotions,
  everything,
  mainCountries,
  rental,
  rentalPrices,
  retail,
} from './made-up.ts'
import type { Shop } from './online-retail.ts'

const batchRows = 1000

/** Loads the shop into an empty account, all of it over HTTP, as a feed would. */
export async function loadDemo(client: PricewellClient, shop: Shop): Promise<void> {
  const { products, prices, sales } = shop
  await client.POST('/api/v1/product_catalog/schema/create_schema/', {
    body: {
      attributes: [{ name: 'description', type: 'string' }],
      extensions: [{ name: 'country', type: 'string' }],
      costs: [{ name: 'purchase' }, { name: 'freight' }],
    },
  })
  await client.POST('/api/v1/price_list/bulk_create/', { body: demoLists })
  await inBatches('Catalog', products, (rows) =>
    client.POST('/api/v1/product_catalog/bulk_create_or_update/', { body: rows }),
  )
  await addProducts(client, retail, products.filter(isMain))
  await addProducts(client, everything, products)
  await client.POST('/api/v1/prices/sync_with_catalog/', { body: { price_list_name: rental } })
  const byColumn = prices.filter(isMain).flatMap(({ code, country, retail, wholesale }) => [
    { code, country, price_dimension: 'retail', price: retail },
    { code, country, price_dimension: 'wholesale', price: wholesale },
  ])
  const plain = prices.map(({ code, country, retail }) => ({ code, country, price: retail }))
  await updatePrices(client, retail, byColumn)
  await updatePrices(client, everything, plain)
  await updatePrices(client, rental, rentalPrices(prices))
  await inBatches('Sales', sales, (rows) =>
    client.POST('/api/v1/sales_history/bulk_create_or_update', { body: rows }),
  )
  await loadMarket(client, shop)
}

/** Changes some prices as two people would; one change is a mistake and is undone. Returns the id of the list. */
export async function changePrices(
  client: PricewellClient,
  colleague: PricewellClient,
  { prices }: Shop,
): Promise<number> {
  const { data } = await client.GET('/api/v1/price_list/', { params: { query: { name: retail } } })
  const id = data.results[0]?.id ?? 0
  const change = (by: PricewellClient, note: string, factor: number) => {
    const payload = prices
      .filter(isMain)
      .slice(-40)
      .map(({ code, country, retail: price }) => ({
        ...{ code, country, price_dimension: 'retail' },
        price: Math.round(price * factor * 100) / 100,
      }))
    return by.POST('/api/v1/prices/bulk_update_prices/', {
      params: { header: { 'Change-Note': note } },
      body: { price_list_name: retail, payload },
    })
  }
  await change(client, 'Freight is dearer', 1.04)
  const { response } = await change(colleague, 'Winter prices', 10.5)
  const mistake = Number(response.headers.get('price-list-revision'))
  await client.POST('/api/v1/price_list/{id}/revert/', {
    params: { path: { id }, header: { 'Change-Note': 'The comma was in the wrong place' } },
    body: { revision: mistake, on_conflict: 'reject', void: true },
  })
  await change(colleague, 'Winter prices', 1.05)
  return id
}

/** Plans prices a little below the cheapest competitor, for someone to review and apply. */
export async function planPrices(client: PricewellClient): Promise<void> {
  await client.POST('/api/v1/prices/reprice/', {
    params: { header: { 'Change-Note': 'Meet the cheapest competitor' } },
    body: {
      price_list_name: retail,
      price_dimensions: ['retail'],
      formula: '= ENDING(MAX(COMP_MIN * 0.99, COSTS / 0.8), 0.99)',
    },
  })
}

function isMain({ country }: Record<string, unknown>): boolean {
  return mainCountries.includes(String(country))
}

/** Loads competitor prices, agreements and promotions. */
async function loadMarket(client: PricewellClient, shop: Shop): Promise<void> {
  await client.POST('/api/v1/competitor_prices/schema/create_schema/', {
    body: {
      attributes_config: ['code', 'country'],
    },
  })
  await inBatches('Competitor prices', demoCompetitorPrices(shop), (rows) =>
    client.POST('/api/v1/competitor_prices/bulk_create_or_update/', { body: rows }),
  )
  // One call each, so that ids follow this order.
  for (const agreement of demoAgreements)
    await client.POST('/api/v1/agreement/bulk_create_or_update', { body: [agreement] })
  await client.POST('/api/v1/promotions/bulk_create_or_update/', { body: demoPromotions() })
}

function updatePrices(
  client: PricewellClient,
  list: string,
  rows: Schemas['UpdatePricesRow'][],
): Promise<void> {
  return inBatches(`Prices, ${list}`, rows, (payload) =>
    client.POST('/api/v1/prices/bulk_update_prices/', { body: { price_list_name: list, payload } }),
  )
}

/** Above 100 products the service returns a job, which is followed to its end. */
async function addProducts(
  client: PricewellClient,
  list: string,
  products: Shop['products'],
): Promise<void> {
  const payload = products.map(({ code, country }) => ({ code, country }))
  const { data: job } = await client.POST('/api/v1/prices/bulk_add_products/', {
    body: { price_list_name: list, payload },
  })
  if (!isJob(job)) return
  const bar = progressBar(`Job: products of ${list}`, job.progress.total)
  await client.waitForJob(job.id, { onProgress: ({ finished }) => bar.update(finished) })
  bar.stop()
}

async function inBatches<T>(
  label: string,
  rows: T[],
  send: (batch: T[]) => Promise<unknown>,
): Promise<void> {
  const bar = progressBar(label, rows.length)
  for (let from = 0; from < rows.length; from += batchRows) {
    const batch = rows.slice(from, from + batchRows)
    await send(batch)
    bar.increment(batch.length)
  }
  bar.stop()
}

function progressBar(label: string, total: number): cliProgress.SingleBar {
  const format = `${label.padEnd(32)} {bar} {value}/{total}`
  const bar = new cliProgress.SingleBar(
    { format, noTTYOutput: true, notTTYSchedule: 1000 },
    cliProgress.Presets.shades_classic,
  )
  bar.start(total, 0)
  return bar
}
