import fc from 'fast-check'
import { rounded } from '../../../helpers/formula.ts'
import { chance, oneOf, someOf } from '../draw.ts'
import type { Model, PriceList, Promotion, Revision, Row } from '../model.ts'
import type { Value } from '../values.ts'
import { compareTexts, expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { anyKey } from './catalog.ts'
import { allows } from './filters.ts'
import { compareKeys } from './orders.ts'
import { millionths } from './price-lists.ts'
import { promotionDay } from './promotions.ts'
import { newest } from './revisions.ts'
import { costsOf, priceOf, published, someDay, withRows } from './rows.ts'

/** An input row and the rows of the list that it means. */
interface Wanted {
  row: Record<string, unknown>
  code: string | undefined
  extensions: Record<string, Value>
  attributes: Record<string, Value>
  dimension: string
  date: string | undefined
  promotion: string | undefined
}

function wantedRow(world: World, list: PriceList): Wanted {
  const { draw, model } = world
  const key =
    chance(draw, 70) && list.rows.size > 0 ? oneOf(draw, [...list.rows.values()]) : anyKey(world)
  const isNamed = chance(draw, 70)
  const extensions = Object.fromEntries(someOf(draw, Object.entries(key.extensions)))
  const attributes = isNamed && chance(draw, 80) ? {} : someAttributes(world, key.code)
  const nested = chance(draw, 20)
  const dimension = oneOf(draw, list.dimensions)
  const date = someDay(draw, list)
  const promotion =
    chance(draw, 15) && model.promotions.size > 0
      ? oneOf(draw, [...model.promotions.keys()])
      : undefined
  const row = {
    ...(isNamed && { code: key.code }),
    ...(nested ? { extensions } : extensions),
    ...(nested ? { attributes } : attributes),
    ...((list.dimensions.length > 1 || chance(draw, 30)) && { price_dimension: dimension }),
    ...(date !== undefined && { date }),
    ...(promotion !== undefined && { promotion }),
  }
  const code = isNamed ? key.code : undefined
  return { row, code, extensions, attributes, dimension, date, promotion }
}

function someAttributes({ draw, model }: World, code: string): Record<string, Value> {
  const held = [...(model.attributes.get(code) ?? [])]
  return Object.fromEntries(someOf(draw, held, 0, 1))
}

function isWanted(model: Model, { code, extensions, attributes }: Wanted, row: Row): boolean {
  if (code !== undefined && row.code !== code) return false
  const filters = { ...extensions, ...(code === undefined && attributes) }
  return allows(
    model,
    Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, [value]])),
    row,
  )
}

/** The promoted price, computed in another way than the service does. */
export function promoted({ kind, value }: Promotion, price: number, decimals: number): number {
  if (kind === 'fixed_price') return rounded([millionths(value), 1_000_000n], decimals)
  const [amount, off] = [millionths(price), millionths(value)]
  if (kind === 'percentage')
    return rounded([amount * (100_000_000n - off), 100_000_000_000_000n], decimals)
  return amount > off ? rounded([amount - off, 1_000_000n], decimals) : 0
}

function covering(
  model: Model,
  list: PriceList,
  wanted: Wanted,
  row: Row,
  date: string,
): Promotion[] {
  return [...model.promotions.values()]
    .filter((one) => wanted.promotion === undefined || one.name === wanted.promotion)
    .filter((one) => one.valid_from <= date && date <= one.valid_to)
    .filter((one) => !one.price_lists || one.price_lists.includes(list.name))
    .filter((one) => !one.price_dimensions || one.price_dimensions.includes(wanted.dimension))
    .filter((one) => allows(model, one.product_filters ?? {}, row))
    .sort((a, b) => compareTexts(a.name, b.name))
}

function resultOf(
  model: Model,
  list: PriceList,
  wanted: Wanted,
  row: Row,
  date: string,
  include: string[],
) {
  const price = priceOf(row, wanted.dimension, wanted.date)
  const promotions = covering(model, list, wanted, row, date).map((one) => ({
    name: one.name,
    value: promoted(one, price, list.decimals),
  }))
  const active_price = Math.min(price, ...promotions.map(({ value }) => value))
  const extras: Record<string, unknown> = {
    base_price: price,
    priced: row.prices.get(wanted.dimension)?.has(wanted.date ?? '') ?? false,
    margin: list.margin(price, costsOf(model, row)),
    active_margin: list.margin(active_price, costsOf(model, row)),
    dynamic_attributes: row.dynamic,
  }
  return {
    ...wanted.row,
    code: row.code,
    ...row.extensions,
    price_list_name: list.name,
    price_list_id: list.id,
    extended_catalog_id: row.productId,
    pk: row.pk,
    active_price,
    promotions,
    ...Object.fromEntries(include.map((name) => [name, extras[name]])),
  }
}

const ofThePast = ['base_price', 'priced']
const ofToday = [...ofThePast, 'margin', 'active_margin', 'dynamic_attributes']

/** Reads a list as it was: rows, prices and promotions of a revision. */
function pastPlan(world: World, list: PriceList): Plan {
  const { draw, model } = world
  const as_of = draw(fc.integer({ min: 1, max: newest(list) }))
  const { rows, promotions } = list.revisions[as_of] as Revision
  const past = { ...world, model: { ...model, promotions } }
  const { payload: _, ...plan } = readPlan(past, { ...list, rows }, { as_of })
  return plan
}

function readPlan(
  world: World,
  list: PriceList,
  moment: { as_of?: number } = {},
): Plan & { payload: Record<string, unknown>[] } {
  const { draw, model } = world
  const wanted = Array.from({ length: draw(fc.integer({ min: 1, max: 3 })) }, () =>
    wantedRow(world, list),
  )
  const date = chance(draw, 80) ? promotionDay(world) : undefined
  const include = someOf(draw, moment.as_of === undefined ? ofToday : ofThePast)
  const payload = wanted.map(({ row }) => row)
  const named = chance(draw, 50) ? { price_list_id: list.id } : { price_list_name: list.name }
  const body = {
    ...named,
    ...moment,
    payload,
    ...(date && { promotion_date: date }),
    ...(include.length > 0 && { include }),
  }
  const check = ({ body: answer }: { body: unknown }) => {
    const at = date ?? new Date().toISOString().slice(0, 10)
    const expected = wanted.flatMap((one) =>
      [...list.rows.values()]
        .filter((row) => isWanted(model, one, row))
        .sort(compareKeys(model.columns.extensions))
        .map((row) => resultOf(model, list, one, row, at, include)),
    )
    expectEqual(answer, expected, `prices of ${list.name}`)
  }
  return {
    call: { method: 'POST', path: '/api/v1/prices/get_prices/', body },
    status: 201,
    check,
    payload,
  }
}

function faulty(world: World): Plan {
  const { draw, model, foreign } = world
  const unpublished = [...model.lists.values()].filter((list) => newest(list) === 0)
  const [draft] = unpublished
  if (draft && chance(draw, 40)) {
    const { payload: _, ...plan } = readPlan(world, draft)
    return { ...plan, status: 409, type: 'price-list-not-published' }
  }
  const { payload, ...plan } = readPlan(world, oneOf(draw, published(model)))
  if (chance(draw, 30)) {
    const body = { price_list_id: foreign.list.id, payload: [] }
    return { ...plan, call: { ...plan.call, body }, status: 404, type: 'price-list-not-found' }
  }
  const faults: [object, string, string][] = [
    [{ promotion: 'no such' }, 'promotion', 'unknown_promotion'],
    [{ price_dimension: 'no such' }, 'price_dimension', 'unknown_price_dimension'],
    [{ 'no/column': 1 }, 'no~1column', 'unknown_key'],
    [{ extensions: { 'no/column': 1 } }, 'extensions/no~1column', 'unknown_key'],
  ]
  const [change, field, code] = oneOf(draw, faults)
  Object.assign(payload[0] ?? {}, change)
  return { ...plan, status: 400, faults: [[`/payload/0/${field}`, code]] }
}

export const readOperations: FuzzOperation[] = [
  {
    id: 'getPrices',
    weight: 9,
    isReady: (model) => withRows(model).length > 0,
    valid: (world) => {
      const list = oneOf(world.draw, published(world.model))
      return chance(world.draw, 25) ? pastPlan(world, list) : readPlan(world, list)
    },
    faulty,
  },
]
