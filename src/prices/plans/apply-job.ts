import { sql } from 'kysely'
import { Problem, problemBody } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'
import {
  type Attempt,
  AttemptLost,
  inAttempt,
  inOneTransaction,
  lockCurrent,
  type RunningJob,
} from '../../jobs/attempt.ts'
import { endWithResult } from '../../jobs/job-row.ts'
import { type RunJob, refusable } from '../../jobs/run-job.ts'
import { rejectEnded, reopenPlan, reopenPlanOf } from '../../plans/queries.ts'
import { apply, lockPlanWithList } from './apply-plan.ts'

interface AppliedPlan {
  plan_id: number
  skip?: ('stale' | 'violations')[]
  /** Whether its moment has come: nobody waits for the answer. */
  is_scheduled?: boolean
}

/**
 * Applies a plan in one transaction. If it is refused or cancelled, the plan is open again, to be applied in another way; a
 * scheduled plan that is refused has failed.
 */
export const runApplyPlan: RunJob = refusable(async (attempt, row) => {
  const call = row.query as unknown as AppliedPlan
  try {
    await inOneTransaction(attempt, (trx) => applyInJob(trx, { attempt, job: row, call }))
  } catch (error) {
    if (error instanceof Problem)
      await inAttempt(attempt, (trx, job) =>
        call.is_scheduled
          ? failPlan(trx, job, call, error)
          : reopenPlan(trx, job.account_id, call.plan_id),
      )
    if (error instanceof AttemptLost)
      await inAccount(attempt.db, attempt.account, (trx) => reopenPlanOf(trx, row))
    throw error
  }
})

async function applyInJob(
  trx: Trx,
  { attempt, job, call }: { attempt: Attempt; job: RunningJob; call: AppliedPlan },
): Promise<void> {
  const plan = await lockPlanWithList(trx, job.account_id, call.plan_id)
  rejectEnded(plan, ['scheduled'])
  const { origin, id } = job
  const { jobResult, revision } = await apply(trx, plan, { skip: call.skip, origin, job: id })
  await endWithResult(trx, await lockCurrent(trx, attempt), jobResult, revision)
}

async function failPlan(
  trx: Trx,
  { account_id, origin }: RunningJob,
  { plan_id }: AppliedPlan,
  problem: Problem,
): Promise<void> {
  await trx
    .updateTable('plans')
    .set({
      status: 'failed',
      ended_at: sql`statement_timestamp()`,
      error: JSON.stringify(problemBody(problem, origin.request_id)),
    })
    .where('account_id', '=', account_id)
    .where('id', '=', plan_id)
    .where('status', '=', 'scheduled')
    .execute()
}
