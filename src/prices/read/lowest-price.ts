import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { mapCooperatively } from '../../lib/cooperative.ts'
import { dateOfNumber, dayAfter, dayMs, dayNumber, today } from '../../price-lists/calendar.ts'
import { ofList } from '../../price-lists/queries.ts'
import { type FormerPromotion, findFormerPromotions } from './former-promotions.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { Pricing } from './pricing.ts'
import { findPeriods, type Period } from './published-periods.ts'
import type { WantedRow } from './wanted-rows.ts'

type LowestPrice = Schemas['LowestPrice']
type Options = Partial<NonNullable<Schemas['GetPricesInput']['lowest_price']>>

/** How many days back to look for a reduction. */
const reductionDays = 365
const recentDays = 45
/** No earlier day can be written. */
const firstDay = dayNumber('0001-01-01')

/** The lowest price of a found row before its reduction; null if no day before it is known. */
export type FindLowest = (match: MatchingRow) => LowestPrice | null

/**
 * Finds the lowest price of each row before its reduction, or before a given day. Most reductions are recent: older
 * history is read only for rows without a recent one. Throws `too-costly`.
 */
export async function loadLowestPrices(
  trx: Trx,
  pricing: Pricing,
  { days = 30, before, progressive = false }: Options,
  { wanted, found }: { wanted: WantedRow[]; found: MatchingRow[] },
): Promise<FindLowest> {
  const date = dayNumber(pricing.date)
  const given = before === undefined ? undefined : dayNumber(before)
  const knownFrom = await historyBegin(trx, pricing)
  const lowest = new Map<MatchingRow, LowestPrice | null>()
  for (const span of spansOf(before, progressive)) {
    const left = found.filter((match) => !lowest.has(match))
    if (left.length === 0) break
    const last = given ?? date
    const range = { first: Math.max(last - days - span, firstDay), last }
    const sought = range.first * dayMs <= knownFrom ? reductionDays : span
    const lows = await loadLows(trx, pricing, range, { wanted, found: left })
    for (const [index, match] of left.entries()) {
      const series = lows[index] as DailyLows
      const reduction = given ?? reductionOf(series, date, { span: sought, progressive })
      const from = reduction ?? (sought === reductionDays ? date : undefined)
      if (from !== undefined) lowest.set(match, lowestBefore(series, from, days, knownFrom))
    }
  }
  return (match) => lowest.get(match) ?? null
}

/** How many days back to look for a reduction, in successive attempts. */
function spansOf(before: string | undefined, progressive: boolean): number[] {
  if (before !== undefined) return [0]
  return progressive ? [reductionDays] : [recentDays, reductionDays]
}

/** The lowest price of each row on each day of a range, from the published prices and promotions of those days. */
async function loadLows(
  trx: Trx,
  pricing: Pricing,
  range: Days,
  { wanted, found }: { wanted: WantedRow[]; found: MatchingRow[] },
): Promise<DailyLows[]> {
  const cells = found.map(({ at, code, extensions }) => ({
    ...(wanted[at] as WantedRow),
    code,
    extensions,
  }))
  const days = { begin: dateOfNumber(range.first), end: dateOfNumber(range.last) }
  const [periods, promotionsOf] = await Promise.all([
    findPeriods(trx, pricing.list, cells, `${days.begin}T00:00:00Z`),
    findFormerPromotions(trx, pricing, days),
  ])
  let covered = 0
  return mapCooperatively(found, (match, index) => {
    const promotions = promotionsOf(match, (wanted[match.at] as WantedRow).dimension)
    covered += promotions.length
    if (covered > coveredMax) throw new Problem('too-costly', manyCovered)
    return new DailyLows(periods[index] ?? [], promotions, range)
  })
}

/** How many promotions may cover the rows of a read, counted for each row. */
const coveredMax = 2_000_000
const manyCovered = `A read with lowest_price looks at no more than ${coveredMax} promotions, counted for each row that they cover. Name fewer rows.`

/** The lowest price on each day of a range, where known. */
class DailyLows {
  readonly #first: number
  /** NaN if unknown: an array of nothing but numbers allocates no memory for each. */
  readonly #lows: number[]
  /** The price at the end of the last day, or now; undefined if unknown. */
  readonly last: number | undefined

  constructor(periods: Period[], promotions: FormerPromotion[], { first, last }: Days) {
    this.#first = first
    this.#lows = new Array(last - first + 1).fill(Number.NaN)
    for (const period of periods) {
      const from = Math.max(first, Math.floor(period.from / dayMs))
      const to = Math.min(last, Math.ceil(period.to / dayMs) - 1)
      this.#lower({ first: from, last: to }, period.price)
      for (const one of promotions) {
        if (one.from >= period.to || one.until <= period.from) continue
        const begin = Math.max(from, one.validFrom, Math.floor(one.from / dayMs))
        const end = Math.min(to, one.validTo, Math.ceil(one.until / dayMs) - 1)
        if (begin <= end) this.#lower({ first: begin, last: end }, one.reprice(period.price))
      }
    }
    this.last = lastPrice(periods, promotions, last)
  }

  /** Undefined if the row has no known price on that day. */
  of(day: number): number | undefined {
    const price = this.#lows[day - this.#first]
    return Number.isNaN(price) ? undefined : price
  }

  /** The price of the last known day before a day. */
  before(day: number): number | undefined {
    for (let earlier = day - 1; earlier >= this.#first; earlier--) {
      const price = this.of(earlier)
      if (price !== undefined) return price
    }
    return undefined
  }

  #lower({ first, last }: Days, price: number): void {
    for (let at = first - this.#first; at <= last - this.#first; at++) {
      const known = this.#lows[at] ?? Number.NaN
      if (!(known <= price)) this.#lows[at] = price
    }
  }
}

/** The price in force at the end of a day, or now if the day is not over. */
function lastPrice(
  periods: Period[],
  promotions: FormerPromotion[],
  day: number,
): number | undefined {
  const [begin, end] = [day * dayMs, (day + 1) * dayMs]
  let held: Period | undefined
  for (const period of periods)
    if (period.from < end && period.to > begin && period.from >= (held?.from ?? period.from))
      held = period
  if (!held) return undefined
  const { price } = held
  const moment = Math.min(held.to, end)
  const inForce = promotions.filter(
    (one) => one.from < moment && one.until >= moment && one.validFrom <= day && one.validTo >= day,
  )
  return Math.min(price, ...inForce.map((one) => one.reprice(price)))
}

/** The first and last day, as day numbers. */
interface Days {
  first: number
  last: number
}

/**
 * The last day of the span on which the price fell from above the present price; when `progressive`, the first of the
 * falls that led there without a rise. Undefined if there is none.
 */
function reductionOf(
  series: DailyLows,
  date: number,
  { span, progressive }: { span: number; progressive: boolean },
): number | undefined {
  const present = series.last ?? series.before(date)
  const first = date + 1 - span
  for (let day = date; day >= first; day--) {
    const [price, before] = [series.of(day), series.before(day)]
    if (before === undefined || present === undefined) return undefined
    if (price !== undefined && price < before && present < before)
      return progressive ? firstFall(series, day, first) : day
  }
  return undefined
}

function firstFall(series: DailyLows, fall: number, first: number): number {
  let found = fall
  for (let day = fall - 1; day >= first; day--) {
    const [price, before] = [series.of(day), series.before(day)]
    if (price === undefined || before === undefined) continue
    if (price > before) break
    if (price < before) found = day
  }
  return found
}

function lowestBefore(
  series: DailyLows,
  reduction: number,
  days: number,
  knownFrom: number,
): LowestPrice | null {
  const from = reduction - days
  let lowest: { price: number; on: number } | undefined
  let days_known = 0
  for (let day = from; day < reduction; day++) {
    const price = series.of(day)
    if (price === undefined) continue
    days_known++
    if (lowest === undefined || price <= lowest.price) lowest = { price, on: day }
  }
  if (!lowest) return null
  return {
    price: lowest.price,
    on: dateOfNumber(lowest.on),
    from: dateOfNumber(from),
    to: dateOfNumber(reduction - 1),
    reduction_from: dateOfNumber(reduction),
    days_known,
    complete: knownFrom <= from * dayMs,
  }
}

/** When the list's known history begins, in milliseconds. */
async function historyBegin(trx: Trx, { list }: Pricing): Promise<number> {
  if (list.oldest_at) return list.oldest_at.getTime()
  const { at } = await onlyRow<{ at: Date | null }>(trx)`
    select min(at) as at from list_revisions
    where ${ofList(list)}`
  return at?.getTime() ?? Number.POSITIVE_INFINITY
}

/** The latest `before` that a read may give: 400 days ahead. */
export const lastBefore = (): string => dayAfter(today(), 400)
