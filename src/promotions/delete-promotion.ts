import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { keepPromotions } from './queries.ts'

/** Deletes a promotion. Throws `not-found`, also for another account's promotion. */
export const deletePromotion: Handler<'deletePromotion'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    await keepPromotions(trx, account, sql`id = ${params.id}`)
    const { numDeletedRows } = await trx
      .deleteFrom('promotions')
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw new Problem('not-found', 'There is no such promotion.')
    return undefined
  })
