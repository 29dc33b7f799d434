import { sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
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
  list: { name: string; price_dimensions: string[] }
  /** Lines of other codes are left out; undefined: none is. */
  codes: string[] | undefined
  cells: AgreedCell[]
  /** So many agreements, by name, are found whatever their line says. */
  firstByName: number
}

/** An agreement with its price in each of the cells, null where it has none. */
export interface FoundAgreement {
  id: number
  name: string
  prices: (number | null)[]
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
  if (scope.cells.length === 0) return new AgreedPrices([], columns)
  const most = Math.floor(Math.min(agreementsMax, pricesMax / scope.cells.length))
  const found = await findAgreements(trx, scope, most + 1)
  if (found.length > most) {
    const detail = `A read looks at no more than ${most} agreements of a client and list for ${scope.cells.length} dimensions and days, there are more. Name codes, or fewer days.`
    throw new Problem('too-costly', detail)
  }
  return new AgreedPrices(found, columns)
}

type StoredAgreement = FoundAgreement & { price_line: Record<string, string | number | boolean> }

/** A plain number is the price of every day. */
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
  const { rows } = await sql<StoredAgreement>`
    select id, name, price_line, array(
      select case jsonb_typeof(held) when 'number' then held::numeric when 'object' then (held ->> date)::numeric end
      from unnest(${cells.map(({ dimension }) => dimension)}::text[], ${cells.map(({ date }) => date ?? null)}::text[])
        as cell (dimension, date)
      cross join lateral (select coalesce(prices -> dimension, prices -> ${only}::text) as held) as price
    ) as prices
    from agreements
    where ${ofList} and ${codes ? chosen : sql`true`}
    limit ${limit}`.execute(trx)
  return rows
}

/** Agreements whose lines say the same, and the best of them for each cell. */
class SameLine {
  readonly agreements: FoundAgreement[] = []
  readonly #best: (AgreedPrice | null)[] = []

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

type Named = Pick<FoundAgreement, 'id' | 'name'>

/** Lines that name the same columns. */
interface Shape {
  readKey: Line['readKey']
  keys: number
  byKey: Map<string, SameLine>
}

/** The agreements of a client and list, by what their lines say. A row is looked up once for each set of columns. */
export class AgreedPrices {
  readonly #all: FoundAgreement[]
  readonly #shapes: Shape[]
  #isSorted = false
  readonly usesAttributes: boolean

  constructor(agreements: StoredAgreement[], columns: Columns) {
    const shapes = new Map<string, Shape>()
    const readLine = linesReader(columns)
    let usesAttributes = false
    for (const { price_line, ...agreement } of agreements) {
      const line = readLine(price_line)
      if (!line) continue
      usesAttributes ||= line.usesAttributes
      const shape = shapes.get(line.columns) ?? { ...line, byKey: new Map() }
      shapes.set(line.columns, shape)
      const same = shape.byKey.get(line.key) ?? new SameLine()
      shape.byKey.set(line.key, same)
      same.agreements.push(agreement)
    }
    this.#all = agreements
    this.usesAttributes = usesAttributes
    this.#shapes = [...shapes.values()].sort((a, b) => b.keys - a.keys)
  }

  /** All of them. */
  get byName(): readonly FoundAgreement[] {
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
  covering(row: AgreedRow): { agreement: FoundAgreement; keys: number }[] {
    return this.#shapes.flatMap(({ readKey, keys, byKey }) =>
      (byKey.get(readKey(row))?.agreements ?? []).map((agreement) => ({ agreement, keys })),
    )
  }
}
