import { transaction } from '../contract/operation.ts'
import { findPlan, planOf } from './queries.ts'

/** Returns a plan. Throws `not-found`. */
export const readPlan = transaction<'readPlan'>(async (trx, { account, params }) =>
  planOf(await findPlan(trx, account, params.id)),
)
