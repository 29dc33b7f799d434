import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { today } from '../price-lists/calendar.ts'
import { findPromotionNames, findValidPromotions, type Promotion } from '../promotions/queries.ts'

/**
 * The promotions of the list that the rows of a read look at and that are valid on its `promotion_date` (today when none
 * is given). A row that names a promotion which does not exist is an error.
 */
export async function findRowPromotions(
  trx: Trx,
  account: number,
  body: Schemas['GetPricesInput'],
  errors: RowErrors,
): Promise<Promotion[]> {
  const rows = errors.sound(body.payload)
  const named = rows.filter(({ row }) => row.promotion !== undefined)
  const names = [...new Set(named.map(({ row }) => row.promotion as string))]
  if (names.length > 0) {
    const known = await findPromotionNames(trx, account, names)
    for (const { row, position } of named) {
      if (!known.has(row.promotion as string))
        errors.add(position, 'promotion', 'unknown_promotion', 'there is no such promotion')
    }
  }
  return findValidPromotions(trx, account, {
    priceListName: body.price_list_name ?? null,
    priceListId: body.price_list_id ?? null,
    date: body.promotion_date ?? today(),
    names: named.length === rows.length ? names : null,
  })
}
