import fc from 'fast-check'
import { chance, oneOf, someOf } from '../draw.ts'
import type { PriceList } from '../model.ts'
import { text } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { keyOf, spreadKey } from './catalog.ts'
import { withRows } from './rows.ts'

const names = ['shelf', 'a"b', 'constructor', 'prices', '😀']

/** Any JSON value, sometimes null; numbers that print alike everywhere. */
const value = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map((any): unknown => JSON.parse(JSON.stringify(any)))
  .filter((any) => !/\\u0000|__proto__|\\ud[89a-f]/i.test(JSON.stringify(any)))
  .filter((any) => Buffer.byteLength(JSON.stringify(any)) <= 4096)

interface Attribute {
  key: string
  name: string
  value: unknown
}

function attributesPlan(
  world: World,
  list: PriceList,
): Plan & { payload: Record<string, unknown>[] } {
  const { draw, model } = world
  const rows = someOf(draw, [...list.rows.values()], 1, 3)
  const given = rows.flatMap((row): Attribute[] => {
    const chosen = someOf(
      draw,
      [...names, draw(text)].filter((name) => name !== '__proto__'),
      1,
      2,
    )
    return [...new Set(chosen)].map((name) => ({
      key: keyOf(model, row),
      name,
      value: draw(value),
    }))
  })
  const payload = given.map(({ key, name, value }) => ({
    ...spreadKey(draw, list.rows.get(key) ?? { code: '', extensions: {} }),
    dynamic_attribute_name: name,
    dynamic_attribute_value: value,
  }))
  const check = ({ body }: { body: unknown }) => {
    expectEqual(
      body,
      rows.map(({ pk }) => pk),
      'ids of rows with attributes',
    )
    for (const { key, name, value } of given) {
      const held: Record<string, unknown> = list.rows.get(key)?.dynamic ?? {}
      if (value === null) delete held[name]
      else held[name] = value
    }
  }
  const named = chance(draw, 50) ? { price_list_id: list.id } : { price_list_name: list.name }
  const path = '/api/v1/prices/bulk_update_dynamic_attributes/'
  const call = { method: 'POST', path, body: { ...named, payload } }
  return { call, status: 201, check, payload }
}

function faulty(world: World): Plan {
  const { draw, model, foreign } = world
  const { payload, ...plan } = attributesPlan(world, oneOf(draw, withRows(model)))
  const at = draw(fc.nat({ max: payload.length - 1 }))
  const row = payload[at] as Record<string, unknown>
  const refused = (change: object, field: string, code: string) => () => {
    Object.assign(row, change)
    return { ...plan, status: 400, faults: [[`/payload/${at}/${field}`, code]] } as Plan
  }
  const other = { price_list_id: foreign.list.id, payload }
  const conflicting = {
    price_list_id: oneOf(draw, withRows(model)).id,
    price_list_name: 'no such list',
    payload,
  }
  return oneOf(draw, [
    refused({ code: 'nobody has this' }, 'code', 'row_not_in_list'),
    refused({ dynamic_attribute_name: '__proto__' }, 'dynamic_attribute_name', 'not_allowed'),
    refused({ dynamic_attribute_value: 'é'.repeat(2048) }, 'dynamic_attribute_value', 'length'),
    (): Plan => ({
      ...plan,
      call: { ...plan.call, body: other },
      status: 404,
      type: 'price-list-not-found',
    }),
    (): Plan => ({
      ...plan,
      call: { ...plan.call, body: conflicting },
      status: 400,
      faults: [['/price_list_id', 'conflicting_keys']],
    }),
  ])()
}

export const attributeOperations: FuzzOperation[] = [
  {
    id: 'updateDynamicAttributes',
    weight: 4,
    isReady: (model) => withRows(model).length > 0,
    valid: (world) => attributesPlan(world, oneOf(world.draw, withRows(world.model))),
    faulty,
  },
]
