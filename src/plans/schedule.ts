import { sql } from 'kysely'
import { fromKysely, type JobWithMetadata, type PgBoss } from 'pg-boss'
import { withName } from '../accounts/queries.ts'
import { Answer, type Origin, type Schemas } from '../contract/operation.ts'
import type { Database, Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import { enqueueJob, retentionSeconds } from '../jobs/enqueue.ts'
import { planQueue, retryDelaySeconds } from '../jobs/queue.ts'
import { findPlan, lockDuePlan, planOf, planPath, type StoredPlan } from './queries.ts'

/** How a plan is applied later: which rows are left out, and by whose call. */
export interface PlannedApplication {
  skip?: ('stale' | 'violations')[] | undefined
  origin: Origin
}

/** What a scheduled plan stores in its `call`. */
interface ScheduledCall {
  application: PlannedApplication
  /** Whether a job to apply it has been enqueued. */
  hasJob: boolean
}

/** A scheduled plan expires this many days after its scheduled time. */
const expiryDays = 7

/** Schedules a plan for `at`, a timestamp with an offset. Returns the plan. */
export async function schedulePlan(
  trx: Trx,
  boss: PgBoss,
  { account_id: account, id }: StoredPlan,
  { at, ...application }: PlannedApplication & { at: string },
): Promise<Answer<Schemas['Plan']>> {
  // The user may be deleted before the plan is applied.
  const origin = await withName(trx, account, application.origin)
  await setScheduled(trx, account, id, {
    at,
    application: { ...application, origin },
    hasJob: false,
  })
  const queued: QueuedPlan = { account, plan: id }
  await boss.send(planQueue, queued, {
    startAfter: new Date(at),
    retentionSeconds,
    db: fromKysely(trx),
  })
  return new Answer(planOf(await findPlan(trx, account, id)), { location: planPath(id) })
}

/** Enqueues a job, which alone can apply the plan from then on. Returns the job. */
export async function enqueueApplication(
  trx: Trx,
  boss: PgBoss,
  plan: StoredPlan,
  application: PlannedApplication,
): Promise<Answer<Schemas['JobInfo']>> {
  const { account_id: account, id, price_list_id: priceListId, summary } = plan
  const at = plan.apply_at?.toISOString() ?? new Date().toISOString()
  await setScheduled(trx, account, id, { at, application, hasJob: true })
  const { rows: total = 0 } = summary as Schemas['PlanSummary']
  const { origin, skip } = application
  const job = { account, priceListId, kind: 'apply-plan', origin } as const
  return enqueueJob(trx, boss, {
    ...job,
    total,
    call: { plan_id: id, skip, is_scheduled: plan.status === 'scheduled' },
  })
}

async function setScheduled(
  trx: Trx,
  account: number,
  id: number,
  { at, ...noted }: ScheduledCall & { at: string },
): Promise<void> {
  const moment = sql<Date>`${at}::timestamptz`
  await trx
    .updateTable('plans')
    .set({
      status: 'scheduled',
      apply_at: moment,
      expires_at: sql`${moment} + make_interval(days => ${sql.lit(expiryDays)})`,
      call: sql`call || ${JSON.stringify(noted)}::jsonb`,
    })
    .where('account_id', '=', account)
    .where('id', '=', id)
    .execute()
}

/** What the queue holds until a plan is due. */
interface QueuedPlan {
  account: number
  plan: number
}

/** Plans started per poll: one at a time would start the last of 100 plans 100 seconds late. */
const plansAtOnce = 100

/** Starts enqueueing a job for each plan as it falls due, in the order of their moments. */
export async function startSchedule(boss: PgBoss, db: Database): Promise<void> {
  const options = {
    pollingIntervalSeconds: retryDelaySeconds,
    batchSize: plansAtOnce,
    burstWhenBatchFull: true,
    includeMetadata: true,
  } as const
  await boss.work(planQueue, options, async (plans: JobWithMetadata<QueuedPlan>[]) => {
    const inOrder = plans.sort((a, b) => a.startAfter.getTime() - b.startAfter.getTime())
    const failures: unknown[] = []
    for (const { data } of inOrder)
      await inAccount(db, data.account, (trx) => startPlan(trx, boss, data)).catch((error) =>
        failures.push(error),
      )
    // pg-boss retries all of them; those that have started are passed over.
    if (failures.length > 0) throw failures[0]
  })
}

async function startPlan(trx: Trx, boss: PgBoss, { account, plan: id }: QueuedPlan): Promise<void> {
  const plan = await lockDuePlan(trx, account, id)
  // It may have been discarded or postponed, or a worker may have got this far and then been killed.
  if (!plan) return
  const { application } = plan.call as unknown as ScheduledCall
  await enqueueApplication(trx, boss, plan, application)
}
