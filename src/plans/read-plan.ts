import type { Handler } from '../contract/operation.ts'
import { findPlan, planOf } from './queries.ts'

/** Returns a plan. Throws `not-found`. */
export const readPlan: Handler<'readPlan'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => planOf(await findPlan(trx, account, params.id)))
