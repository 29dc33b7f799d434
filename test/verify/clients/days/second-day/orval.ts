import { atOnce, planned, present, succeeded } from '../first-day.ts'
import * as api from '../generated/orval.ts'
import {
  formula,
  includePosition,
  inFrance,
  name,
  newPrices,
  type SecondDay,
} from './second-day.ts'

/** Plans, revisions and deletions with `orval` on `fetch`. */
export async function secondDay(headers: Record<string, string>): Promise<SecondDay> {
  const options = { headers }
  const lists = succeeded(await api.listPriceLists({ name }, options))
  const { id } = present(lists.results[0])
  const plan = planned(succeeded(await api.updatePrices(newPrices, { plan: 'true' }, options)))
  const applied = succeeded(await api.applyPlan(plan.id, { skip: ['stale'] }, options))
  const { results: revisions } = succeeded(await api.listRevisions(id, { limit: 2 }, options))
  const { revision } = present(revisions[0])
  const range = { from: String(revision - 1), to: String(revision) }
  const difference = succeeded(await api.diffPriceList(id, range, options))
  const reverted = succeeded(await api.revertPriceList(id, { revision }, {}, options))
  const repriced = planned(succeeded(await api.reprice(formula, options)))
  await api.discardPlan(repriced.id, options)
  const position = succeeded(await api.getPrices(includePosition, options))
  const sales = succeeded(await api.deleteSales(['1', '2'], options))
  const removed = succeeded(await api.removeProducts(inFrance, {}, options))
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
