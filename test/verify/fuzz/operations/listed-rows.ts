import fc from 'fast-check'
import { chance, oneOf } from '../draw.ts'
import type { Model, PriceList, Row } from '../model.ts'
import type { FuzzOperation, Plan, World } from '../world.ts'
import { ordered, someSearch } from './orders.ts'
import { absentId, absentPlan, pagePlan, somePlace } from './pages.ts'
import { type CellName, newest, rowsAt, setPrice } from './revisions.ts'
import { costsOf, priceOf, someDay } from './rows.ts'

const orders = {
  draft: ['code', '-code'],
  past: ['code', '-code', 'price', '-price'],
  published: ['code', '-code', 'price', '-price', 'margin', '-margin'],
}

/** Key and prices of a row as a page of the list shows them. */
function shown(
  model: Model,
  list: PriceList,
  row: Row,
  kind: keyof typeof orders,
  date: string,
): unknown {
  const key = { pk: row.pk, extended_catalog_id: row.productId, code: row.code, ...row.extensions }
  if (kind === 'draft') return key
  const byDimension = list.dimensions.map((name) => [name, priceOf(row, name, date)] as const)
  const prices = Object.fromEntries(byDimension)
  if (kind === 'past') return { ...key, prices }
  const costs = costsOf(model, row)
  return {
    ...key,
    prices,
    margin: Object.fromEntries(
      byDimension.map(([name, price]) => [name, list.margin(price, costs)]),
    ),
    dynamic_attributes: row.dynamic,
  }
}

/** A page of the rows of a list, as they are or were, in an order and searched, or not. */
function listRowsPlan(world: World, list: PriceList): Plan {
  const { draw, model } = world
  const date = chance(draw, 70) ? someDay(draw, list) : undefined
  const isPast = newest(list) > 0 && chance(draw, 20)
  const kind = isPast ? 'past' : chance(draw, 20) ? 'draft' : 'published'
  const as_of = isPast ? draw(fc.integer({ min: 1, max: newest(list) })) : undefined
  const version = kind === 'draft' || (!isPast && chance(draw, 30)) ? kind : undefined
  const order = chance(draw, 40) ? oneOf(draw, orders[kind]) : undefined
  const named = order && !order.endsWith('code') && chance(draw, 50)
  const price_dimension = named ? oneOf(draw, list.dimensions) : undefined
  const at = list.isCalendar ? (date ?? list.validFrom) : ''
  const { query, isFound } = someSearch(world)
  const rows = as_of === undefined ? list.rows : rowsAt(list, as_of)
  const found = [...rows.values()].filter(isFound).sort((a, b) => a.pk - b.pk)
  const cell = { dimension: price_dimension ?? (list.dimensions[0] as string), date: at }
  const all = order ? ordered(model, found, order, orderingValue(model, list, order, cell)) : found
  const { after, skipped } = somePlace(
    draw,
    all.map(({ pk }) => pk),
  )
  const parameters = { version, date, as_of, order, price_dimension, after, ...query }
  const pages = all.map((row) => shown(model, list, row, kind, at))
  const path = `/api/v1/price_list/${list.id}/rows`
  return pagePlan(draw, path, parameters, pages, undefined, skipped)
}

/** What orders the rows, if their codes do not. */
function orderingValue(model: Model, list: PriceList, order: string, cell: CellName) {
  if (order.endsWith('price')) return (row: Row) => setPrice(row, cell)
  if (!order.endsWith('margin')) return undefined
  return (row: Row) => list.margin(setPrice(row, cell) ?? 0, costsOf(model, row))
}

export const listedRows: FuzzOperation[] = [
  {
    id: 'listPriceListRows',
    weight: 6,
    isReady: ({ lists }) => lists.size > 0,
    valid: (world) => listRowsPlan(world, oneOf(world.draw, [...world.model.lists.values()])),
    faulty: ({ draw, foreign }) =>
      absentPlan(
        'GET',
        `/api/v1/price_list/${absentId(draw, foreign.list.id)}/rows`,
        'price-list-not-found',
      ),
  },
]
