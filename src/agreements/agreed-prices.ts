import { sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { MatchedRow } from '../catalog/matching.ts'
import { Problem } from '../contract/problem.ts'
import { readNullable } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type Line, linesReader } from './price-lines.ts'

/** A client's agreed price for a row. */
export interface AgreedPrice {
  id: number
  name: string
  price: number
}

/** The cell of an agreed price: a dimension of the list and, in a calendar list, a day. */
export interface AgreedCell {
  dimension: string
  date?: string | undefined
}

/** The agreements that a read looks at. */
export interface AgreementScope {
  account: number
  client: string
  list: { name: string; price_dimensions: string[]; decimals: number }
  /** Lines for other codes are left out; undefined means none are. */
  codes: string[] | undefined
  cells: AgreedCell[]
  /** How many agreements, by name, are found regardless of their lines. */
  firstByName: number
}

interface StoredAgreement {
  id: number
  name: string
  price_line: Record<string, string | number | boolean>
  /** An array as text, parsed when needed: a read uses few of a client's agreements. */
  prices: string
}

/** The most agreements that a read loads, and the most prices over all cells: about 100 MB, 0.5 seconds. */
const agreementsMax = 100_000
const pricesMax = 2_000_000

/** Loads the agreements of a scope. Throws `too-costly` if there are too many. */
export async function loadAgreedPrices(
  trx: Trx,
  columns: Columns,
  scope: AgreementScope,
): Promise<AgreedPrices> {
  if (scope.cells.length === 0) return new AgreedPrices([], [])
  const most = Math.floor(Math.min(agreementsMax, pricesMax / scope.cells.length))
  const found = await findAgreements(trx, scope, most + 1)
  if (found.length > most) {
    const detail = `A read looks at no more than ${most} agreements of a client and list for ${scope.cells.length} dimensions and days, there are more. Name codes, or fewer days.`
    throw new Problem('too-costly', detail)
  }
  return new AgreedPrices(found, await groupByLine(found, columns))
}

/** A plain number is the price for every day. Prices are rounded half up to the list's decimals. */
async function findAgreements(
  trx: Trx,
  { account, client, list, codes, cells, firstByName }: AgreementScope,
  limit: number,
): Promise<StoredAgreement[]> {
  const only = list.price_dimensions.length === 1 ? 'price' : null
  const ofList = sql`account_id = ${account} and client_code = ${client} and price_list_code = ${list.name}`
  const first = sql`array(select id from agreements where ${ofList} order by name, id limit ${firstByName})`
  const isWanted = sql`line_code = any(${['', ...(codes ?? [])]}::text[])`
  const chosen = firstByName > 0 ? sql`(${isWanted} or id = any(${first}))` : isWanted
  const price = sql`case jsonb_typeof(held) when 'number' then held::numeric when 'object' then (held ->> date)::numeric end`
  const { rows } = await sql<StoredAgreement>`
    select id, name, price_line, array(
      select ${list.decimals < 6 ? sql`round(${price}, ${list.decimals}::integer)` : price}
      from unnest(${cells.map(({ dimension }) => dimension)}::text[], ${cells.map(({ date }) => date ?? null)}::text[])
        as cell (dimension, date)
      cross join lateral (select coalesce(prices -> dimension, prices -> ${only}::text) as held) as price
    )::text as prices
    from agreements
    where ${ofList} and ${codes ? chosen : sql`true`}
    limit ${limit}`.execute(trx)
  return rows
}

/** An agreement that covers a row, with its price in each cell, null where it has none. */
export interface CoveringAgreement {
  id: number
  name: string
  prices: readonly (number | null)[]
}

/** Agreements with equal lines, and the best of them for each cell. */
class SameLine {
  readonly stored: StoredAgreement[] = []
  readonly #best: (AgreedPrice | null)[] = []
  #agreements: CoveringAgreement[] | undefined

  get agreements(): CoveringAgreement[] {
    this.#agreements ??= this.stored.map(({ id, name, prices }) => {
      return { id, name, prices: readNullable(prices) }
    })
    return this.#agreements
  }

  /** The lowest price, then the lowest id. */
  best(cell: number): AgreedPrice | null {
    const known = this.#best[cell]
    if (known !== undefined) return known
    let best: AgreedPrice | null = null
    for (const { id, name, prices } of this.agreements) {
      const price = prices[cell] ?? null
      if (price !== null) best = better(best, { id, name, price })
    }
    this.#best[cell] = best
    return best
  }
}

function better(a: AgreedPrice | null, b: AgreedPrice): AgreedPrice {
  return a && (a.price - b.price || a.id - b.id) < 0 ? a : b
}

/** Orders by name, code point by code point, then by id. */
export function byName(a: Named, b: Named): number {
  if (a.name === b.name) return a.id - b.id
  // JavaScript compares UTF-16 units, which puts emoji before some letters.
  if (surrogates.test(a.name) || surrogates.test(b.name))
    return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
  return a.name < b.name ? -1 : 1
}

const surrogates = /[\ud800-\udfff]/

type Named = Pick<StoredAgreement, 'id' | 'name'>

/** Lines that name the same columns. */
interface Shape extends Omit<Line, 'key'> {
  byKey: Map<string, SameLine>
}

/** Groups agreements by their lines, those with the most keys first. Yields to other requests. */
async function groupByLine(agreements: StoredAgreement[], columns: Columns): Promise<Shape[]> {
  const shapes = new Map<string, Shape>()
  const readLine = linesReader(columns)
  await mapCooperatively(agreements, (agreement) => {
    const line = readLine(agreement.price_line)
    if (!line) return
    const shape = shapes.get(line.columns) ?? { ...line, byKey: new Map() }
    shapes.set(line.columns, shape)
    const same = shape.byKey.get(line.key) ?? new SameLine()
    shape.byKey.set(line.key, same)
    same.stored.push(agreement)
  })
  return [...shapes.values()].sort((a, b) => b.keys - a.keys)
}

/** The agreements of a client and list. A row takes one lookup for each set of columns that their lines name. */
export class AgreedPrices {
  readonly usesAttributes: boolean
  readonly #all: StoredAgreement[]
  readonly #shapes: Shape[]
  #isSorted = false

  constructor(all: StoredAgreement[], shapes: Shape[]) {
    this.usesAttributes = shapes.some((shape) => shape.usesAttributes)
    this.#all = all
    this.#shapes = shapes
  }

  /** All agreements, sorted on first use. */
  get byName(): readonly Named[] {
    if (!this.#isSorted) this.#all.sort(byName)
    this.#isSorted = true
    return this.#all
  }

  /** How many lookups a row takes. */
  get lookUps(): number {
    return this.#shapes.length
  }

  /**
   * The price that replaces the published one: from the line with the most keys, then the lowest price, then the lowest
   * id.
   */
  of(row: MatchedRow, cell: number): AgreedPrice | null {
    let best: AgreedPrice | null = null
    let most = 0
    for (const { readKey, keys, byKey } of this.#shapes) {
      if (keys < most) break
      const found = byKey.get(readKey(row))?.best(cell)
      if (!found) continue
      best = better(best, found)
      most = keys
    }
    return best
  }

  /** The agreements whose lines cover a row, each with the number of its keys. */
  covering(row: MatchedRow): { agreement: CoveringAgreement; keys: number }[] {
    return this.#shapes.flatMap(({ readKey, keys, byKey }) =>
      (byKey.get(readKey(row))?.agreements ?? []).map((agreement) => ({ agreement, keys })),
    )
  }
}
