import fc from 'fast-check'
import { chance, type Draw, oneOf } from '../draw.ts'
import type { PlannedCell, PriceList, Row } from '../model.ts'
import { compareTexts, expectEqual, type FuzzOperation, type World } from '../world.ts'
import { compareKeys } from './orders.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'
import { changePercent } from './plan-figures.ts'
import { type CellName, newest, pricedCells, rowsAt, setPrice } from './revisions.ts'
import { published } from './rows.ts'

/** What a revision did, in numbers. */
function countsOf(list: PriceList, revision: number) {
  const [was, is] = [rowsAt(list, revision - 1), rowsAt(list, revision)]
  const stayed = [...is].filter(([key]) => was.has(key))
  const changed = stayed.flatMap(([key, row]) => changedCells(was.get(key), row))
  const kept = stayed.length
  return { revision, priced: changed.length, added: is.size - kept, removed: was.size - kept }
}

function changedCells(was: Row | undefined, is: Row): CellName[] {
  return pricedCells(was, is).filter((cell) => setPrice(was, cell) !== setPrice(is, cell))
}

const counts = ({ revision, priced, added, removed }: ReturnType<typeof countsOf>) => ({
  ...{ revision, priced, added, removed },
})

/** The cells of a list that differ between two revisions. */
function difference({ model }: World, list: PriceList, from: number, to: number): unknown[] {
  const [was, is] = [rowsAt(list, from), rowsAt(list, to)]
  const cells = [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
    const [before, later] = [was.get(key), is.get(key)]
    const row = (later ?? before) as Row
    const names = before && later ? changedCells(before, later) : allCells(list, row)
    const priceOf = (one: Row | undefined, cell: CellName) => one && (setPrice(one, cell) ?? 0)
    return names.map((cell): PlannedCell => {
      const old = priceOf(before, cell) ?? null
      return { row, ...cell, old, new: priceOf(later, cell) ?? null }
    })
  })
  const byKey = compareKeys(model.columns.extensions)
  const place = ({ dimension, date }: PlannedCell) => list.dimensions.indexOf(dimension) + date
  cells.sort((a, b) => byKey(a.row, b.row) || compareTexts(place(a), place(b)))
  return cells.map(({ row, dimension, date, old, new: now }) => ({
    pk: row.pk,
    extended_catalog_id: row.productId,
    code: row.code,
    ...row.extensions,
    price_dimension: dimension,
    ...(date !== '' && { date }),
    change: old === null ? 'added' : now === null ? 'removed' : 'priced',
    old,
    new: now,
    change_percent: changePercent(old, now),
  }))
}

/** The cells of a row that comes or goes: in a calendar list those that have a price. */
function allCells({ isCalendar, dimensions }: PriceList, row: Row): CellName[] {
  return isCalendar ? pricedCells(row) : dimensions.map((dimension) => ({ dimension, date: '' }))
}

const someRevision = (draw: Draw, list: PriceList, min: number) =>
  draw(fc.integer({ min, max: newest(list) }))

const isReady: FuzzOperation['isReady'] = (model) => published(model).length > 0
const place = ({ id }: PriceList) => `/api/v1/price_list/${id}`
const absent = ({ draw, foreign }: World, path: string) =>
  absentPlan(
    'GET',
    `/api/v1/price_list/${absentId(draw, foreign.list.id)}/${path}`,
    'price-list-not-found',
  )

export const historyOperations: FuzzOperation[] = [
  {
    id: 'listRevisions',
    weight: 2,
    isReady,
    valid: ({ draw, model }) => {
      const list = oneOf(draw, published(model))
      const all = Array.from({ length: newest(list) }, (_, index) => countsOf(list, index + 1))
      return pagePlan(draw, `${place(list)}/revisions/`, {}, all.reverse(), counts)
    },
    faulty: (world) => absent(world, 'revisions/'),
  },
  {
    id: 'readRevision',
    weight: 1,
    isReady,
    valid: ({ draw, model }) => {
      const list = oneOf(draw, published(model))
      const revision = someRevision(draw, list, 1)
      const path = `${place(list)}/revisions/${revision}/`
      const check = ({ body }: { body: ReturnType<typeof countsOf> }) =>
        expectEqual(counts(body), countsOf(list, revision), 'revision')
      return { call: { method: 'GET', path }, status: 200, check }
    },
    faulty: (world) => absent(world, 'revisions/1/'),
  },
  {
    id: 'diffPriceList',
    weight: 3,
    isReady,
    valid: (world) => {
      const { draw, model } = world
      const list = oneOf(draw, published(model))
      const from = someRevision(draw, list, 0)
      const to = chance(draw, 60) ? someRevision(draw, list, Math.max(1, from)) : undefined
      const all = difference(world, list, from, to ?? newest(list))
      return pagePlan(draw, `${place(list)}/diff/`, { from, to }, all)
    },
    faulty: (world) => absent(world, 'diff/?from=0'),
  },
]
