import { changeSettingsVersion } from '../accounts/queries.ts'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'

/** Deletes a promotion. Throws `not-found` also for a promotion of another account. */
export const deletePromotion: Handler<'deletePromotion'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('promotions')
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw new Problem('not-found', 'There is no such promotion.')
    await changeSettingsVersion(trx, account)
    return undefined
  })
