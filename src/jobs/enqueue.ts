import type { PgBoss } from 'pg-boss'
import { fromKysely } from 'pg-boss'
import { Answer, type Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { listQueue, type QueuedJob } from './queue.ts'
import { jobInfo } from './read-job.ts'

export type JobKind = 'add-products'

export interface NewJob {
  account: number
  priceListId: number
  kind: JobKind
  /** How many products it will handle. */
  total: number
  /** The products to add, in payload order. */
  productIds?: number[]
}

/** Accepts a job: its row and its place in the queue are there when the transaction commits. Answers the job. */
export async function enqueueJob(
  trx: Trx,
  boss: PgBoss,
  job: NewJob,
): Promise<Answer<Schemas['JobInfo']>> {
  const row = await trx
    .insertInto('jobs')
    .values({
      account_id: job.account,
      price_list_id: job.priceListId,
      kind: job.kind,
      total: job.total,
      product_ids: job.productIds ?? null,
    })
    .returning(['id', 'status', 'total', 'finished', 'error'])
    .executeTakeFirstOrThrow()
  const queued: QueuedJob = { account: job.account, job: row.id }
  const singletonKey = `${job.account}:${job.priceListId}`
  await boss.send(listQueue, queued, { singletonKey, db: fromKysely(trx) })
  return new Answer(jobInfo(row), { location: `/api/v1/jobs/${row.id}/` })
}
