import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'

/** Deletes a promotion; `not-found` alike for what does not exist and what another account has. */
export const deletePromotion: Handler<'deletePromotion'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('promotions')
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw new Problem('not-found', 'There is no such promotion.')
    return undefined
  })
