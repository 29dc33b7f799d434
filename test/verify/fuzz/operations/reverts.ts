import fc from 'fast-check'
import { chance, oneOf } from '../draw.ts'
import type { Model, PriceList, Row } from '../model.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan } from './pages.ts'
import {
  type CellName,
  isChanged,
  newest,
  pricedCells,
  publish,
  putPrice,
  rowsAt,
  setPrice,
} from './revisions.ts'
import { published } from './rows.ts'

/** The revisions after one until another one. */
interface Range {
  after: number
  until: number
}

type Undo = { key: string; isConflict: boolean } & (
  | { kind: 'price'; cell: CellName; price: number | null }
  | { kind: 'leave' }
  | { kind: 'return'; row: Row }
)

/** What undoing some revisions does to a list. */
function undone(model: Model, list: PriceList, { after, until }: Range): Undo[] {
  const [was, is] = [rowsAt(list, after), rowsAt(list, until)]
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((key): Undo[] => {
    const [before, later] = [was.get(key), is.get(key)]
    if (before && later)
      return pricedCells(before, later)
        .filter((cell) => setPrice(before, cell) !== setPrice(later, cell))
        .map((cell) => {
          const isConflict = isChanged(list, key, cell, { after: until })
          return { kind: 'price', key, cell, price: setPrice(before, cell), isConflict }
        })
    const isAgain = isRowChanged(list, key, until)
    if (later) return [{ kind: 'leave', key, isConflict: isAgain }]
    if (!before) return []
    const product = [...model.products.values()].find(({ id }) => id === before.productId)
    return [{ kind: 'return', key, row: before, isConflict: isAgain || !product?.active }]
  })
}

/** Whether a row came, left or had another price after a revision. */
function isRowChanged(list: PriceList, key: string, after: number): boolean {
  const states = list.revisions.slice(after).map(({ rows }) => rows.get(key))
  const cells = [{ dimension: '', date: '' }, ...pricedCells(...states)]
  return cells.some((cell) => isChanged(list, key, cell, { after }))
}

function apply(list: PriceList, step: Undo): void {
  if (step.kind === 'leave') return void list.rows.delete(step.key)
  const row = list.rows.get(step.key)
  if (step.kind === 'price') return void (row && putPrice(row, step.cell, step.price))
  const prices = [...step.row.prices].map(([name, days]) => [name, new Map(days)] as const)
  list.rows.set(step.key, { ...step.row, prices: new Map(prices) })
}

/** Published lists of which no revert is a job. */
const small = (model: Model) =>
  published(model).filter(({ revisions }) => revisions.every(({ rows }) => rows.size <= 40))

/** Undoes one revision of a list, or all after one. */
function revertPlan({ draw, model }: World): Plan {
  const list = oneOf(draw, small(model))
  const revision = draw(fc.integer({ min: 1, max: newest(list) }))
  const isOne = chance(draw, 60)
  const range = { after: revision - 1, until: isOne ? revision : newest(list) }
  const steps = undone(model, list, range)
  const skips = chance(draw, 60)
  const body = {
    ...(isOne ? { revision } : { to_revision: revision - 1 }),
    ...(skips && { on_conflict: 'skip' }),
  }
  const call = { method: 'POST', path: `/api/v1/price_list/${list.id}/revert/`, body }
  const conflicts = steps.filter(({ isConflict }) => isConflict)
  if (conflicts.length > 0 && !skips) return { call, status: 409, type: 'revert-conflict' }
  const done = steps.filter(({ isConflict }) => !isConflict)
  const count = (kind: Undo['kind']) => done.filter((step) => step.kind === kind).length
  const check: Plan['check'] = (answer) => {
    for (const step of done) apply(list, step)
    publish(model, list)
    const counts = { priced: count('price'), added: count('return'), removed: count('leave') }
    const expected = { revision: newest(list), ...counts, skipped: conflicts.length }
    expectEqual(answer.body, expected, `what was undone in ${list.name}`)
  }
  return { call, status: 201, check }
}

function faulty({ draw, model, foreign }: World): Plan {
  const list = oneOf(draw, published(model))
  const path = `/api/v1/price_list/${list.id}/revert/`
  const refused = (body: object, pointer: string, code: string): Plan => ({
    call: { method: 'POST', path, body },
    status: 400,
    faults: [[pointer, code]],
  })
  const absent = `/api/v1/price_list/${absentId(draw, foreign.list.id)}/revert/`
  const call = { method: 'POST', path: absent, body: { revision: 1 } }
  return oneOf(draw, [
    refused({}, '/to_revision', 'required'),
    refused({ revision: newest(list) + 1 }, '/revision', 'range'),
    refused({ revision: 1, to_revision: 1 }, '/revision', 'conflicting_keys'),
    { ...absentPlan('POST', absent, 'price-list-not-found'), call },
  ])
}

export const reverts: FuzzOperation[] = [
  {
    id: 'revertPriceList',
    weight: 3,
    isReady: (model) => small(model).length > 0,
    valid: revertPlan,
    faulty,
  },
]
