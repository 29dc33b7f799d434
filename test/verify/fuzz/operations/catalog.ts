import fc from 'fast-check'
import { chance, type Draw, oneOf, someOf } from '../draw.ts'
import type { Model, Product, ProductKey } from '../model.ts'
import { canonical, faultyValuesOf, money, type Value } from '../values.ts'
import {
  expectEqual,
  type FuzzOperation,
  Mismatch,
  type Plan,
  segment,
  type World,
} from '../world.ts'
import { ordered, someSearch } from './orders.ts'
import { pagePlan, somePlace } from './pages.ts'

/** The key of a product as a text. */
export function keyOf(model: Model, { code, extensions }: ProductKey): string {
  return JSON.stringify([code, ...textsOf(model, extensions)])
}

/** The extensions of a row as texts, in the order of the columns. */
export function textsOf(model: Model, extensions: Record<string, Value>): string[] {
  return model.columns.extensions.map(({ name }) => canonical(extensions[name] as Value))
}

/** A product in use, in the catalog or not. */
export function anyKey({ draw, model }: World): ProductKey {
  const extensions = model.columns.extensions.map(
    ({ name }) => [name, oneOf(draw, model.pools.get(name) ?? [])] as const,
  )
  return { code: oneOf(draw, model.codes), extensions: Object.fromEntries(extensions) }
}

/** Extensions beside the code, below `extensions`, or both. */
export function spreadKey(draw: Draw, { code, extensions }: ProductKey): Record<string, unknown> {
  const entries = Object.entries(extensions)
  if (entries.length === 0 || chance(draw, 70)) return { code, ...extensions }
  const nested = someOf(draw, entries, 1)
  const beside = entries.filter((entry) => !nested.includes(entry))
  return { code, ...Object.fromEntries(beside), extensions: Object.fromEntries(nested) }
}

function productRows(world: World): Record<string, unknown>[] {
  const { draw, model } = world
  const byCode = new Map<string, Record<string, Value>>()
  const rows = new Map<string, Record<string, unknown>>()
  return Array.from({ length: draw(fc.integer({ min: 1, max: 5 })) }, () => {
    const key = anyKey(world)
    const present = rows.get(keyOf(model, key))
    if (present) return { ...present }
    const attributes = byCode.get(key.code) ?? someAttributes(world)
    byCode.set(key.code, attributes)
    const costs = someOf(draw, model.columns.costs).map(({ name }) => [name, draw(money)])
    const given = Object.fromEntries(someOf(draw, Object.entries(attributes)))
    const active = chance(draw, 20) ? { active: chance(draw, 40) } : {}
    const row = {
      code: key.code,
      ...key.extensions,
      ...given,
      ...Object.fromEntries(costs),
      ...active,
    }
    rows.set(keyOf(model, key), row)
    return row
  })
}

function someAttributes({ draw, model }: World): Record<string, Value> {
  const chosen = someOf(draw, model.columns.attributes)
  return Object.fromEntries(
    chosen.map(({ name }) => [name, oneOf(draw, model.pools.get(name) ?? [])]),
  )
}

/** Loads valid rows into the model; returns the product of each new key. */
export function productPlan(body: Record<string, unknown>[]): Plan {
  return {
    call: { method: 'POST', path: '/api/v1/product_catalog/bulk_create_or_update/', body },
    status: 200,
    check: ({ body: answer }, { model }) => {
      const created = [...answer.created]
      const updated: number[] = []
      for (const [key, row] of uniqueByKey(model, body)) {
        const present = model.products.get(key)
        if (present) updated.push(present.id)
        putProduct(model, key, row, present?.id ?? created.shift())
      }
      expectEqual(answer.updated, updated, 'ids of updated products')
      expectEqual(created, [], 'ids of created products')
    },
  }
}

function uniqueByKey(model: Model, rows: Record<string, unknown>[]) {
  const unique = new Map<string, Record<string, unknown>>()
  for (const row of rows) {
    const key = keyOf(model, keyIn(model, row))
    if (!unique.has(key)) unique.set(key, row)
  }
  return unique
}

function keyIn(model: Model, row: Record<string, unknown>): ProductKey {
  const names = model.columns.extensions.map(({ name }) => name)
  const extensions = Object.fromEntries(names.map((name) => [name, row[name] as Value]))
  return { code: row.code as string, extensions }
}

function putProduct(model: Model, key: string, row: Record<string, unknown>, id: number): void {
  if ([...model.products.values()].some((other) => other.id === id && keyOf(model, other) !== key))
    throw new Mismatch(`product id ${id} is another product's`)
  const present = model.products.get(key)
  const { code, extensions } = keyIn(model, row)
  const costs = { ...present?.costs }
  for (const { name } of model.columns.costs)
    if (Object.hasOwn(row, name)) costs[name] = row[name] as number
  const active = (row.active as boolean | undefined) ?? present?.active ?? true
  model.products.set(key, { id, code, extensions, costs, active })
  const attributes = model.attributes.get(code) ?? new Map<string, Value>()
  for (const { name } of model.columns.attributes)
    if (Object.hasOwn(row, name)) attributes.set(name, row[name] as Value)
  model.attributes.set(code, attributes)
}

/** A product as it is read. */
function shown(model: Model, { id, code, extensions, costs, active }: Product): unknown {
  const attributes = Object.fromEntries(model.attributes.get(code) ?? [])
  return { extended_catalog_id: id, code, ...extensions, ...attributes, ...costs, active }
}

function faultyProducts(world: World): Plan {
  const { draw, model } = world
  const rows = [
    ...new Map(productRows(world).map((row) => [keyOf(model, keyIn(model, row)), row])).values(),
  ]
  const at = draw(fc.nat({ max: rows.length - 1 }))
  const row = rows[at] as Record<string, unknown>
  const columns = [...model.columns.attributes, ...model.columns.extensions]
  const faults: (() => [string, string])[] = [
    () => [
      Object.defineProperty(row, 'no~such/key', { value: 1, enumerable: true }) && 'no~0such~1key',
      'unknown_key',
    ],
    ...model.columns.extensions.map(({ name }) => (): [string, string] => {
      delete row[name]
      return [segment(name), 'required']
    }),
    ...columns.map(({ name, type }) => (): [string, string] => {
      const [value, code] = draw(faultyValuesOf[type])
      row[name] = value
      return [segment(name), code]
    }),
    ...model.columns.costs.map(({ name }) => (): [string, string] => {
      row[name] = -1
      return [segment(name), 'range']
    }),
  ]
  const [field, code] = oneOf(draw, faults)()
  return { ...productPlan(rows), status: 400, faults: [[`/${at}/${field}`, code]] }
}

const listProducts: FuzzOperation = {
  id: 'listProducts',
  weight: 4,
  valid: (world) => {
    const { draw, model } = world
    const code = chance(draw, 30) ? oneOf(draw, model.codes) : undefined
    const order = chance(draw, 30) ? oneOf(draw, ['code', '-code']) : undefined
    const { query, isFound } = someSearch(world)
    const found = [...model.products.values()]
      .filter((product) => code === undefined || product.code === code)
      .filter(isFound)
      .sort((a, b) => a.id - b.id)
    const all = order ? ordered(model, found, order) : found
    const { after, skipped } = somePlace(
      draw,
      all.map(({ id }) => id),
    )
    const rows = all.map((one) => shown(model, one))
    const parameters = { code, order, after, ...query }
    return pagePlan(draw, '/api/v1/product_catalog/', parameters, rows, undefined, skipped)
  },
}

export const productOperations: FuzzOperation[] = [
  {
    id: 'upsertProducts',
    weight: 6,
    valid: (world) => productPlan(productRows(world)),
    faulty: faultyProducts,
  },
  listProducts,
]
