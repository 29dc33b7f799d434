import {
  type AgreedCell,
  type AgreedPrice,
  type AgreedPrices,
  byName,
  loadAgreedPrices,
} from '../../agreements/agreed-prices.ts'
import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { Pricing } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A client's agreed prices for the rows of a read. */
export interface ClientPrices {
  agreed: AgreedPrices
  agreedPrice: (row: WantedRow, match: MatchingRow) => AgreedPrice | null
  /** The index of the row's dimension and day in an agreement's prices. */
  cellOf: (row: WantedRow) => number
}

/** The rows of a read, and the prices of its client. */
export interface FoundRows {
  wanted: WantedRow[]
  found: MatchingRow[]
  client: ClientPrices | undefined
}

/** A read: its body, its rows, and an upper bound on the list rows that they match. */
interface ClientRead {
  body: Schemas['GetPricesInput']
  wanted: WantedRow[]
  most: number
}

/** Loads the agreements that may decide a read; undefined without a client. Throws `too-costly`. */
export async function findClientPrices(
  trx: Trx,
  { list, columns }: Pricing,
  { body: { client_code: client, include }, wanted, most }: ClientRead,
): Promise<ClientPrices | undefined> {
  if (client === undefined) return undefined
  const codes = wanted.map(({ code }) => code)
  const { cells, cellOf } = cellsOf(wanted, list.price_dimensions)
  const agreed = await loadAgreedPrices(trx, columns, {
    account: list.account_id,
    client,
    list,
    codes: codes.includes(null) ? undefined : [...new Set(codes as string[])],
    cells,
    firstByName: include?.includes('explain') ? explainedMax : 0,
  })
  rejectCostlyLines(agreed, most)
  return { agreed, cellOf, agreedPrice: (row, match) => agreed.of(match, cellOf(row)) }
}

/** The distinct dimensions and days of the rows. */
function cellsOf(wanted: WantedRow[], dimensions: string[]) {
  const cells: AgreedCell[] = []
  const places = new Map<string, number>()
  const placeOf = new Map<WantedRow, number>()
  for (const row of wanted) {
    const { dimension, date } = row
    const name = dimensions[dimension - 1] ?? ''
    const key = `${dimension} ${date}`
    const place = places.get(key) ?? cells.push({ dimension: name, date }) - 1
    places.set(key, place)
    placeOf.set(row, place)
  }
  return { cells, cellOf: (row: WantedRow) => placeOf.get(row) ?? 0 }
}

/** Look-ups per read, about 20 seconds: a row takes one for each set of columns that price lines name. */
const lookUpsMax = 100_000_000

function rejectCostlyLines({ lookUps }: AgreedPrices, rows: number): void {
  if (rows * lookUps <= lookUpsMax) return
  const detail = `The price lines of the client name ${lookUps} different sets of columns, too many for ${rows} rows. Send fewer rows.`
  throw new Problem('too-costly', detail)
}

type Judged = Schemas['Explanation']['agreements'][number]

/** The most agreements that an explanation shows for a row. */
const explainedMax = 100

interface JudgedRow {
  row: WantedRow
  match: MatchingRow
  agreement: AgreedPrice | null | undefined
}

/**
 * Explains why agreements are in force for a row or not, by name. Keeps at most 100: the one in force first, then those
 * that cover the row.
 */
export function judgeAgreements(
  { agreed, cellOf }: ClientPrices,
  { row, match, agreement: inForce }: JudgedRow,
): Judged[] {
  const cell = cellOf(row)
  const covering = agreed.covering(match)
  const most = covering.find(({ agreement }) => agreement.id === inForce?.id)?.keys ?? 0
  const judged = covering.map(({ agreement: { id, name, prices }, keys }): Judged => {
    const price = prices[cell] ?? null
    if (price === null) return { id, name, verdict: 'no_price' }
    if (id === inForce?.id) return { id, name, price, verdict: 'in_force' }
    return { id, name, price, verdict: keys < most ? 'less_specific' : 'higher' }
  })
  return [
    ...judged.filter(({ verdict }) => verdict === 'in_force'),
    ...judged.filter(({ verdict }) => verdict !== 'in_force').sort(byName),
    ...firstOthers(agreed, new Set(judged.map(({ id }) => id))),
  ]
    .slice(0, explainedMax)
    .sort(byName)
}

function firstOthers({ byName }: AgreedPrices, covering: ReadonlySet<number>): Judged[] {
  const others: Judged[] = []
  for (const { id, name } of byName) {
    if (others.length === explainedMax) break
    if (!covering.has(id)) others.push({ id, name, verdict: 'other_product' })
  }
  return others
}
