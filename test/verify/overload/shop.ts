import { requestBytes } from '../../helpers/exchange.ts'
import { Connections, type Reply } from './connections.ts'
import type { Next } from './goodput.ts'
import { newSales } from './sales.ts'
import type { LoadedService } from './service.ts'

const rowsOfList = 1000
/** The background threshold. */
const addedAtOnce = 100

/** An account with a published list, and requests in its name. */
export interface Shop {
  token: string
  /** Reads the prices of this many rows. */
  read(rows: number): Buffer
  /** Writes this many new sales; `padding` makes each longer. */
  sales(rows: number, padding?: number): Next
}

/** Creates an account with a price list of a thousand products. */
export async function openShop(service: LoadedService): Promise<Shop> {
  const token = await service.newToken()
  const request = (path: string, body: unknown) =>
    requestBytes('POST', path, token, JSON.stringify(body))
  const connections = new Connections(service.port)
  const post = async (path: string, body: unknown) =>
    expectDone(await connections.send(request(path, body)), path)
  const products = Array.from({ length: rowsOfList }, (_, i) => ({ code: `P${i}`, country: 'FR' }))
  await post('/api/v1/product_catalog/schema/create_schema/', {
    extensions: [{ name: 'country', type: 'string' }],
  })
  await post('/api/v1/product_catalog/bulk_create_or_update/', products)
  await post('/api/v1/price_list/bulk_create/', [
    { name: 'R', valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  for (let from = 0; from < rowsOfList; from += addedAtOnce) {
    const payload = products.slice(from, from + addedAtOnce)
    await post('/api/v1/prices/bulk_add_products/', { price_list_name: 'R', payload })
  }
  connections.close()
  return {
    token,
    read: (rows) =>
      request('/api/v1/prices/get_prices/', {
        price_list_name: 'R',
        payload: products.slice(0, rows),
      }),
    sales: (rows, padding = 0) => newSales(request, rows, padding),
  }
}

function expectDone({ status }: Reply, path: string): void {
  if (status < 200 || status > 299) throw new Error(`${path} answered ${status}`)
}
