import { sql } from 'kysely'
import { type Problem, problemBody } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'
import type { JobRow } from '../../jobs/attempt.ts'
import type { Outcome } from '../../jobs/job-row.ts'
import { inOneTransaction, type RunJob, refusable } from '../../jobs/run-job.ts'
import { rejectEnded } from '../../plans/queries.ts'
import { apply, lockPlanWithList } from './apply-plan.ts'

interface AppliedPlan {
  plan_id: number
  skip?: ('stale' | 'violations')[]
  /** Whether the plan was scheduled: then no client waits for the response. */
  is_scheduled?: boolean
}

/** Applies a plan in one transaction. If the job is refused or cancelled, the plan is open again. */
export const runApplyPlan: RunJob = refusable(
  (attempt, job) => inOneTransaction(attempt, (trx) => applyInJob(trx, job)),
  failScheduled,
)

const callOf = ({ query }: JobRow) => query as unknown as AppliedPlan

async function applyInJob(trx: Trx, job: JobRow): Promise<Outcome> {
  const { plan_id, skip } = callOf(job)
  const plan = await lockPlanWithList(trx, job.account_id, plan_id)
  rejectEnded(plan, ['scheduled'])
  const { origin, id } = job
  const { jobResult, revision } = await apply(trx, plan, { skip, origin, job: id })
  return { result: jobResult, revision }
}

/** Ends a refused plan as failed if it was scheduled: no client waits to apply it in another way. */
async function failScheduled(trx: Trx, job: JobRow, refusal: Problem): Promise<void> {
  const { account_id: account, origin } = job
  const { plan_id, is_scheduled } = callOf(job)
  if (!is_scheduled) return
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
