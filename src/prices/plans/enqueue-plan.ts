import type { PgBoss } from 'pg-boss'
import { Answer, type Origin, type Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob, insertEndedJob } from '../../jobs/enqueue.ts'
import type { PriceList } from '../../price-lists/queries.ts'

/** Calls that do not list their rows, so that their plans may be large. */
export type LargeCall =
  | { operation: 'sync' }
  | ({ operation: 'revert' } & Schemas['RevertInput'])
  | ({ operation: 'reprice' } & Schemas['RepriceInput'])

/** Above this many cells or rows, a job makes the plan. */
export const plannedAtOnceMax = 100_000

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

interface Preference {
  body: { payload: unknown[] }
  origin: Origin
  prefersJob: boolean
}

/**
 * Returns the plan or, if the client prefers a job, one that has ended with it: bad rows had to be found in the call.
 */
export async function answerPlanAsPreferred(
  trx: Trx,
  { account_id: account, id: priceListId }: PriceList,
  { body: { payload }, origin, prefersJob }: Preference,
  plan: Answer<Schemas['Plan']>,
): Promise<Answer<Schemas['Plan'] | Schemas['JobInfo']>> {
  if (!prefersJob) return plan
  const job = { account, priceListId, kind: 'make-plan', total: payload.length, origin } as const
  const { body, headers } = await insertEndedJob(trx, { ...job, result: { plan_id: plan.body.id } })
  return new Answer(body, { ...headers, ...applied })
}
