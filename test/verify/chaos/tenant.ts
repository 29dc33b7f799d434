import { setTimeout as sleep } from 'node:timers/promises'
import { type Arena, createAccount } from './arena.ts'
import { createClient, type Send } from './client.ts'
import { emptyLedger, type Ledger } from './ledger.ts'

/** An account under load and its ledger. */
export interface Tenant {
  account: number
  send: Send
  ledger: Ledger
}

/** Rows of the list "stable"; their prices are always set together. */
export const stableRows = 100
/** Products that jobs choose from. */
export const jobProductsMax = 3000

/** Codes of the initial products. */
export function codesFrom(count: number): { code: string; country: string }[] {
  return Array.from({ length: count }, (_, index) => ({ code: `P${index}`, country: 'UK' }))
}

/** Creates an account with a catalog and the published list "stable", every price 1. */
export async function createTenant(
  arena: Arena,
  url: () => string,
  products = jobProductsMax,
): Promise<Tenant> {
  const account = await createAccount(arena.databaseUrl)
  const onFault = (fault: string) => arena.faults.push(`account ${account}: ${fault}`)
  const token = await arena.token(account)
  const send = createClient({ url, token, outages: arena.outages, onFault })
  const post = async (path: string, body: unknown) => {
    if (!(await sendUntilDone({ send }, `/api/v1/${path}/`, body, path)))
      throw new Error(`${path} is not done`)
  }
  const columns = { extensions: [{ name: 'country', type: 'string' }] }
  await post('product_catalog/schema/create_schema', { ...columns, costs: [{ name: 'purchase' }] })
  await post('product_catalog/bulk_create_or_update', codesFrom(products))
  await post('price_list/bulk_create', [aList('stable')])
  const payload = codesFrom(stableRows)
  await post('prices/bulk_add_products', { name: 'stable', payload })
  const priced = payload.map((row) => ({ ...row, price: 1 }))
  await post('prices/bulk_update_prices', { price_list_name: 'stable', payload: priced })
  return { account, send, ledger: emptyLedger() }
}

/** A list of the initial products. */
export function aList(name: string): object {
  const product_filters = { country: ['UK'] }
  return { name, valid_from: '2026-01-01', valid_to: '2026-12-31', product_filters }
}

/** Repeats a request with its idempotency key until it gets a final answer; undefined after 60 s. */
export async function sendUntilDone(
  { send }: Pick<Tenant, 'send'>,
  path: string,
  body: unknown,
  key: string,
  headers: Record<string, string> = {},
): Promise<Awaited<ReturnType<Send>> | undefined> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const answer = await send('POST', path, body, { 'idempotency-key': key, ...headers })
    if (answer.status >= 200 && answer.status < 300) return answer
    await sleep(50)
  }
  return undefined
}
