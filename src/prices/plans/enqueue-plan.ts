import type { PgBoss } from 'pg-boss'
import { Answer, type Origin, type Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob } from '../../jobs/enqueue.ts'
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
  const applied = prefersJob && { 'preference-applied': 'respond-async' }
  return new Answer(body, { ...headers, ...applied })
}
