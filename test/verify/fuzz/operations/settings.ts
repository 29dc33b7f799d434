import fc from 'fast-check'
import { chance, oneOf, someOf } from '../draw.ts'
import type { PriceList } from '../model.ts'
import { dayAfter, text } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan } from './pages.ts'
import { formulaFor, shown, someFilters, withoutTime } from './price-lists.ts'

/** Changes settings of a list; those that are `null` get their defaults, filters merge key by key. */
function patchPlan(world: World): Plan {
  const { draw, model } = world
  const list = oneOf(draw, [...model.lists.values()])
  const formula = chance(draw, 30) ? formulaFor(world) : undefined
  const decimals = chance(draw, 30) ? draw(fc.constantFrom(null, 0, 2, 4, 6)) : undefined
  const filters = chance(draw, 30) ? filtersPatch(world, list) : undefined
  const body = {
    ...(chance(draw, 30) && { description: draw(text) }),
    ...(chance(draw, 30) && { valid_to: dayAfter(list.validFrom, draw(fc.nat({ max: 700 }))) }),
    ...(formula && { margin_formula: formula.text ?? null }),
    ...(decimals !== undefined && { decimals }),
    ...(filters !== undefined && { product_filters: filters }),
  }
  const call = { method: 'PATCH', path: `/api/v1/price_list/${list.id}`, body }
  if ((decimals ?? 6) < list.decimals && decimals !== undefined)
    return { call, status: 409, type: 'decimals-in-use' }
  const check = ({ body: answer }: { body: Record<string, unknown> }) => {
    if (decimals !== undefined) list.decimals = decimals ?? 6
    if (filters !== undefined) list.filters = merged(list, filters)
    if (formula) list.margin = formula.margin
    Object.assign(list.settings, body, {
      decimals: list.decimals,
      product_filters: list.filters,
      ...(formula && { margin_formula: formula.shown }),
    })
    expectEqual(withoutTime(answer), shown(list), 'patched price list')
  }
  return { call, status: 200, check }
}

type FiltersPatch = Record<string, PriceList['filters'][string] | null> | null

function filtersPatch(world: World, { filters }: PriceList): FiltersPatch {
  if (chance(world.draw, 20)) return null
  const gone = someOf(world.draw, Object.keys(filters), 0, 1).map((name) => [name, null] as const)
  return { ...someFilters(world), ...Object.fromEntries(gone) }
}

function merged({ filters }: PriceList, patch: FiltersPatch): PriceList['filters'] {
  const all = Object.entries({ ...filters, ...patch })
  const kept = all.filter(
    (entry): entry is [string, PriceList['filters'][string]] => entry[1] !== null,
  )
  return patch === null ? {} : Object.fromEntries(kept)
}

export const settingsOperations: FuzzOperation[] = [
  {
    id: 'updatePriceList',
    weight: 3,
    isReady: ({ lists }) => lists.size > 0,
    valid: patchPlan,
    faulty: ({ draw, foreign }) => {
      const path = `/api/v1/price_list/${absentId(draw, foreign.list.id)}`
      const absent = absentPlan('PATCH', path, 'price-list-not-found')
      return { ...absent, call: { ...absent.call, body: {} } }
    },
  },
]
