import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import { findPriceList } from '../../price-lists/queries.ts'
import type { FoundRows } from './client-prices.ts'
import { loadExplanations } from './explain.ts'
import { loadLowestPrices } from './lowest-price.ts'
import { loadCompetition, loadSales } from './position.ts'
import type { LookUp } from './price-rows.ts'
import type { Pricing } from './pricing.ts'

/** A field of `include` that is looked up for all rows before they are written. */
export interface LookedUp {
  field: 'explain' | 'lowest_price' | 'competition' | 'sales'
  /** The most rows of a read. */
  max: number
  verb: string
}

const comparing = { max: 100_000, verb: 'looks for competition and sales of' }
const lookedUp: LookedUp[] = [
  { field: 'explain', max: 1000, verb: 'explains' },
  { field: 'lowest_price', max: 10_000, verb: 'looks for the lowest price of' },
  { field: 'competition', ...comparing },
  { field: 'sales', ...comparing },
]

/** Throws `result-too-large` if a field is not looked up for this many rows. */
export function rejectMany({ max, verb }: LookedUp, rows: number): void {
  if (rows <= max) return
  const detail = `A read ${verb} at most ${max} rows, this one has ${rows}. Name more of code, extensions and attributes.`
  throw new Problem('result-too-large', detail)
}

/** The requested fields that are looked up. */
export function lookedUpFields({ include = [] }: Schemas['GetPricesInput']): LookedUp[] {
  return lookedUp.filter(({ field }) => include.includes(field))
}

/** Looks up the requested fields. */
export async function loadLookUps(
  trx: Trx,
  pricing: Pricing,
  body: Schemas['GetPricesInput'],
  rows: FoundRows,
): Promise<LookUp> {
  const asks = (field: LookedUp['field']) => body.include?.includes(field) === true
  // Sent together: the database looks up sales while competitors are read.
  const [findCompetition, findSales] = await Promise.all([
    asks('competition') && loadCompetition(trx, pricing, body.competition ?? {}, rows),
    asks('sales') && loadSales(trx, pricing, body.sales ?? {}, rows),
  ])
  const present =
    asks('explain') || asks('lowest_price') ? await withPresentList(trx, pricing) : pricing
  return {
    ...(asks('explain') && { explain: await loadExplanations(trx, present, rows) }),
    ...(asks('lowest_price') && {
      findLowest: await loadLowestPrices(trx, present, body.lowest_price ?? {}, rows),
    }),
    ...(findCompetition && { findCompetition }),
    ...(findSales && { findSales }),
  }
}

/** A cached pricing outlives price changes, but histories must reach the list's current revision. */
async function withPresentList(trx: Trx, pricing: Pricing): Promise<Pricing> {
  const { account_id, id } = pricing.list
  return { ...pricing, list: await findPriceList(trx, account_id, { id }) }
}
