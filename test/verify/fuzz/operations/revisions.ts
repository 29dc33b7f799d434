import type { Model, PriceList, Row, Rows } from '../model.ts'

/** The number of the newest revision; 0 before the first publication. */
export const newest = ({ revisions }: PriceList): number => revisions.length - 1

/** Publishes the rows of a list: a revision if they are others than before, and the first one whatever they are. */
export function publish(model: Model, list: PriceList): void {
  if (newest(list) > 0 && isSame(list.rows, rowsAt(list, newest(list)))) return
  const rows = new Map([...list.rows].map(([key, row]) => [key, copied(row)]))
  list.revisions.push({ rows, promotions: new Map(model.promotions) })
}

/** A row whose prices do not change any more; dynamic attributes have no history. */
function copied(row: Row): Row {
  const prices = [...row.prices].map(([name, days]) => [name, new Map(days)] as const)
  return { ...row, prices: new Map(prices) }
}

/** The rows of a revision. */
export function rowsAt({ revisions }: PriceList, revision: number): Rows {
  return revisions[revision]?.rows ?? new Map()
}

/** The price that was set for a cell; null if none was. */
export function setPrice(row: Row | undefined, { dimension, date }: CellName): number | null {
  return row?.prices.get(dimension)?.get(date) ?? null
}

/** Sets the price of a cell, or removes it. */
export function putPrice(row: Row, { dimension, date }: CellName, price: number | null): void {
  const days = row.prices.get(dimension) ?? new Map<string, number>()
  if (price === null) days.delete(date)
  else days.set(date, price)
  row.prices.set(dimension, days)
}

export interface CellName {
  dimension: string
  /** '' in a list without days. */
  date: string
}

/** The cells of rows that have a price. */
export function pricedCells(...rows: (Row | undefined)[]): CellName[] {
  const names = rows.flatMap((row) =>
    [...(row?.prices ?? [])].flatMap(([dimension, days]) =>
      [...days.keys()].map((date) => JSON.stringify([dimension, date])),
    ),
  )
  return [...new Set(names)].map((name) => {
    const [dimension, date] = JSON.parse(name)
    return { dimension, date }
  })
}

/** Whether a cell had another price, or its row was another one or none, in a revision after `after`, until `until`. */
export function isChanged(
  list: PriceList,
  key: string,
  cell: CellName,
  { after, until = newest(list) }: { after: number; until?: number },
): boolean {
  for (let revision = after; revision < until; revision++) {
    const [was, is] = [rowsAt(list, revision).get(key), rowsAt(list, revision + 1).get(key)]
    if (was?.pk !== is?.pk || setPrice(was, cell) !== setPrice(is, cell)) return true
  }
  return false
}

function isSame(one: Rows, other: Rows): boolean {
  if (one.size !== other.size) return false
  return [...one].every(([key, row]) => {
    const same = other.get(key)
    const cells = pricedCells(row, same)
    return (
      row.pk === same?.pk && cells.every((cell) => setPrice(row, cell) === setPrice(same, cell))
    )
  })
}
