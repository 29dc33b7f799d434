import { oneOf } from '../draw.ts'
import type { Model, PriceList } from '../model.ts'
import { compareTexts, expectEqual, type FuzzOperation, type Plan } from '../world.ts'
import { keyOf, textsOf } from './catalog.ts'
import { publish } from './revisions.ts'
import { candidates, putRow } from './rows.ts'

const byKey = (a: string[], b: string[]): number => {
  for (const [index, text] of a.entries()) {
    const order = compareTexts(text, b[index] ?? '')
    if (order !== 0) return order
  }
  return 0
}

/** Applies the result of a sync: the list follows the catalog and the filters. */
export function takeSynced(model: Model, list: PriceList, answer: Record<string, number[]>): void {
  const wanted = new Map(candidates(model, list).map((product) => [keyOf(model, product), product]))
  const sorted = [...new Set([...wanted.keys(), ...list.rows.keys()])]
    .map((key) => [key, wanted.get(key) ?? list.rows.get(key)] as const)
    .map(([key, one]) => [key, one ? [one.code, ...textsOf(model, one.extensions)] : []] as const)
    .sort(([, a], [, b]) => byKey(a, b))
    .map(([key]) => key)
  const idsOf = (keys: string[]) => keys.map((key) => list.rows.get(key)?.pk)
  const untouched = sorted.filter((key) => wanted.has(key) && list.rows.has(key))
  const removed = sorted.filter((key) => !wanted.has(key))
  const added = sorted.filter((key) => !list.rows.has(key))
  expectEqual(answer.untouched, idsOf(untouched), 'untouched rows')
  expectEqual(answer.removed, idsOf(removed), 'removed rows')
  expectEqual(answer.added?.length, added.length, 'number of added rows')
  for (const key of removed) list.rows.delete(key)
  for (const [index, key] of added.entries()) {
    const product = wanted.get(key)
    if (product) putRow(list, key, product, answer.added?.[index] ?? 0)
  }
  publish(model, list)
}

/** Syncs a list of at most 100 products. */
export function syncPlan(list: PriceList): Plan {
  return {
    call: {
      method: 'POST',
      path: '/api/v1/prices/sync_with_catalog/',
      body: { price_list_name: list.name },
    },
    status: 201,
    check: ({ body }, { model }) => takeSynced(model, list, body),
  }
}

/** Lists that follow the catalog. */
export const syncOperations: FuzzOperation[] = [
  {
    id: 'syncWithCatalog',
    weight: 4,
    isReady: ({ lists }) => lists.size > 0,
    valid: ({ draw, model }) => syncPlan(oneOf(draw, [...model.lists.values()])),
    faulty: ({ foreign }) => ({
      ...syncPlan({ name: foreign.list.name } as PriceList),
      status: 404,
      type: 'price-list-not-found',
    }),
  },
]
