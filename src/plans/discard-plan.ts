import { sql } from 'kysely'
import { transaction } from '../contract/operation.ts'
import { lockPlan, rejectEnded } from './queries.ts'

/** Discards an open or scheduled plan. Throws `not-found`, `plan-not-open`. */
export const discardPlan = transaction<'discardPlan'>(async (trx, { account, params }) => {
  rejectEnded(await lockPlan(trx, account, params.id), ['open', 'scheduled'])
  await trx
    .updateTable('plans')
    .set({ status: 'discarded', ended_at: sql`statement_timestamp()` })
    .where('account_id', '=', account)
    .where('id', '=', params.id)
    .execute()
  return undefined
})
