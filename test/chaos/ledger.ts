/** What an account's client knows that the service must hold. */
export interface Ledger {
  /** Batches of rows by name: how many rows, and whether they were acknowledged. */
  sales: Map<string, Batch>
  products: Map<string, Batch>
  /** Prices set one after the other on all rows of the list "stable"; the first one was there before. */
  prices: Changes
  /** Values of all promotions, one after the other. */
  promotions: Changes
  reads: { sent: number; answered: number }
  /** Lists, each with the jobs that were sent for it. */
  lists: Map<string, ListEntry>
  /** Ids of lists that were deleted. */
  deleted: number[]
}

/** Numbers that grow: the last one sent, and the last one acknowledged. */
export interface Changes {
  acknowledged: number
  last: number
}

export interface Batch {
  rows: number
  isAcknowledged: boolean
}

export interface ListEntry {
  id: number
  /** Products that an acknowledged or unknown job put into it, and those that it has at the end. */
  jobs: JobEntry[]
  /** Ids of jobs that were cancelled. */
  cancelled: number[]
}

export interface JobEntry {
  id: number
  /** Rows that the list has when the job is done. */
  rows: number
  finished: number
  /** The last state that was seen. */
  status: string
}

export function emptyLedger(): Ledger {
  const prices = { acknowledged: 1, last: 1 }
  const promotions = { acknowledged: 0, last: 0 }
  const reads = { sent: 0, answered: 0 }
  const batches = { sales: new Map(), products: new Map() }
  return { ...batches, prices, promotions, reads, lists: new Map(), deleted: [] }
}

/** What was sent and never acknowledged: whoever refuses everything loses nothing either. */
export function unserved({ sales, products, prices, promotions, reads }: Ledger): string[] {
  const isNone = {
    sales: noneOf([...sales.values()]),
    products: noneOf([...products.values()]),
    prices: prices.last > 1 && prices.acknowledged === 1,
    promotions: promotions.last > 0 && promotions.acknowledged === 0,
    reads: reads.sent > 0 && reads.answered === 0,
  }
  return Object.entries(isNone).flatMap(([name, isTrue]) => (isTrue ? [name] : []))
}

const noneOf = (batches: Batch[]) =>
  batches.length > 0 && !batches.some(({ isAcknowledged }) => isAcknowledged)
