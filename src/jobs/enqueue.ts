import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { fromKysely } from 'pg-boss'
import { Answer, type Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { jobInfo } from './job-info.ts'
import { type ListTurn, listQueue } from './queue.ts'

export type JobKind = 'add-products' | 'sync-with-catalog'

export interface NewJob {
  account: number
  priceListId: number
  kind: JobKind
  /** How many products it will handle. */
  total: number
  /** The products to add, in payload order, as the text of a Postgres array. */
  productIds?: string
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
      product_ids: sql`${job.productIds ?? null}::bigint[]`,
    })
    .returning(['id', 'status', 'total', 'finished', 'error'])
    .executeTakeFirstOrThrow()
  const turn: ListTurn = { account: job.account, priceListId: job.priceListId }
  const singletonKey = `${job.account}:${job.priceListId}`
  await boss.send(listQueue, turn, { singletonKey, db: fromKysely(trx) })
  return new Answer(jobInfo(row), { location: `/api/v1/jobs/${row.id}/` })
}
