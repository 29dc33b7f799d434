import type { Client } from 'openapi-fetch'
import { atOnce, data, planned, present } from '../first-day.ts'
import type { paths } from '../generated/openapi-fetch.ts'
import {
  formula,
  includePosition,
  inFrance,
  name,
  newPrices,
  type SecondDay,
} from './second-day.ts'

type JsonTypes = 'application/json' | 'application/merge-patch+json' | 'application/problem+json'

/** Plans, revisions and deletions with `openapi-typescript` and `openapi-fetch`. */
export async function secondDay(shop: Client<paths, JsonTypes>): Promise<SecondDay> {
  const lists = data(await shop.GET('/api/v1/price_list/', { params: { query: { name } } }))
  const path = { id: present(lists.results[0]).id }
  const params = { query: { plan: 'true' as const } }
  const plan = planned(
    data(await shop.POST('/api/v1/prices/bulk_update_prices/', { params, body: newPrices })),
  )
  const apply = { params: { path: { id: plan.id } }, body: { skip: ['stale' as const] } }
  const applied = data(await shop.POST('/api/v1/plans/{id}/apply/', apply))
  const { results: revisions } = data(
    await shop.GET('/api/v1/price_list/{id}/revisions/', { params: { path, query: { limit: 2 } } }),
  )
  const { revision } = present(revisions[0])
  const query = { from: String(revision - 1), to: String(revision) }
  const difference = data(
    await shop.GET('/api/v1/price_list/{id}/diff/', { params: { path, query } }),
  )
  const reverted = data(
    await shop.POST('/api/v1/price_list/{id}/revert/', { params: { path }, body: { revision } }),
  )
  const repriced = planned(data(await shop.POST('/api/v1/prices/reprice/', { body: formula })))
  await shop.DELETE('/api/v1/plans/{id}/', { params: { path: { id: repriced.id } } })
  const position = data(await shop.POST('/api/v1/prices/get_prices/', { body: includePosition }))
  const sales = data(await shop.POST('/api/v1/sales_history/bulk_delete/', { body: ['1', '2'] }))
  const removed = data(await shop.POST('/api/v1/prices/bulk_remove_products/', { body: inFrance }))
  if (!Array.isArray(applied)) throw new Error('ids were expected')
  return {
    planned: plan.summary,
    applied,
    kinds: revisions.map(({ kind }) => kind),
    difference: difference.results,
    reverted: atOnce(reverted),
    repriced: repriced.summary,
    position,
    sales,
    removed: atOnce(removed),
  }
}
