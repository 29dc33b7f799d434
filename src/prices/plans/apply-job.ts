import { sql } from 'kysely'
import { type Problem, problemBody } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import { inAccount } from '../../database/tenant-transaction.ts'
import {
  type Attempt,
  AttemptLost,
  inOneTransaction,
  type JobRow,
  lockCurrent,
} from '../../jobs/attempt.ts'
import { endWithResult } from '../../jobs/job-row.ts'
import { type RunJob, refusable } from '../../jobs/run-job.ts'
import { rejectEnded, reopenAbandoned, reopenPlan } from '../../plans/queries.ts'
import { apply, lockPlanWithList } from './apply-plan.ts'

interface AppliedPlan {
  plan_id: number
  skip?: ('stale' | 'violations')[]
  /** Whether the plan was scheduled: then nobody waits for the response. */
  is_scheduled?: boolean
}

/** Applies a plan in one transaction. If the job is cancelled, the plan is reopened. */
export const runApplyPlan: RunJob = refusable(async (attempt, job) => {
  try {
    await inOneTransaction(attempt, (trx) => applyInJob(trx, attempt, job))
  } catch (error) {
    if (error instanceof AttemptLost)
      await inAccount(attempt.db, attempt.account, (trx) =>
        reopenAbandoned(trx, job.account_id, callOf(job).plan_id),
      )
    throw error
  }
}, endRefusedPlan)

const callOf = ({ query }: JobRow) => query as unknown as AppliedPlan

async function applyInJob(trx: Trx, attempt: Attempt, job: JobRow): Promise<void> {
  const { plan_id, skip } = callOf(job)
  const plan = await lockPlanWithList(trx, job.account_id, plan_id)
  rejectEnded(plan, ['scheduled'])
  const { origin, id } = job
  const { jobResult, revision } = await apply(trx, plan, { skip, origin, job: id })
  await endWithResult(trx, await lockCurrent(trx, attempt), jobResult, revision)
}

/** Reopens a refused plan, so that it can be applied in another way; a scheduled one fails. */
async function endRefusedPlan(trx: Trx, job: JobRow, refusal: Problem): Promise<void> {
  const { account_id: account, origin } = job
  const { plan_id, is_scheduled } = callOf(job)
  if (!is_scheduled) return reopenPlan(trx, account, plan_id)
  await trx
    .updateTable('plans')
    .set({
      status: 'failed',
      ended_at: sql`statement_timestamp()`,
      error: JSON.stringify(problemBody(refusal, origin.request_id)),
    })
    .where('account_id', '=', account)
    .where('id', '=', plan_id)
    .where('status', '=', 'scheduled')
    .execute()
}
