import { atOnce, data, planned, present } from '../first-day.ts'
import * as api from '../generated/hey-api/index.ts'
import {
  formula,
  includePosition,
  inFrance,
  name,
  newPrices,
  type SecondDay,
} from './second-day.ts'

/** Plans, revisions and deletions with `@hey-api/openapi-ts`. */
export async function secondDay(): Promise<SecondDay> {
  const lists = data(await api.listPriceLists({ query: { name } }))
  const path = { id: present(lists.results[0]).id }
  const plan = planned(data(await api.updatePrices({ body: newPrices, query: { plan: 'true' } })))
  const applied = data(await api.applyPlan({ path: { id: plan.id }, body: { skip: ['stale'] } }))
  const { results: revisions } = data(await api.listRevisions({ path, query: { limit: 2 } }))
  const { revision } = present(revisions[0])
  const query = { from: String(revision - 1), to: String(revision) }
  const difference = data(await api.diffPriceList({ path, query }))
  const reverted = data(await api.revertPriceList({ path, body: { revision } }))
  const repriced = planned(data(await api.reprice({ body: formula })))
  await api.discardPlan({ path: { id: repriced.id } })
  const position = data(await api.getPrices({ body: includePosition }))
  const sales = data(await api.deleteSales({ body: ['1', '2'] }))
  const removed = data(await api.removeProducts({ body: inFrance }))
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
