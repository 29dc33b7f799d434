import { sql } from 'kysely'
import { transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { keepPromotions } from './queries.ts'

/** Deletes a promotion. Throws `not-found`, also for another account's promotion. */
export const deletePromotion = transaction<'deletePromotion'>(async (trx, { account, params }) => {
  await keepPromotions(trx, account, sql`id = ${params.id}`)
  const { numDeletedRows } = await trx
    .deleteFrom('promotions')
    .where('account_id', '=', account)
    .where('id', '=', params.id)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw new Problem('not-found', 'There is no such promotion.')
  return undefined
})
