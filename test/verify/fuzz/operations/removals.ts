import { chance, oneOf, someOf } from '../draw.ts'
import type { PriceList } from '../model.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { anyKey, keyOf, spreadKey } from './catalog.ts'
import { asNdjson } from './ndjson.ts'
import { newest, publish } from './revisions.ts'
import { published } from './rows.ts'

/** Takes some rows out of a list, and products that it may not have. */
function removePlan(world: World, list: PriceList): Plan {
  const { draw, model } = world
  const named = [...someOf(draw, [...list.rows.values()], 0, 3), anyKey(world)]
  const payload = named.map((key) => spreadKey(draw, key))
  const keys = [...new Set(named.map((key) => keyOf(model, key)))]
  const leaving = keys.filter((key) => list.rows.has(key))
  const ids = leaving.map((key) => list.rows.get(key)?.pk)
  const isFile = chance(draw, 20)
  const counts = { rows: payload.length, created: 0, updated: 0, removed: ids.length }
  const plan: Plan = {
    call: {
      method: 'POST',
      path: '/api/v1/prices/bulk_remove_products/',
      body: { price_list_name: list.name, payload },
    },
    status: 201,
    check: ({ body, headers }) => {
      expectEqual(body, isFile ? counts : ids, `rows that left ${list.name}`)
      for (const key of leaving) list.rows.delete(key)
      publish(model, list)
      expectEqual(headers['price-list-revision'], String(newest(list)), 'revision of the removal')
    },
  }
  return isFile ? asNdjson(plan, payload, { price_list_id: list.id }) : plan
}

function faulty(world: World): Plan {
  const { draw, model, foreign } = world
  const unpublished = [...model.lists.values()].filter((list) => newest(list) === 0)
  const [draft] = unpublished
  if (draft && chance(draw, 60))
    return { ...removePlan(world, draft), status: 409, type: 'price-list-not-published' }
  const absent = { name: foreign.list.name, id: foreign.list.id, rows: new Map() } as PriceList
  return { ...removePlan(world, absent), status: 404, type: 'price-list-not-found' }
}

export const removals: FuzzOperation[] = [
  {
    id: 'removeProducts',
    weight: 2,
    isReady: (model) => published(model).length > 0,
    valid: (world) => removePlan(world, oneOf(world.draw, published(world.model))),
    faulty,
  },
]
