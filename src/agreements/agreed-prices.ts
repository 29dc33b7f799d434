import { sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import { Problem } from '../contract/problem.ts'
import { readNumbers } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type AgreedRow, type Line, linesReader } from './price-lines.ts'

/** The price that a client has agreed for a row. */
export interface AgreedPrice {
  id: number
  name: string
  price: number
}

/** Where a price of an agreement is: in a dimension of the list and, in a calendar list, on a day. */
export interface AgreedCell {
  dimension: string
  date?: string | undefined
}

/** The agreements that a read looks at. */
export interface AgreementScope {
  account: number
  client: string
  list: { name: string; price_dimensions: string[]; decimals: number }
  /** Lines of other codes are left out; undefined: none is. */
  codes: string[] | undefined
  cells: AgreedCell[]
  /** So many agreements, by name, are found whatever their line says. */
  firstByName: number
}

interface StoredAgreement {
  id: number
  name: string
  price_line: Record<string, string | number | boolean>
  /** An array as text: of a client's agreements a read looks at few. */
  prices: string
}

/** Agreements that a read looks at, and the prices that they have in all cells together: about 100 MB, 0.5 seconds. */
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

/** A plain number is the price of every day. Prices round half up to the decimals of the list. */
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

/** An agreement that covers a row, with its price in each of the cells, null where it has none. */
export interface CoveringAgreement {
  id: number
  name: string
  prices: readonly (number | null)[]
}

/** Agreements whose lines say the same, and the best of them for each cell. */
class SameLine {
  readonly stored: StoredAgreement[] = []
  readonly #best: (AgreedPrice | null)[] = []
  #agreements: CoveringAgreement[] | undefined

  get agreements(): CoveringAgreement[] {
    this.#agreements ??= this.stored.map(({ id, name, prices }) => {
      return { id, name, prices: readNumbers(prices) }
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

/** The order of names, then of ids. */
export const byName = (a: Named, b: Named): number =>
  a.name === b.name ? a.id - b.id : a.name < b.name ? -1 : 1

type Named = Pick<StoredAgreement, 'id' | 'name'>

/** Lines that name the same columns. */
interface Shape extends Omit<Line, 'key'> {
  byKey: Map<string, SameLine>
}

/** The agreements by what their lines say, those of most keys first. Yields to other requests. */
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

/** The agreements of a client and list. A row is looked up once for each set of columns that their lines name. */
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

  /** All of them. */
  get byName(): readonly Named[] {
    if (!this.#isSorted) this.#all.sort(byName)
    this.#isSorted = true
    return this.#all
  }

  /** How often a row is looked up. */
  get lookUps(): number {
    return this.#shapes.length
  }

  /** The price that stands in for the published one: of the most keys, then the lowest, then of the lowest id. */
  of(row: AgreedRow, cell: number): AgreedPrice | null {
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
  covering(row: AgreedRow): { agreement: CoveringAgreement; keys: number }[] {
    return this.#shapes.flatMap(({ readKey, keys, byKey }) =>
      (byKey.get(readKey(row))?.agreements ?? []).map((agreement) => ({ agreement, keys })),
    )
  }
}
