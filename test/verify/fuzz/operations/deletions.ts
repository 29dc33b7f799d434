import { someOf } from '../draw.ts'
import type { Model } from '../model.ts'
import { freshName } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'

interface Deletion<Key> {
  id: FuzzOperation['id']
  path: string
  /** The keys that there are. */
  present: (model: Model) => Key[]
  /** A key that there is not. */
  absent: (world: World) => Key
  remove: (model: Model, keys: Key[]) => void
}

/** Deletes some rows, sometimes with a key that there is not; a key that stands twice is refused. */
function deletion<Key>({ id, path, present, absent, remove }: Deletion<Key>): FuzzOperation {
  const plan = (world: World): Plan & { call: { body: Key[] } } => {
    const keys = someOf(world.draw, present(world.model), 0, 3)
    const gone = someOf(world.draw, [absent(world)], keys.length === 0 ? 1 : 0)
    return {
      call: { method: 'POST', path: `/api/v1/${path}/bulk_delete/`, body: [...keys, ...gone] },
      status: 200,
      check: ({ body }, { model }) => {
        expectEqual(body, { deleted: keys.length, absent: gone.length }, `deleted from ${path}`)
        remove(model, keys)
      },
    }
  }
  const faulty = (world: World): Plan => {
    const { call, ...rest } = plan(world)
    const body = [...call.body, call.body[0]]
    const faults: Plan['faults'] = [[`/${body.length - 1}`, 'duplicate_row']]
    return { ...rest, call: { ...call, body }, status: 400, faults }
  }
  return { id, weight: 1, valid: plan, faulty }
}

const isHeld = ({ lists }: Model, id: number) =>
  [...lists.values()].some(({ rows }) => [...rows.values()].some((row) => row.productId === id))

/** The ids of products that no list holds; one stays, so that columns do, too. */
function freeProducts({ products, ...model }: Model): number[] {
  const [, ...others] = products.values()
  return others.map(({ id }) => id).filter((id) => !isHeld({ products, ...model }, id))
}

function removeProducts(model: Model, ids: number[]): void {
  for (const [key, { id }] of model.products) if (ids.includes(id)) model.products.delete(key)
  const codes = new Set([...model.products.values()].map(({ code }) => code))
  for (const code of model.attributes.keys()) if (!codes.has(code)) model.attributes.delete(code)
}

const products = deletion({
  id: 'deleteProducts',
  path: 'product_catalog',
  present: freeProducts,
  absent: () => 9007199254740991,
  remove: removeProducts,
})

/** Products, of which lists hold some. */
function heldProducts({ draw, model }: World): Plan | undefined {
  const ids = someOf(draw, [...model.products.values()], 1, 4).map(({ id }) => id)
  const faults = ids.flatMap((id, index): [string, string][] =>
    isHeld(model, id) ? [[`/${index}`, 'in_use']] : [],
  )
  if (faults.length === 0) return undefined
  const call = { method: 'POST', path: '/api/v1/product_catalog/bulk_delete/', body: ids }
  return { call, status: 409, type: 'product-in-use', faults }
}

export const deletions: FuzzOperation[] = [
  { ...products, faulty: (world) => heldProducts(world) ?? products.valid(world) },
  deletion({
    id: 'deleteSales',
    path: 'sales_history',
    present: ({ sales }) => [...sales.keys()],
    absent: ({ draw }) => draw(freshName),
    remove: ({ sales }, ids) => {
      for (const id of ids) sales.delete(id)
    },
  }),
  deletion({
    id: 'deletePromotions',
    path: 'promotions',
    present: ({ promotions }) => [...promotions.keys()],
    absent: ({ draw }) => draw(freshName),
    remove: ({ promotions }, names) => {
      for (const name of names) promotions.delete(name)
    },
  }),
  deletion({
    id: 'deleteCompetitorPrices',
    path: 'competitor_prices',
    present: ({ competitors }) => [...(competitors?.entries.keys() ?? [])],
    absent: () => '0'.repeat(64),
    remove: ({ competitors }, hashes) => {
      for (const hash of hashes) competitors?.entries.delete(hash)
    },
  }),
  deletion({
    id: 'deleteAgreements',
    path: 'agreement',
    present: ({ agreements }) => agreements.map(({ id }) => id),
    absent: ({ foreign }) => foreign.agreement,
    remove: (model, ids) => {
      model.agreements = model.agreements.filter(({ id }) => !ids.includes(id))
    },
  }),
]
