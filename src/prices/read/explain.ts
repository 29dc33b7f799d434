import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import { inputName } from '../../price-lists/formula.ts'
import { parseMarginFormula } from '../../price-lists/margin-formula.ts'
import { compileCoverage } from '../../promotions/promoted-prices.ts'
import { compileReprice, type Reprice } from '../../promotions/promotion-price.ts'
import { isValidOn, type Promotion, promotionsAsOf } from '../../promotions/queries.ts'
import { type FoundRows, judgeAgreements } from './client-prices.ts'
import type { MatchingRow } from './matching-rows.ts'
import { findHistories } from './price-histories.ts'
import type { PricedRow } from './priced-row.ts'
import type { Pricing } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

type Explanation = Schemas['Explanation']
type Verdict = Explanation['promotions'][number]['verdict']

/** The most promotions that a read examines per account, and shows per row. */
export const promotionsMax = 10_000
const shownMax = 100

export type Explain = (priced: PricedRow) => Explanation

/** Loads the explanations for the found rows. Throws `too-costly` above 10,000 promotions. */
export async function loadExplanations(
  trx: Trx,
  pricing: Pricing,
  { wanted, found, client }: FoundRows,
): Promise<Explain> {
  const published = await findPublished(trx, pricing, wanted, found)
  const promotions = await findPromotions(trx, pricing)
  const filters = promotions.map(({ product_filters }) => ({
    product_filters,
    price_dimensions: null,
  }))
  const { covering } = await compileCoverage(filters, pricing.columns)
  return (priced) => {
    const { match, active_price, agreement } = priced
    const standing = agreement?.price ?? match.price
    const covered = new Set(covering({ ...match, dimension: '' }))
    const verdicts = promotions
      .map((promotion, place) => judge(promotion, covered.has(place), pricing, priced))
      .filter((judged) => judged !== undefined)
    const decisive = verdicts.find(
      ({ verdict, price }) =>
        verdict === 'not_lowest' && price === active_price && active_price < standing,
    )
    if (decisive) decisive.verdict = 'in_force'
    return {
      published: published.get(match) ?? { price: match.price },
      promotions: shownVerdicts(verdicts),
      agreements: client ? judgeAgreements(client, priced) : [],
      ...(pricing.moment === undefined && { margin: marginOf(pricing, match) }),
      decided_by: decisive ? 'promotion' : agreement ? 'agreement' : 'published',
    }
  }
}

/** The first 100, always with the one in force. */
function shownVerdicts(verdicts: Explanation['promotions']): Explanation['promotions'] {
  const inForce = verdicts.findIndex(({ verdict }) => verdict === 'in_force')
  if (inForce < shownMax) return verdicts.slice(0, shownMax)
  return [...verdicts.slice(0, shownMax - 1), ...verdicts.slice(inForce, inForce + 1)]
}

/** Throws `too-costly` above 10,000 promotions: without some of them, the response would be wrong. */
export function rejectManyPromotions(promotions: number): void {
  if (promotions <= promotionsMax) return
  const detail = `A read with explain or lowest_price looks at no more than ${promotionsMax} promotions, the account has more. Delete promotions that are over.`
  throw new Problem('too-costly', detail)
}

/** Finds when, how and by whom the published price of each row was set. */
async function findPublished(
  trx: Trx,
  { list, moment }: Pricing,
  wanted: WantedRow[],
  found: MatchingRow[],
): Promise<Map<MatchingRow, Explanation['published']>> {
  const cells = found.map(({ at, code, extensions }) => ({
    ...(wanted[at] as WantedRow),
    code,
    extensions,
  }))
  const histories = await findHistories(trx, list, cells, {
    untilRevision: moment?.revision ?? list.version,
  })
  return new Map(
    found.map((match, index) => {
      const entries = JSON.parse(histories[index]?.entries ?? '[]') as Schemas['PriceEntry'][]
      const { from, to: _, price: __, ...entry } = entries.at(-1) ?? { from: undefined }
      return [match, { price: match.price, ...(from !== undefined && { at: from }), ...entry }]
    }),
  )
}

interface StoredPromotion extends Promotion {
  price_lists: string[] | null
  is_valid: boolean
}

interface Judged extends StoredPromotion {
  reprice: Reprice
}

async function findPromotions(trx: Trx, pricing: Pricing): Promise<Judged[]> {
  const { list, moment, date } = pricing
  const { rows } = await sql<StoredPromotion>`
    select name, kind, value, product_filters, price_dimensions, price_lists, ${isValidOn(date)} as is_valid
    from ${promotionsAsOf(list.account_id, moment?.at)}
    where account_id = ${list.account_id} order by name limit ${promotionsMax + 1}`.execute(trx)
  rejectManyPromotions(rows.length)
  return rows.map((promotion) => {
    return { ...promotion, reprice: compileReprice(promotion, list.decimals) }
  })
}

/** Why a promotion is in force or not; undefined for one that is neither valid on the day nor covers the row. */
function judge(
  promotion: Judged,
  isCovered: boolean,
  { list }: Pricing,
  { row, match, published }: PricedRow,
): Explanation['promotions'][number] | undefined {
  const { name, kind, value, is_valid, price_lists, price_dimensions } = promotion
  if (!is_valid && !isCovered) return undefined
  const dimension = list.price_dimensions[row.dimension - 1] ?? ''
  const shown = (verdict: Verdict) => ({ name, kind, value, verdict })
  if (!is_valid) return shown('not_valid')
  if (price_lists && !price_lists.includes(list.name)) return shown('other_list')
  if (!isCovered) return shown('other_product')
  if (price_dimensions && !price_dimensions.includes(dimension)) return shown('other_dimension')
  const { promotion: only } = row.row
  const judged = shown(only !== undefined && only !== name ? 'not_named' : 'not_lowest')
  const isPriced = published !== null || kind === 'fixed_price'
  return { ...judged, ...(isPriced && { price: promotion.reprice(match.price) }) }
}

/** The margin at the published price. */
function marginOf({ list, columns }: Pricing, { price, costs = [] }: MatchingRow) {
  const inputs = columns.costs.map(
    (column, index) => [inputName(column, columns.costs), costs[index] ?? null] as const,
  )
  return {
    formula: list.margin_formula,
    inputs: { Price: price, ...Object.fromEntries(inputs) },
    value: parseMarginFormula(list.margin_formula, columns.costs)(price, costs),
  }
}
