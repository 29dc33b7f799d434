import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import cliProgress from 'cli-progress'
import closeWithGrace from 'close-with-grace'
import { createAccount } from '../accounts/create-account.ts'
import { createClient, isJob, type PricewellClient, type Schemas } from '../client/index.ts'
import { readConfig } from '../config.ts'
import { removeDataDir } from '../database/embedded/cluster.ts'
import { startService } from '../service.ts'
import { readShop, type Shop } from './online-retail.ts'

const listCountries = ['United Kingdom', 'Germany', 'France', 'EIRE']
const batchRows = 1000
const year = { valid_from: '2010-01-01', valid_to: '2010-12-31' }

const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-demo-'))
const config = readConfig({
  LOG_LEVEL: 'error',
  ...process.env,
  DATABASE_URL: undefined,
  DATA_DIR: dataDir,
})
console.log('Starting a service on a database that is thrown away at the end ...')
const { app, server, close } = await startService(config)
closeWithGrace({ delay: 25_000, logger: false }, async () => {
  await close()
  removeDataDir(dataDir)
})
const url = await app.listen({ port: config.port, host: config.host })
const user = await createAccount(server.url, {
  account: 'demo',
  email: `demo-${randomBytes(4).toString('hex')}@example.com`,
})
const { email, password } = user
const { data } = await createClient({ baseUrl: url }).POST('/login/', { body: { email, password } })
const client = createClient({ baseUrl: url, token: data.token })

const shop = readShop()
console.log(
  '\nOnline Retail, 1 to 7 December 2010 (Daqing Chen, UCI Machine Learning Repository, doi 10.24432/C5BW33, CC BY 4.0)',
)
console.table(
  Object.fromEntries([...shop.skipped].map(([reason, count]) => [reason, { rows: count }])),
)
await load(client, shop)
await showPrices(client)
console.log(`\nDocumentation and a console: ${url}/docs`)
console.log(
  `Authorize there with:\n\njwt ${data.token}\n\nCtrl-C stops the service and deletes its data.`,
)

/** Everything through the HTTP interface, as a feed would. */
async function load(client: PricewellClient, { products, prices, sales }: Shop): Promise<void> {
  await client.POST('/api/v1/product_catalog/schema/create_schema/', {
    body: {
      attributes: [{ name: 'description', type: 'string' }],
      extensions: [{ name: 'country', type: 'string' }],
    },
  })
  await client.POST('/api/v1/price_list/bulk_create/', {
    body: [
      {
        ...year,
        name: 'Main countries',
        price_dimensions: ['retail', 'wholesale'],
        product_filters: { country: listCountries },
      },
      { ...year, name: 'Everything' },
    ],
  })
  const inMain = <T extends Record<string, unknown>>(rows: T[]) =>
    rows.filter(({ country }) => listCountries.includes(String(country)))
  await inBatches('Catalog', products, (rows) =>
    client.POST('/api/v1/product_catalog/bulk_create_or_update/', { body: rows }),
  )
  await addProducts(client, 'Main countries', inMain(products))
  await addProducts(client, 'Everything', products)
  const mainPrices = inMain(prices).flatMap(({ code, country, retail, wholesale }) => [
    { code, country, price_dimension: 'retail', price: retail },
    { code, country, price_dimension: 'wholesale', price: wholesale },
  ])
  await inBatches('Prices, Main countries', mainPrices, (payload) =>
    updatePrices(client, 'Main countries', payload),
  )
  const allPrices = prices.map(({ code, country, retail }) => ({ code, country, price: retail }))
  await inBatches('Prices, Everything', allPrices, (payload) =>
    updatePrices(client, 'Everything', payload),
  )
  await inBatches('Sales', sales, (rows) =>
    client.POST('/api/v1/sales_history/bulk_create_or_update', { body: rows }),
  )
}

function updatePrices(
  client: PricewellClient,
  price_list_name: string,
  payload: Schemas['UpdatePricesRow'][],
): Promise<unknown> {
  return client.POST('/api/v1/prices/bulk_update_prices/', { body: { price_list_name, payload } })
}

/** Above 100 products the service answers a job; its progress is followed to the end. */
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

async function showPrices(client: PricewellClient): Promise<void> {
  const read = async (payload: Schemas['GetPricesRow'][]) => {
    const body = { price_list_name: 'Main countries', payload }
    return (await client.POST('/api/v1/prices/get_prices/', { body })).data
  }
  const exact = await read([
    { code: '22423', country: 'United Kingdom', price_dimension: 'retail' },
  ])
  const ofCode = await read([{ code: '22423', price_dimension: 'wholesale' }])
  const ofCountry = await read([{ country: 'EIRE', price_dimension: 'retail' }])
  show('One product in one country', exact)
  show('The same product in every country of the list', ofCode)
  show(`Everything sold in EIRE, the first 5 of ${ofCountry.length}`, ofCountry.slice(0, 5))
}

function show(title: string, rows: Record<string, unknown>[]): void {
  console.log(`\n${title}`)
  console.table(
    rows.map(({ code, country, price_dimension, active_price, pk }) => ({
      code,
      country,
      price_dimension,
      active_price,
      pk,
    })),
  )
}
