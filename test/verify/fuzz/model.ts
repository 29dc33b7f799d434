import type { ColumnType, Value } from './values.ts'

/** The state of one account in memory, by rules written a second time from the contract. */
export interface Model {
  /** Codes in use, so that requests refer to the same rows. */
  codes: string[]
  columns: Columns
  /** Values in use of each attribute and extension. */
  pools: Map<string, Value[]>
  products: Map<string, Product>
  /** By code, then by attribute. */
  attributes: Map<string, Map<string, Value>>
  lists: Map<string, PriceList>
  promotions: Map<string, Promotion>
  sales: Map<string, StoredSale>
  competitors: CompetitorSchema | undefined
  agreements: Agreement[]
  jobs: Job[]
  plans: StoredPlan[]
}

export interface Column {
  name: string
  type: ColumnType
  values?: Value[]
  letter: string
}

export interface Columns {
  attributes: Column[]
  extensions: Column[]
  costs: { name: string; letter: string }[]
}

export interface ProductKey {
  code: string
  extensions: Record<string, Value>
}

export interface Product extends ProductKey {
  id: number
  costs: Record<string, number>
  active: boolean
}

export type Filters = Record<string, Value[]>

export interface PriceList {
  id: number
  name: string
  settings: Record<string, unknown>
  dimensions: string[]
  isCalendar: boolean
  validFrom: string
  filters: Filters
  decimals: number
  margin: Margin
  rows: Rows
  /** What each revision left; of revision 0 there are no rows. */
  revisions: Revision[]
}

/** By the keys of their products. */
export type Rows = Map<string, Row>

export interface Revision {
  rows: Rows
  /** As they were when it was made. */
  promotions: Map<string, Promotion>
}

export interface Row extends ProductKey {
  pk: number
  productId: number
  /** By dimension, then by day ('' without days). */
  prices: Map<string, Map<string, number>>
  dynamic: Record<string, unknown>
}

/** The margin for a price, if there is one, and the costs of a row. */
export type Margin = (price: number | null, costs: Record<string, number>) => number | null

export interface Promotion {
  id: number
  name: string
  kind: string
  value: number
  valid_from: string
  valid_to: string
  price_lists?: string[]
  product_filters?: Filters
  price_dimensions?: string[]
}

/** A sale as it is read, without its id. */
export interface StoredSale {
  id: number
  sale: Record<string, string>
}

export interface CompetitorSchema {
  dimensions: { name: string; type: ColumnType; values?: Value[] }[]
  isDated: boolean
  entries: Map<string, Record<string, unknown>>
}

export interface Agreement {
  id: number
  version: number
  fields: Record<string, unknown>
}

export interface StoredPlan {
  id: number
  /** What is read of it, but for its times and its maker. */
  shown: {
    status: string
    operation: string
    price_list_name?: string
    base_revision: number
    revision?: number
  }
  list: PriceList
  /** In the order of the call, or of the rows. */
  cells: PlannedCell[]
  /** As they are read. */
  rows: ({ action: string; change_percent: number | null } & Record<string, unknown>)[]
}

export interface PlannedCell {
  row: Row
  dimension: string
  /** '' in a list without days. */
  date: string
  old: number | null
  new: number | null
  /** Why nothing happens. */
  reason?: string | undefined
}

export interface Job {
  id: number
  status: string
  price_list_id?: number
  price_list_name?: string
  revision?: number
  errors?: unknown
  result?: unknown
}

export function emptyModel(): Model {
  return {
    codes: [],
    columns: { attributes: [], extensions: [], costs: [] },
    pools: new Map(),
    products: new Map(),
    attributes: new Map(),
    lists: new Map(),
    promotions: new Map(),
    sales: new Map(),
    competitors: undefined,
    agreements: [],
    jobs: [],
    plans: [],
  }
}
