import fc from 'fast-check'
import { hostileTexts } from '../../../helpers/hostile.ts'
import { chance, type Draw, oneOf, someOf } from '../draw.ts'
import type { Column, Columns, Model } from '../model.ts'
import { type ColumnType, canonical, freshName, type Value, valuesOf } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'

type Schema = Record<'attributes' | 'extensions' | 'costs', Record<string, unknown>[]>
const kinds = ['attributes', 'extensions', 'costs'] as const
const types: ColumnType[] = ['string', 'integer', 'number', 'boolean', 'date']

/** Columns with hostile names for a new account; fills the values in use. */
export function firstSchema({ draw, model }: World): Plan {
  const names = someOf(draw, hostileTexts, 6, 6)
  const columns = (count: number) =>
    Array.from({ length: draw(fc.nat({ max: count })) }, () =>
      newColumn(draw, model, names.pop() ?? ''),
    )
  const extensions = columns(2)
  const costs = Array.from({ length: draw(fc.nat({ max: 2 })) }, () => ({ name: names.pop() }))
  return schemaPlan({ attributes: columns(2), extensions, costs: costs as { name: string }[] })
}

function newColumn(draw: Draw, model: Model, name: string): Record<string, unknown> {
  const type = oneOf(draw, types)
  const pool = draw(
    fc.uniqueArray(valuesOf[type], { minLength: 2, maxLength: 4, selector: canonical }),
  )
  model.pools.set(name, pool)
  return { name, type, ...(chance(draw, 20) && { values: pool }) }
}

function present({ attributes, extensions, costs }: Columns): Schema {
  const input = ({ letter: _, ...column }: Column) => column
  return {
    attributes: attributes.map(input),
    extensions: extensions.map(input),
    costs: costs.map(({ name }) => ({ name })),
  }
}

function schemaPlan(body: Schema): Plan {
  return {
    call: { method: 'POST', path: '/api/v1/product_catalog/schema/create_schema/', body },
    status: 201,
    check: ({ body: answer }, { model }) => {
      model.columns = lettered(model.columns, body)
      expectEqual(answer, model.columns, 'columns')
    },
  }
}

/** Present columns keep their letters; new ones get the next letters, in the order of the kinds. */
function lettered(before: Columns, body: Schema): Columns {
  let count = kinds.reduce((sum, kind) => sum + before[kind].length, 0)
  const letters = kinds.map((kind) =>
    body[kind].map((column, index) => {
      const known = before[kind][index]
      return known ?? { ...column, letter: 'BCDEFGHIJKLMNOPQRSTUVWXYZ'[count++] }
    }),
  )
  return Object.fromEntries(
    kinds.map((kind, index) => [kind, letters[index]]),
  ) as unknown as Columns
}

function appended({ draw, model }: World): Plan {
  const body = present(model.columns)
  if (chance(draw, 20) && body.attributes.length < 4)
    body.attributes.push(newColumn(draw, model, draw(freshName)))
  if (chance(draw, 20) && body.costs.length < 4) body.costs.push({ name: draw(freshName) })
  return schemaPlan(body)
}

function faulty({ draw, model }: World): Plan {
  const body = present(model.columns)
  const at = body.attributes.length
  const attribute = (name: string, values?: Value[]) =>
    body.attributes.push({ name, type: 'integer', ...(values && { values }) })
  const refused = (pointer: string, code: string): Plan => ({
    ...schemaPlan(body),
    status: 400,
    faults: [[pointer, code]],
  })
  const conflict = (): Plan => ({ ...schemaPlan(body), status: 409, type: 'schema-in-use' })
  const cases: (() => unknown)[] = [
    () =>
      attribute(oneOf(draw, ['code', 'price', 'margin', 'id'])) &&
      refused(`/attributes/${at}/name`, 'not_allowed'),
    () => attribute(draw(freshName), [1, 1.5]) && refused(`/attributes/${at}/values/1`, 'type'),
    () => body.extensions.push({ name: draw(freshName), type: 'string' }) && conflict(),
  ]
  const [first] = body.attributes
  if (first) {
    cases.push(
      () =>
        body.costs.push({ name: first.name }) &&
        refused(`/costs/${body.costs.length - 1}/name`, 'duplicate_row'),
    )
    cases.push(() => body.attributes.shift() && conflict())
    cases.push(
      () =>
        Object.assign(first, {
          type: first.type === 'date' ? 'boolean' : 'date',
          values: undefined,
        }) && conflict(),
    )
  }
  return oneOf(draw, cases)() as Plan
}

export const schemaOperations: FuzzOperation[] = [
  { id: 'createCatalogSchema', weight: 2, valid: appended, faulty },
  {
    id: 'readCatalogSchema',
    weight: 1,
    valid: () => ({
      call: { method: 'GET', path: '/api/v1/product_catalog/schema/' },
      status: 200,
      check: ({ body }, { model }) => expectEqual(body, model.columns, 'columns'),
    }),
  },
]
