import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { today } from '../price-lists/calendar.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { findPromotionNames, findValidPromotions, type Promotion } from '../promotions/queries.ts'
import type { WantedRow } from './wanted-rows.ts'

/**
 * The promotions of the list that the rows of a read look at and that are valid on the day (today when none is given). A
 * row that names a promotion which does not exist is an error.
 */
export async function findRowPromotions(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  date: string = today(),
  errors: RowErrors,
): Promise<Promotion[]> {
  const named = wanted.filter(({ row }) => row.promotion !== undefined)
  const names = [...new Set(named.map(({ row }) => row.promotion as string))]
  if (names.length > 0) {
    const known = await findPromotionNames(trx, list.account_id, names)
    for (const { row, position } of named) {
      if (!known.has(row.promotion as string))
        errors.add(position, 'promotion', 'unknown_promotion', 'there is no such promotion')
    }
  }
  return findValidPromotions(trx, list.account_id, {
    priceList: list.name,
    date,
    names: named.length === wanted.length ? names : null,
  })
}
