/** A price list as a service without a database would keep it: every state in memory, whole. */

export const dimensions = ['retail', 'trade'] as const
export type Dimension = (typeof dimensions)[number]

/** Prices by dimension; null if none was set. */
export type Prices = Readonly<Record<Dimension, number | null>>

/** A row, and the revision in which it came; one that a revert returns is the same row. */
export interface Row {
  came: number
  prices: Prices
}

/** The rows of a revision, by the codes of their products. */
export type Rows = ReadonlyMap<string, Row>

export interface NewPrice {
  code: string
  price_dimension: Dimension
  price: number
}

export type Write =
  | { kind: 'update'; cells: NewPrice[] }
  /** A plan of new prices, made at `base`, applied without what has changed since. */
  | { kind: 'apply'; cells: NewPrice[]; base: number }
  | { kind: 'add' | 'remove'; codes: string[] }
  | { kind: 'sync' }
  /** Undoes the revisions after `after` until `until`, without conflicts. */
  | { kind: 'revert'; after: number; until: number | 'newest'; isVoid: boolean }

export interface CellChange {
  code: string
  price_dimension: Dimension
  change: 'added' | 'removed' | 'priced'
  old: number | null
  new: number | null
}

/** How a list names the cells of a row: by price dimension, or as two days of a calendar list. */
export interface Cells {
  isCalendar: boolean
  /** The keys of a cell beside the code. */
  place: (dimension: Dimension) => { price_dimension: Dimension } | { date: string }
  dimensionOf: (cell: { price_dimension: string; date?: string }) => Dimension
}

const days: Record<Dimension, string> = { retail: '2026-02-01', trade: '2026-02-28' }

export const cellsOf = (isCalendar: boolean): Cells => ({
  isCalendar,
  place: (dimension) => (isCalendar ? { date: days[dimension] } : { price_dimension: dimension }),
  dimensionOf: ({ price_dimension, date }) =>
    date === undefined
      ? (price_dimension as Dimension)
      : (dimensions.find((dimension) => days[dimension] === date) as Dimension),
})

const unpriced: Prices = { retail: null, trade: null }

export class PriceListModel {
  /** The rows of each revision; of revision 0 there are none. */
  readonly states: Rows[] = [new Map()]
  /** Revisions that were marked as mistakes. */
  readonly voided = new Set<number>()
  /** By revision: those that undid it. */
  readonly undoneBy = new Map<number, number[]>()
  /** The codes of active products. */
  readonly active: Set<string>

  constructor(codes: readonly string[]) {
    this.active = new Set(codes)
  }

  get revision(): number {
    return this.states.length - 1
  }

  at(revision: number): Rows {
    return this.states[revision] ?? new Map()
  }

  /** The rows that a write leaves if it is the next after a revision. */
  after(revision: number, write: Write): Rows {
    const now = this.at(revision)
    const [came, rows] = [revision + 1, new Map(now)]
    switch (write.kind) {
      case 'update':
        return priced(rows, write.cells)
      case 'apply':
        return priced(
          rows,
          write.cells.filter(({ code, price_dimension }) => {
            const planned = this.at(write.base).get(code)
            const isSame = planned?.came === now.get(code)?.came && planned !== undefined
            return isSame && !this.#isChanged(code, price_dimension, write.base, revision)
          }),
        )
      case 'add':
        for (const code of write.codes)
          if (!rows.has(code)) rows.set(code, { came, prices: unpriced })
        return rows
      case 'remove':
        for (const code of write.codes) rows.delete(code)
        return rows
      case 'sync':
        return new Map(
          [...this.active].map((code) => [code, now.get(code) ?? { came, prices: unpriced }]),
        )
      case 'revert':
        return this.#reverted(revision, write.after, write.until)
    }
  }

  /** Whether a cell had another price, or its row was another one or none, in a revision between two. */
  #isChanged(code: string, dimension: Dimension, after: number, until: number): boolean {
    for (let revision = after; revision < until; revision++) {
      const [was, is] = [this.at(revision).get(code), this.at(revision + 1).get(code)]
      if (was?.came !== is?.came || was?.prices[dimension] !== is?.prices[dimension]) return true
    }
    return false
  }

  #isRowChanged(code: string, after: number, until: number): boolean {
    return dimensions.some((dimension) => this.#isChanged(code, dimension, after, until))
  }

  #reverted(revision: number, after: number, until: number | 'newest'): Rows {
    const last = until === 'newest' ? revision : until
    const [was, is, rows] = [this.at(after), this.at(last), new Map(this.at(revision))]
    for (const code of new Set([...was.keys(), ...is.keys()])) {
      const [before, later] = [was.get(code), is.get(code)]
      if (before && later) this.#restore(rows, code, { after, until: last, revision })
      else if (this.#isRowChanged(code, last, revision)) continue
      else if (!before) rows.delete(code)
      else if (this.active.has(code)) rows.set(code, before)
    }
    return rows
  }

  #restore(
    rows: Map<string, Row>,
    code: string,
    { after, until, revision }: { after: number; until: number; revision: number },
  ): void {
    for (const dimension of dimensions) {
      const old = this.at(after).get(code)?.prices[dimension] ?? null
      const isSame = old === (this.at(until).get(code)?.prices[dimension] ?? null)
      const row = rows.get(code)
      if (!row || isSame || this.#isChanged(code, dimension, until, revision)) continue
      rows.set(code, { ...row, prices: { ...row.prices, [dimension]: old } })
    }
  }

  /** What differs between two revisions, by code and dimension. */
  difference(from: number, to: number, { isCalendar }: Cells): CellChange[] {
    const [was, is] = [this.at(from), this.at(to)]
    return [...new Set([...was.keys(), ...is.keys()])].sort().flatMap((code) =>
      dimensions.flatMap((price_dimension) => {
        const [before, later] = [was.get(code), is.get(code)]
        const [old, now] = [before?.prices[price_dimension], later?.prices[price_dimension]]
        if (before && later && old === now) return []
        // A row of a calendar list comes and goes with the days that have a price.
        if (isCalendar && (old ?? now ?? null) === null) return []
        const change = !before ? 'added' : later ? 'priced' : 'removed'
        const shown = { old: before ? (old ?? 0) : null, new: later ? (now ?? 0) : null }
        return { code, price_dimension, change, ...shown } as const
      }),
    )
  }

  /** The prices that a cell has had: since which revision, and until which. */
  history(code: string, dimension: Dimension) {
    const entries: { price: number; isSet: boolean; from: number; to: number | null }[] = []
    for (let revision = 1; revision <= this.revision; revision++) {
      const [was, is] = [this.at(revision - 1).get(code), this.at(revision).get(code)]
      const isSame = was?.came === is?.came && was?.prices[dimension] === is?.prices[dimension]
      if (isSame) continue
      const last = entries.at(-1)
      if (was && last) last.to = revision
      const price = is?.prices[dimension] ?? null
      if (is) entries.push({ price: price ?? 0, isSet: price !== null, from: revision, to: null })
    }
    return entries
  }
}

function priced(rows: Map<string, Row>, cells: readonly NewPrice[]): Rows {
  for (const { code, price_dimension, price } of cells) {
    const row = rows.get(code)
    if (row) rows.set(code, { ...row, prices: { ...row.prices, [price_dimension]: price } })
  }
  return rows
}

export const sameRows = (one: Rows, other: Rows): boolean =>
  one.size === other.size &&
  [...one].every(([code, row]) => {
    const same = other.get(code)
    return dimensions.every((dimension) => row.prices[dimension] === same?.prices[dimension])
  })
