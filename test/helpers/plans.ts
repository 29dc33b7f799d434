import type { Test } from 'tap'
import type { TestService } from './service.ts'
import { aFilledList, rowsOf, setPrices } from './shop.ts'
import { select } from './sql.ts'

export const uk = (code: string) => ({ code, country: 'UK' })
const updates = '/api/v1/prices/bulk_update_prices/'

/** A full second, in a month. */
export const inAMonth = () =>
  new Date(Math.ceil(Date.now() / 1000) * 1000 + 30 * 86_400_000).toISOString()

/** Makes scheduled plans due at once, the first of them first. */
export async function makeDue(url: string, ...ids: (number | string)[]): Promise<void> {
  const due = `now() - interval '1 second'`
  await select(url, `update plans set apply_at = ${due} where id = any($1)`, [ids])
  const id = `(data ->> 'plan')::bigint`
  const place = `array_position($1::bigint[], ${id})`
  const start = `${due} + ${place} * interval '1 ms'`
  const jobs = `update pgboss.job set start_after = ${start} where name = 'plan' and ${id} = any($1)`
  await select(url, jobs, [ids])
}

/** A list "L" with A at 10, B at 20 and C without a price, and how plans of prices are made and applied. */
export async function aPricedList(t: Test, service: TestService, overrides: object = {}) {
  const settings = { codes: ['A', 'B', 'C', 'D'], rows: ['A', 'B', 'C'].map(uk), ...overrides }
  const { shop, list } = await aFilledList(t, service, settings)
  await setPrices(shop, 'L', [
    { ...uk('A'), price: 10 },
    { ...uk('B'), price: 20 },
  ])
  const bodyOf = (prices: Record<string, number>) => ({
    price_list_name: 'L',
    payload: Object.entries(prices).map(([code, price]) => ({ ...uk(code), price })),
  })
  const update = (prices: Record<string, number>, headers: Record<string, string> = {}) =>
    shop.send('POST', updates, bodyOf(prices), headers)
  const plan = (prices: Record<string, number>, headers: Record<string, string> = {}) =>
    shop.send('POST', `${updates}?plan=true`, bodyOf(prices), headers)
  const apply = (id: number, body: object = {}, headers: Record<string, string> = {}) =>
    shop.send('POST', `/api/v1/plans/${id}/apply/`, body, headers)
  const setCosts = (costs: Record<string, number>) =>
    shop.post(
      '/api/v1/product_catalog/bulk_create_or_update/',
      Object.entries(costs).map(([code, purchase]) => ({ ...uk(code), purchase, freight: 0 })),
    )
  /** The published prices by code. */
  const pricesNow = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await rowsOf(shop, list)).map(({ code, prices }) => [code, Object.values(prices)[0]]),
    )
  return { shop, list, update, plan, apply, setCosts, pricesNow }
}
