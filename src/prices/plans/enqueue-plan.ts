import type { PgBoss } from 'pg-boss'
import { Answer, type Origin, type Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob, insertEndedJob } from '../../jobs/enqueue.ts'
import type { PriceList } from '../../price-lists/queries.ts'

/** The calls whose plan may be large before their rows are counted. */
export type LargeCall =
  | { operation: 'sync' }
  | ({ operation: 'revert' } & Schemas['RevertInput'])
  | ({ operation: 'reprice' } & Schemas['RepriceInput'])

/** Above so many cells or rows a job makes the plan. */
export const plannedAtOnceMax = 100_000

interface LargePlan {
  call: LargeCall
  total: number
  origin: Origin
  /** Whether the client prefers a job. */
  prefersJob: boolean
}

/** Has a job of the list make a plan. Answers the job. */
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

/** Answers a plan of rows; as a job that has ended if the client prefers one. Bad rows had to be found in the call. */
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
