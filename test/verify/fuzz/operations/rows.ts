import fc from 'fast-check'
import { rounded } from '../../../helpers/formula.ts'
import { chance, type Draw, oneOf, someOf } from '../draw.ts'
import type { Model, PriceList, Product, Row } from '../model.ts'
import { dayAfter, money } from '../values.ts'
import { expectEqual, type FuzzOperation, Mismatch, type Plan, type World } from '../world.ts'
import { keyOf, spreadKey } from './catalog.ts'
import { allows } from './filters.ts'
import { asNdjson } from './ndjson.ts'
import { millionths } from './price-lists.ts'
import { type CellName, newest, publish, putPrice } from './revisions.ts'

export const published = (model: Model) =>
  [...model.lists.values()].filter((list) => newest(list) > 0)
export const withRows = (model: Model) => published(model).filter(({ rows }) => rows.size > 0)

/** The products that may be added to a list. */
export function candidates(model: Model, list: PriceList): Product[] {
  return [...model.products.values()].filter(
    (product) => product.active && allows(model, list.filters, product),
  )
}

/** Adds rows with the returned ids to a list and publishes it. */
export function takeAdded(model: Model, list: PriceList, products: Product[], ids: number[]): void {
  expectEqual(ids.length, products.length, `rows added to ${list.name}`)
  for (const [index, product] of products.entries()) {
    const key = keyOf(model, product)
    const present = list.rows.get(key)
    const pk = ids[index] as number
    if (present) expectEqual(pk, present.pk, `id of a row that was in ${list.name}`)
    else putRow(list, key, product, pk)
  }
  if (products.length > 0) publish(model, list)
}

/** A new row at price 0. */
export function putRow(
  list: PriceList,
  key: string,
  { id, code, extensions }: Product,
  pk: number,
): void {
  if ([...list.rows.values()].some((row) => row.pk === pk)) throw new Mismatch(`row id ${pk} twice`)
  const row: Row = { pk, productId: id, code, extensions, prices: new Map(), dynamic: {} }
  list.rows.set(key, row)
}

/** The price of a row; 0 if none was set. */
export function priceOf({ prices }: Row, dimension: string, date = ''): number {
  return prices.get(dimension)?.get(date) ?? 0
}

/** A day of a calendar list; undefined for other lists. */
export function someDay(draw: Draw, { isCalendar, validFrom }: PriceList): string | undefined {
  if (!isCalendar) return undefined
  const days = fc.oneof(fc.constantFrom(0, 1, 364), fc.nat({ max: 364 }))
  return dayAfter(validFrom, draw(days))
}

/** Adds these products, some twice. */
export function addPlan(world: World, list: PriceList, products: Product[]): Plan {
  const { draw } = world
  const repeated = products.length > 0 && chance(draw, 20) ? [products[0] as Product] : []
  const rows = [...products, ...repeated].map((product) => spreadKey(draw, product))
  const name = chance(draw, 70) ? { price_list_name: list.name } : { name: list.name }
  return {
    call: {
      method: 'POST',
      path: '/api/v1/prices/bulk_add_products/',
      body: { ...name, payload: rows },
    },
    status: 201,
    check: ({ body }, { model }) => takeAdded(model, list, products, body),
  }
}

function faultyAdd(world: World): Plan {
  const { draw, model } = world
  const list = oneOf(draw, [...model.lists.values()])
  const plan = addPlan(world, list, [])
  const payload = (plan.call.body as { payload: unknown[] }).payload
  const outside = [...model.products.values()].filter(
    (product) => !candidates(model, list).includes(product),
  )
  const product = chance(draw, 60) && outside.length > 0 ? oneOf(draw, outside) : undefined
  if (!product) {
    const [sample] = model.products.values()
    payload.push({ code: 'nobody has this', ...sample?.extensions })
    return { ...plan, status: 400, faults: [['/payload/0/code', 'unknown_product']] }
  }
  payload.push(spreadKey(draw, product))
  const code = product.active ? 'filtered_out' : 'inactive_product'
  return { ...plan, status: 400, faults: [['/payload/0/code', code]] }
}

/** The costs of a row's product. */
export function costsOf(model: Model, row: Row): Record<string, number> {
  return model.products.get(keyOf(model, row))?.costs ?? {}
}

export type PricesPlan = Plan & {
  payload: Record<string, unknown>[]
  cells: (CellName & { row: Row; price: number })[]
  isFile: boolean
}

export function setPricesPlan({ draw }: World, list: PriceList): PricesPlan {
  const rows = someOf(draw, [...list.rows.values()], 1, 4)
  const cells = rows.flatMap((row) =>
    someOf(draw, list.dimensions, 1).map((dimension) => ({
      row,
      dimension,
      price: withDecimals(draw(money), list.decimals),
      date: someDay(draw, list) ?? '',
      isNamed: list.dimensions.length > 1 || chance(draw, 30),
    })),
  )
  const payload = cells.map(({ row, dimension, date, price, isNamed }) => ({
    ...spreadKey(draw, row),
    ...(isNamed && { price_dimension: dimension }),
    price,
    ...(date !== '' && { date }),
  }))
  const isFile = chance(draw, 20)
  const ids = rows.map(({ pk }) => pk)
  const counts = { rows: payload.length, created: 0, updated: ids.length }
  const isSame = ({ row, dimension, price }: (typeof cells)[number]) =>
    row.prices.get(dimension)?.get('') === price
  const check = ({ body }: { body: unknown }, { model }: World) => {
    const changed = new Set(cells.filter((cell) => !isSame(cell)).map(({ row }) => row))
    const unchanged = list.isCalendar ? {} : { unchanged: rows.length - changed.size }
    expectEqual(body, isFile ? { ...counts, ...unchanged } : ids, 'priced rows')
    for (const { row, price, ...cell } of cells) putPrice(row, cell, price)
    publish(model, list)
  }
  const body = { price_list_name: list.name, payload }
  const path = '/api/v1/prices/bulk_update_prices/'
  const plan = { call: { method: 'POST', path, body }, status: 201, check }
  return { ...plan, payload, cells, isFile }
}

/** An amount cut off after some decimals. */
function withDecimals(amount: number, decimals: number): number {
  const unit = 10n ** BigInt(6 - decimals)
  return rounded([millionths(amount) / unit, 10n ** BigInt(decimals)])
}

/** A price with more decimals than a list has. */
const finerThan = ({ decimals }: PriceList): [object, string, string] => [
  { price: Number(`1e-${decimals + 1}`) },
  'price',
  'too_many_decimals',
]

/** Sets prices, sometimes by a file; `payload` may have been changed since it was planned. */
function sent(list: PriceList, plan: PricesPlan): Plan {
  const { payload, isFile, cells: _, ...json } = plan
  return isFile ? asNdjson(json, payload, { price_list_id: list.id }) : json
}

function faultyPrices(world: World): Plan {
  const { draw, model } = world
  const list = oneOf(draw, withRows(model))
  const plan = setPricesPlan(world, list)
  const { payload } = plan
  const at = draw(fc.nat({ max: payload.length - 1 }))
  const row = payload[at] as Record<string, unknown>
  const date = list.isCalendar
    ? draw(
        fc.constantFrom<[string | undefined, string]>(
          [dayAfter(list.validFrom, 365), 'date_outside_calendar'],
          [undefined, 'required'],
        ),
      )
    : (['2026-01-01', 'not_allowed'] as const)
  const changes: [object, string, string][] = [
    [{ code: 'nobody has this' }, 'code', 'row_not_in_list'],
    [{ price_dimension: 'no such' }, 'price_dimension', 'unknown_price_dimension'],
    [{ date: date[0] }, 'date', date[1]],
    ...(list.decimals < 6 ? [finerThan(list)] : []),
  ]
  const [change, field, code] = oneOf(draw, changes)
  Object.assign(row, change)
  return sent(list, { ...plan, status: 400, faults: [[`/payload/${at}/${field}`, code]] })
}

export const rowOperations: FuzzOperation[] = [
  {
    id: 'addProducts',
    weight: 6,
    isReady: ({ lists }) => lists.size > 0,
    valid: (world) => {
      const list = oneOf(world.draw, [...world.model.lists.values()])
      return addPlan(world, list, someOf(world.draw, candidates(world.model, list), 0, 6))
    },
    faulty: faultyAdd,
  },
  {
    id: 'updatePrices',
    weight: 7,
    isReady: (model) => withRows(model).length > 0,
    valid: (world) => {
      const list = oneOf(world.draw, withRows(world.model))
      return sent(list, setPricesPlan(world, list))
    },
    faulty: faultyPrices,
  },
]
