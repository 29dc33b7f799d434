/** What the client of an account knows that the service must hold. */
export interface Ledger {
  /** Batches by name: number of rows, and whether they were acknowledged. */
  sales: Map<string, Batch>
  products: Map<string, Batch>
  /** Prices set on all rows of the list "stable", in order. */
  prices: Changes
  /** Values set in all promotions, in order. */
  promotions: Changes
  reads: { sent: number; answered: number }
  /** Lists, each with its jobs. */
  lists: Map<string, ListEntry>
  /** Ids of deleted lists. */
  deleted: number[]
}

/** Growing numbers: the last one sent and the last one acknowledged. */
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
  /** Products of acknowledged or unknown jobs, and the final ones. */
  jobs: JobEntry[]
  /** Ids of cancelled jobs. */
  cancelled: number[]
}

export interface JobEntry {
  id: number
  /** Rows of the list when the job is done. */
  rows: number
  finished: number
  /** The last state seen. */
  status: string
}

export function emptyLedger(): Ledger {
  const prices = { acknowledged: 1, last: 1 }
  const promotions = { acknowledged: 0, last: 0 }
  const reads = { sent: 0, answered: 0 }
  const batches = { sales: new Map(), products: new Map() }
  return { ...batches, prices, promotions, reads, lists: new Map(), deleted: [] }
}

/** Writes that were never acknowledged: a service that refuses everything must not pass. */
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
