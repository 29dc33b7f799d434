import { sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import type { Answer, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { inAttempt, type RunningJob } from '../../jobs/attempt.ts'
import { endWithResult } from '../../jobs/job-row.ts'
import { type RunJob, refusable } from '../../jobs/run-job.ts'
import { lockListOf } from '../../price-lists/queries.ts'
import { planReprice } from '../reprice/plan-reprice.ts'
import { readCall } from '../reprice/reprice-call.ts'
import { planOfRevert } from '../revert/revert-price-list.ts'
import type { LargeCall } from './enqueue-plan.ts'
import { planSync } from './plan-moves.ts'

/** Makes a large plan in one transaction. Its result names the plan. */
export const runMakePlan: RunJob = refusable((attempt, { query }) =>
  inAttempt(attempt, async (trx, job) => {
    // For the statement that stores the largest plan.
    await sql`set local statement_timeout = '1h'`.execute(trx)
    const { body } = await makePlan(trx, job, query as unknown as LargeCall)
    await endWithResult(trx, job, { plan_id: body.id })
  }),
)

async function makePlan(
  trx: Trx,
  job: RunningJob,
  call: LargeCall,
): Promise<Answer<Schemas['Plan']>> {
  const list = await lockListOf(trx, job)
  if (call.operation === 'reprice')
    return planReprice(trx, list, await readCall(trx, list, call), job.origin)
  if (call.operation === 'revert') return planOfRevert(trx, list, call, job.origin)
  return planSync(trx, list, await findColumns(trx, list.account_id), job.origin)
}
