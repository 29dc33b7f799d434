import { sql } from 'kysely'
import type { Trx } from '../../database/pool.ts'
import { dayNumber } from '../../price-lists/calendar.ts'
import { compileCoverage } from '../../promotions/promoted-prices.ts'
import { compileReprice, type Reprice } from '../../promotions/promotion-price.ts'
import type { Promotion } from '../../promotions/queries.ts'
import { promotionsMax, rejectManyPromotions } from './explain.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { Pricing } from './pricing.ts'

/** A promotion as it was defined from one time until another. Days are numbers, times milliseconds. */
export interface FormerPromotion {
  validFrom: number
  validTo: number
  from: number
  until: number
  reprice: Reprice
}

interface StoredDays {
  valid_from: string
  valid_to: string
  from: number
  until: number
}

/**
 * Finds the list's promotions that were valid on a day of the range, in each of their versions. Returns a function that
 * returns those that cover a row. Throws `too-costly`.
 */
export async function findFormerPromotions(
  trx: Trx,
  { list, columns }: Pricing,
  { begin, end }: { begin: string; end: string },
): Promise<(match: MatchingRow, dimension: number) => FormerPromotion[]> {
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
  const { covering } = await compileCoverage(rows, columns)
  const promotions = rows.map((promotion) => ({
    validFrom: dayNumber(promotion.valid_from),
    validTo: dayNumber(promotion.valid_to),
    from: promotion.from,
    until: promotion.until,
    reprice: compileReprice(promotion, list.decimals),
  }))
  return (match, dimension) =>
    covering({ ...match, dimension: list.price_dimensions[dimension - 1] ?? '' }).map(
      (place) => promotions[place] as FormerPromotion,
    )
}
