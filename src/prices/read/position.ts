import { findCompetitors, standing } from '../../competitor-prices/competition.ts'
import type { Schemas } from '../../contract/operation.ts'
import { readInParts } from '../../contract/read-cost.ts'
import type { Trx } from '../../database/pool.ts'
import { findSalesFigures } from '../../sales-history/sales-figures.ts'
import type { FoundRows } from './client-prices.ts'
import { fewerRows } from './count-rows.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { PricedRow } from './priced-row.ts'
import type { Pricing } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

type Input = Schemas['GetPricesInput']

export type FindCompetition = (priced: PricedRow) => Schemas['Competition'] | null
export type FindSales = (match: MatchingRow) => Schemas['SalesFigures']

/** Loads competitor prices. Throws `too-costly`. */
export async function loadCompetition(
  trx: Trx,
  { list, columns }: Pricing,
  { max_age_days = 30, names }: Partial<NonNullable<Input['competition']>>,
  { wanted, found }: FoundRows,
): Promise<FindCompetition> {
  const rows = found.map((match) => ({ ...match, date: (wanted[match.at] as WantedRow).date }))
  const competitors = await readInParts(fewerRows, rows, (rows) =>
    findCompetitors(trx, list.account_id, columns, { rows, max_age_days, names }),
  )
  const byMatch = new Map(found.map((match, index) => [match, competitors[index]]))
  return ({ match, active_price, agreement }) => {
    const hasPrice = match.is_priced === true || agreement
    return standing(byMatch.get(match) ?? null, hasPrice ? active_price : null)
  }
}

/** Loads sales up to the day of the promotions. Throws as `loadCompetition` does. */
export async function loadSales(
  trx: Trx,
  { list, date }: Pricing,
  { days = 30 }: Partial<NonNullable<Input['sales']>>,
  { wanted, found }: FoundRows,
): Promise<FindSales> {
  const scope = { account: list.account_id, list, days, until: date }
  const rows = found.map(({ at, code, extensions }) => {
    const { dimension } = wanted[at] as WantedRow
    return { code, extensions, dimension: list.price_dimensions[dimension - 1] ?? '' }
  })
  const figures = await readInParts(fewerRows, rows, (some) => findSalesFigures(trx, scope, some))
  const byMatch = new Map(found.map((match, index) => [match, figures[index]]))
  return (match) => byMatch.get(match) as Schemas['SalesFigures']
}
