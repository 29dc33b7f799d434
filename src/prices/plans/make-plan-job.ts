import { findColumns } from '../../catalog/columns.ts'
import type { Answer, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import type { RunningJob } from '../../jobs/attempt.ts'
import { inOneTransaction, type RunJob, refusable } from '../../jobs/run-job.ts'
import { lockListOf } from '../../price-lists/queries.ts'
import { planReprice } from '../reprice/plan-reprice.ts'
import { readCall } from '../reprice/reprice-call.ts'
import { planOfRevert } from '../revert/revert-price-list.ts'
import type { LargeCall } from './enqueue-plan.ts'
import { planSync } from './plan-moves.ts'

/** Makes a large plan in one transaction. The job's result names the plan. */
export const runMakePlan: RunJob = refusable((attempt, job) =>
  inOneTransaction(attempt, async (trx) => {
    const { body } = await makePlan(trx, job, job.query as unknown as LargeCall)
    return { result: { plan_id: body.id } }
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
