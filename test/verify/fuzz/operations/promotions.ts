import fc from 'fast-check'
import { chance, oneOf, someOf } from '../draw.ts'
import type { Promotion } from '../model.ts'
import { day, dayAfter, freshName, money, text } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'
import { someFilters } from './price-lists.ts'

type Input = Omit<Promotion, 'id'>

/** A day on which promotions are probably valid, or any. */
export function promotionDay({ draw, model }: World): string {
  const edges = [...model.promotions.values()].flatMap(({ valid_from, valid_to }) => [
    valid_from,
    valid_to,
  ])
  return chance(draw, 70) && edges.length > 0 ? oneOf(draw, edges) : draw(day)
}

function promotionInput(world: World): Input {
  const { draw, model } = world
  const names = [...model.promotions.keys()]
  const kind = oneOf(draw, ['percentage', 'amount', 'fixed_price'])
  const percentage = fc
    .integer({ min: 0, max: 100_000_000 })
    .map((millionth) => millionth / 1_000_000)
  const edge = draw(fc.oneof(fc.constant('2026-01-01'), day))
  const valid_from = edge < '9990' ? edge : '2024-02-29'
  const dimensions = [...model.lists.values()].flatMap((list) => list.dimensions)
  return {
    name: chance(draw, 30) && names.length > 0 ? oneOf(draw, names) : draw(freshName),
    kind,
    value:
      kind === 'percentage' ? draw(fc.oneof(percentage, fc.constantFrom(0, 100, 50))) : draw(money),
    valid_from,
    valid_to: dayAfter(valid_from, draw(fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 900 })))),
    ...(chance(draw, 30) && { price_lists: someOf(draw, [...model.lists.keys()], 1, 2) }),
    ...(chance(draw, 30) && { product_filters: someFilters(world) }),
    ...(chance(draw, 30) && {
      price_dimensions: [...new Set([...someOf(draw, dimensions, 1, 2), draw(text)])],
    }),
  }
}

function promotionsPlan(world: World): Plan & { rows: Input[] } {
  const inputs = Array.from({ length: world.draw(fc.integer({ min: 1, max: 3 })) }, () =>
    promotionInput(world),
  )
  const rows = [...new Map(inputs.map((input) => [input.name, input])).values()]
  return {
    call: { method: 'POST', path: '/api/v1/promotions/bulk_create_or_update/', body: rows },
    status: 200,
    rows,
    check: ({ body }, { model }) => {
      const known = rows.flatMap(({ name }) => model.promotions.get(name)?.id ?? [])
      expectEqual(body.updated, known, 'ids of updated promotions')
      const created = [...body.created]
      for (const row of rows) {
        const id = model.promotions.get(row.name)?.id ?? created.shift()
        model.promotions.set(row.name, { ...row, id })
      }
      expectEqual(created, [], 'ids of created promotions')
    },
  }
}

function faulty(world: World): Plan {
  const { draw } = world
  const { rows, ...plan } = promotionsPlan(world)
  const at = draw(fc.nat({ max: rows.length - 1 }))
  const row = rows[at] as Input
  const changes: [object, string, string][] = [
    [{ kind: 'percentage', value: 100.000001 }, 'value', 'range'],
    [{ valid_from: dayAfter(row.valid_to, 1) }, 'valid_to', 'range'],
    [{ price_lists: [world.foreign.list.name] }, 'price_lists/0', 'unknown_price_list'],
    [{ product_filters: { 'no~column': [1] } }, 'product_filters/no~0column', 'unknown_column'],
  ]
  const [change, field, code] = oneOf(draw, changes)
  Object.assign(row, change)
  return { ...plan, status: 400, faults: [[`/${at}/${field}`, code]] }
}

export const promotionOperations: FuzzOperation[] = [
  {
    id: 'upsertPromotions',
    weight: 4,
    isReady: ({ lists }) => lists.size > 0,
    valid: promotionsPlan,
    faulty,
  },
  {
    id: 'listPromotions',
    weight: 3,
    valid: (world) => {
      const { draw, model } = world
      const names = [...model.promotions.keys()]
      const name = chance(draw, 30) && names.length > 0 ? oneOf(draw, names) : undefined
      const valid_on = chance(draw, 40) ? promotionDay(world) : undefined
      const all = [...model.promotions.values()]
        .filter((one) => name === undefined || one.name === name)
        .filter((one) => !valid_on || (one.valid_from <= valid_on && valid_on <= one.valid_to))
        .sort((a, b) => a.id - b.id)
      return pagePlan(draw, '/api/v1/promotions/', { name, valid_on }, all)
    },
  },
  {
    id: 'deletePromotion',
    weight: 2,
    isReady: ({ promotions }) => promotions.size > 0,
    valid: ({ draw, model }) => {
      const { id, name } = oneOf(draw, [...model.promotions.values()])
      const check = () => void model.promotions.delete(name)
      return { call: { method: 'DELETE', path: `/api/v1/promotions/${id}` }, status: 204, check }
    },
    faulty: ({ draw, foreign }) =>
      absentPlan('DELETE', `/api/v1/promotions/${absentId(draw, foreign.promotion)}`),
  },
]
