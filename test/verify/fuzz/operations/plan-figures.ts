import type { Model, PlannedCell, PriceList } from '../model.ts'
import { canonical, type Value } from '../values.ts'
import { compareTexts } from '../world.ts'
import { millionths } from './price-lists.ts'
import { costsOf } from './rows.ts'

/** The cells of a plan as they are read. */
export function shownCells(model: Model, list: PriceList, cells: readonly PlannedCell[]) {
  return inOrder(model, list, cells).map((cell) => shownCell(model, list, cell))
}

/** By code, extensions, dimension and day. */
export function inOrder(model: Model, list: PriceList, cells: readonly PlannedCell[]) {
  const places = cells.map((cell) => {
    const extensions = model.columns.extensions.map(({ name }) => cell.row.extensions[name])
    const texts = [cell.row.code, ...extensions.map((value) => canonical(value as Value))]
    const dimension = list.dimensions.indexOf(cell.dimension)
    return { cell, texts: [...texts, String(dimension), cell.date] }
  })
  places.sort((a, b) => firstOrder(a.texts, b.texts))
  return places.map(({ cell }) => cell)
}

function firstOrder(a: string[], b: string[]): number {
  const orders = a.map((text, index) => compareTexts(text, b[index] ?? ''))
  return orders.find((order) => order !== 0) ?? 0
}

function shownCell(model: Model, list: PriceList, cell: PlannedCell) {
  const { row, dimension, date, old, new: now, reason } = cell
  const marginAt = (price: number | null) => list.margin(price, costsOf(model, row))
  return {
    code: row.code,
    ...row.extensions,
    price_dimension: dimension,
    ...(date !== '' && { date }),
    action: reason === undefined ? 'price' : 'none',
    ...(reason !== undefined && { reason }),
    old,
    new: now,
    change_percent: changePercent(old, now),
    margin_before: marginAt(old),
    margin_after: marginAt(now),
    violations: [],
  }
}

/** The quotient, half up. */
const halfUp = (n: bigint, d: bigint): bigint => {
  const twice = 2n * n + d
  const rest = ((twice % (2n * d)) + 2n * d) % (2n * d)
  return (twice - rest) / (2n * d)
}

const fromMillionths = (value: bigint): number => Number(`${value}e-6`) + 0

/** The change between two prices, half up to 6 decimals. */
export function changePercent(old: number | null, now: number | null): number | null {
  if (!old || now === null) return null
  const [from, to] = [millionths(old), millionths(now)]
  return fromMillionths(halfUp((to - from) * 100_000_000n, from))
}

type Shown = ReturnType<typeof shownCell>

/** What the cells of a plan say in all. */
export function summaryOf(cells: readonly Shown[]) {
  const changed = cells.filter(({ action }) => action === 'price')
  const rises = changed.filter(({ old, new: now }) => old === null || Number(now) > old)
  const falls = changed.filter(({ old, new: now }) => old !== null && Number(now) < old)
  const percents = (some: readonly Shown[]) => some.flatMap((cell) => cell.change_percent ?? [])
  const both = cells.filter((cell) => cell.margin_before !== null && cell.margin_after !== null)
  return {
    rows: cells.length,
    changed: changed.length,
    unchanged: cells.length - changed.length,
    added: 0,
    removed: 0,
    increases: rises.length,
    decreases: falls.length,
    average_change_percent: averageChange(changed),
    largest_increase_percent: largest(percents(rises)),
    largest_decrease_percent: largest(percents(falls).map((percent) => -percent)),
    margin_before: mean(both.map((cell) => cell.margin_before as number)),
    margin_after: mean(both.map((cell) => cell.margin_after as number)),
    negative_margin: cells.filter(({ margin_after }) => (margin_after ?? 0) < 0).length,
  }
}

const largest = (values: number[]) => (values.length === 0 ? null : Math.max(...values))

/** The mean change, from exact values; NaN if a double does not hold a change to 6 decimals. */
function averageChange(changed: readonly Shown[]): number | null {
  const compared = changed.filter(({ old, change_percent }) => old && change_percent !== null)
  if (compared.length === 0) return null
  if (compared.some(({ change_percent }) => Number(change_percent) >= 1e9)) return Number.NaN
  let [n, d] = [0n, 1n]
  for (const { old, new: now } of compared) {
    const [from, to] = [millionths(Number(old)), millionths(Number(now))]
    n = n * from + (to - from) * d
    d *= from
  }
  return fromMillionths(halfUp(n * 100_000_000n, d * BigInt(compared.length)))
}

/** NaN of values that a double holds without their decimals. */
function mean(values: number[]): number | null {
  if (values.length === 0) return null
  if (values.some((value) => Math.abs(value) >= 1e9)) return Number.NaN
  const sum = values.reduce((all, value) => all + millionths(value), 0n)
  return fromMillionths(halfUp(sum, BigInt(values.length)))
}
