import type { PgBoss } from 'pg-boss'
import { Answer, cellsAtOnceMax, type Origin, type Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob, insertEndedJob } from '../../jobs/enqueue.ts'
import type { PriceList } from '../../price-lists/queries.ts'

/** Calls that do not list their rows, so that their plans may be large. */
export type LargeCall =
  | { operation: 'sync' }
  | ({ operation: 'revert' } & Schemas['RevertInput'])
  | ({ operation: 'reprice' } & Schemas['RepriceInput'])

interface LargePlan {
  call: LargeCall
  total: number
  origin: Origin
  prefersJob: boolean
}

/** Enqueues a job that makes the plan. Returns the job. */
export async function enqueuePlan(
  trx: Trx,
  boss: PgBoss,
  { account_id: account, id: priceListId }: PriceList,
  { prefersJob, ...plan }: LargePlan,
): Promise<Answer<Schemas['JobInfo']>> {
  const job = { account, priceListId, kind: 'make-plan', ...plan } as const
  const { body, headers } = await enqueueJob(trx, boss, job)
  return new Answer(body, { ...headers, ...(prefersJob && applied) })
}

const applied = { 'preference-applied': 'respond-async' }

interface PlannedCall {
  origin: Origin
  prefersJob?: boolean
  /** The job that made the plan. */
  job?: number | undefined
}

/**
 * Returns the plan or, if it is large or the client prefers a job, a job that has ended with it: bad rows had to be
 * found in the call. A job that made the plan starts no other.
 */
export async function answerPlanOrJob(
  trx: Trx,
  { account_id: account, id: priceListId }: PriceList,
  { origin, prefersJob = false, job }: PlannedCall,
  plan: Answer<Schemas['Plan']>,
): Promise<Answer<Schemas['Plan'] | Schemas['JobInfo']>> {
  const { id, summary } = plan.body
  const total = summary.rows ?? 0
  if (job !== undefined || (!prefersJob && total <= cellsAtOnceMax)) return plan
  const ended = { account, priceListId, kind: 'make-plan', total, origin } as const
  const { body, headers } = await insertEndedJob(trx, { ...ended, result: { plan_id: id } })
  return new Answer(body, { ...headers, ...(prefersJob && applied) })
}
