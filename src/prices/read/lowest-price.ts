import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import { dayAfter, today } from '../../price-lists/calendar.ts'
import { compileReprice, type Reprice } from '../../promotions/promotion-price.ts'
import type { Promotion } from '../../promotions/queries.ts'
import { coversOf, promotionsMax, rejectManyPromotions } from './explain.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { Pricing } from './pricing.ts'
import { findPeriods, type Period } from './published-periods.ts'
import type { WantedRow } from './wanted-rows.ts'

type LowestPrice = Schemas['LowestPrice']
type Options = Partial<NonNullable<Schemas['GetPricesInput']['lowest_price']>>

export const lowestRowsMax = 10_000
/** A reduction is looked for so many days back. */
const reductionDays = 365
const dayMs = 86_400_000

/** The lowest price of each found row before its reduction; null if no day of it is known. */
export type FindLowest = (match: MatchingRow) => LowestPrice | null

/** Throws `result-too-large` for more than 10,000 rows. */
export function rejectManyLowest(rows: number): void {
  if (rows <= lowestRowsMax) return
  const detail = `A read looks for the lowest price of at most ${lowestRowsMax} rows, this one has ${rows}. Name more of code, extensions and attributes.`
  throw new Problem('result-too-large', detail)
}

/** Loads the published prices and the promotions of the days that may count. */
export async function loadLowestPrices(
  trx: Trx,
  pricing: Pricing,
  { days = 30, before, progressive = false }: Options,
  { wanted, found }: { wanted: WantedRow[]; found: MatchingRow[] },
): Promise<FindLowest> {
  rejectManyLowest(found.length)
  const end = before ?? pricing.date
  const begin = dayAfter(end, -days - (before === undefined ? reductionDays : 0))
  const date = dayNumber(pricing.date)
  const given = before === undefined ? undefined : dayNumber(before)
  const cells = found.map(({ at, code, extensions }) => ({
    ...(wanted[at] as WantedRow),
    code,
    extensions,
  }))
  const [periods, promotions, knownFrom] = await Promise.all([
    findPeriods(trx, pricing.list, cells, `${begin}T00:00:00Z`),
    findPromotions(trx, pricing, { begin, end }),
    historyBegin(trx, pricing),
  ])
  const places = new Map(found.map((match, index) => [match, index]))
  const range = { first: dayNumber(begin), last: dayNumber(end) }
  return (match) => {
    const index = places.get(match) as number
    const { dimension } = wanted[match.at] as WantedRow
    const covering = promotions.filter((promotion) => promotion.covers(match, dimension))
    const series = new DailyLows(periods[index] ?? [], covering, range)
    const from = given ?? reductionOf(series, date, progressive)
    return lowestBefore(series, from, days, knownFrom)
  }
}

/** A day as a number: the loops over a year of a thousand rows take a tenth of the time of dates as texts. */
const dayNumber = (date: string): number => Date.parse(`${date}T00:00:00Z`) / dayMs
const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

interface Defined {
  validFrom: number
  validTo: number
  /** When the promotion was defined so. */
  from: number
  until: number
  reprice: Reprice
  covers: (match: MatchingRow, dimension: number) => boolean
}

/** The lowest price of each day of a range, as far as it is known. */
class DailyLows {
  readonly #first: number
  readonly #lows: (number | undefined)[]

  constructor(periods: Period[], promotions: Defined[], { first, last }: Days) {
    this.#first = first
    this.#lows = new Array(last - first + 1).fill(undefined)
    for (const period of periods) {
      const from = Math.max(first, Math.floor(period.from / dayMs))
      const to = Math.min(last, Math.ceil(period.to / dayMs) - 1)
      for (let day = from; day <= to; day++) this.#count(period, day, promotions)
    }
  }

  /** Undefined if the row had no price that day. */
  of(day: number): number | undefined {
    return this.#lows[day - this.#first]
  }

  /** The price of the last known day before a day. */
  before(day: number): number | undefined {
    for (let earlier = day - 1; earlier >= this.#first; earlier--) {
      const price = this.of(earlier)
      if (price !== undefined) return price
    }
    return undefined
  }

  #count({ price, from, to }: Period, day: number, promotions: Defined[]): void {
    this.#lower(day, price)
    const [begin, end] = [Math.max(from, day * dayMs), Math.min(to, (day + 1) * dayMs)]
    for (const one of promotions) {
      const isDefined = one.from < end && one.until > begin
      if (isDefined && one.validFrom <= day && one.validTo >= day)
        this.#lower(day, one.reprice(price))
    }
  }

  #lower(day: number, price: number): void {
    const known = this.of(day)
    if (known === undefined || price < known) this.#lows[day - this.#first] = price
  }
}

/** Numbers of days. */
interface Days {
  first: number
  last: number
}

/**
 * The last day on which the price fell, if it is still below what it was before; with `isProgressive` the first of the
 * falls that lead there without a rise. The day itself if there is none.
 */
function reductionOf(series: DailyLows, date: number, isProgressive: boolean): number {
  const present = series.of(date) ?? series.before(date)
  const first = date + 1 - reductionDays
  for (let day = date; day >= first; day--) {
    const [price, before] = [series.of(day), series.before(day)]
    if (before === undefined || present === undefined) break
    if (price !== undefined && price < before && present < before)
      return isProgressive ? firstFall(series, day, first) : day
  }
  return date
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
    on: dateOf(lowest.on),
    from: dateOf(from),
    to: dateOf(reduction - 1),
    reduction_from: dateOf(reduction),
    days_known,
    complete: knownFrom <= from * dayMs,
  }
}

interface StoredDays {
  valid_from: string
  valid_to: string
  from: number
  until: number
}

/** Promotions of the list that were valid on a day of the range, each as it was defined at a time. */
async function findPromotions(
  trx: Trx,
  { list, columns }: Pricing,
  { begin, end }: { begin: string; end: string },
): Promise<Defined[]> {
  const terms = sql`kind, value, valid_from, valid_to, price_lists, product_filters, price_dimensions`
  const { rows } = await sql<Promotion & StoredDays>`
    select kind, value, valid_from, valid_to, product_filters, price_dimensions,
      extract(epoch from greatest(from_at, '0001-01-01')) * 1000 as "from",
      extract(epoch from least(until_at, '9999-12-31')) * 1000 as until
    from (
      select ${terms}, changed_at as from_at, 'infinity'::timestamptz as until_at from promotions
      where account_id = ${list.account_id}
      union all select ${terms}, from_at, until_at from promotion_versions where account_id = ${list.account_id}
    ) as promotions
    where valid_to >= ${begin}::date and valid_from <= ${end}::date
      and (price_lists is null or ${list.name} = any(price_lists))
    limit ${promotionsMax + 1}`.execute(trx)
  rejectManyPromotions(rows.length)
  return rows.map((promotion) => {
    const isCovered = coversOf(promotion, columns)
    const { price_dimensions, from, until, valid_from, valid_to } = promotion
    const covers = (match: MatchingRow, dimension: number) =>
      isCovered(match) &&
      (price_dimensions?.includes(list.price_dimensions[dimension - 1] ?? '') ?? true)
    const moments = { from: Number(from), until: Number(until) }
    const valid = { validFrom: dayNumber(valid_from), validTo: dayNumber(valid_to) }
    return { ...valid, ...moments, reprice: compileReprice(promotion, list.decimals), covers }
  })
}

/** When the known history of the list begins. */
async function historyBegin(trx: Trx, { list }: Pricing): Promise<number> {
  if (list.oldest_at) return list.oldest_at.getTime()
  const { rows } = await sql<{ at: Date | null }>`
    select min(at) as at from list_revisions
    where account_id = ${list.account_id} and price_list_id = ${list.id}`.execute(trx)
  return rows[0]?.at?.getTime() ?? Number.POSITIVE_INFINITY
}

/** The latest `before`. */
export const lastBefore = (): string => dayAfter(today(), 400)
