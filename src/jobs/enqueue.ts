import { sql } from 'kysely'
import { fromKysely, type PgBoss } from 'pg-boss'
import { Answer, type OperationId, type Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { jobInfo } from './job-info.ts'
import { lockTurns } from './list-order.ts'
import { rejectManyJobs } from './many-jobs.ts'
import { findPlace } from './place.ts'
import { fileQueue, listQueue, type Turn } from './queue.ts'

export type JobKind = Schemas['JobKind']

export interface NewJob {
  account: number
  /** null: a file that is for no list. */
  priceListId: number | null
  kind: JobKind
  /** How many products it will handle, or lines a file has. */
  total: number
  /** The products to add, in payload order, as the text of a Postgres array. */
  productIds?: string
  file?: JobFile
}

/** A stored file, and what is to be done with it. */
export interface JobFile {
  id: string
  operation: OperationId
  mediaType: string
  query: object
}

/** A turn is there as long as its job: pg-boss would delete one that has waited for 14 days, in a dump or while all was off. */
const retentionSeconds = 50 * 365 * 86_400

/**
 * Accepts a job: its row and its place in the queue are there when the transaction commits. Answers the job; throws
 * `too-many-requests`.
 */
export async function enqueueJob(
  trx: Trx,
  boss: PgBoss,
  job: NewJob,
): Promise<Answer<Schemas['JobInfo']>> {
  const { account, priceListId } = job
  if (job.kind !== 'load-file') await rejectManyJobs(trx, account)
  const turn: Turn = { account, priceListId }
  await lockTurns(trx, account, priceListId)
  const place = await findPlace(trx, queueOf(turn), turn)
  const row = await trx
    .insertInto('jobs')
    .values({
      account_id: account,
      price_list_id: priceListId,
      kind: job.kind,
      total: job.total,
      product_ids: sql`${job.productIds ?? null}::bigint[]`,
      file_id: job.file?.id ?? null,
      operation: job.file?.operation ?? null,
      media_type: job.file?.mediaType ?? null,
      query: job.file ? JSON.stringify(job.file.query) : null,
      place,
      // The transaction began with a file, which may have taken an hour to arrive.
      created_at: sql`clock_timestamp()`,
    })
    .returning(['id', 'status', 'total', 'finished', 'error', 'kind'])
    .executeTakeFirstOrThrow()
  await boss.send(queueOf(turn), turn, {
    ...{ singletonKey: keyOf(turn), priority: -place, retentionSeconds },
    db: fromKysely(trx),
  })
  return new Answer(jobInfo(row), { location: `/api/v1/jobs/${row.id}/` })
}

function queueOf({ priceListId }: Turn): string {
  return priceListId === null ? fileQueue : listQueue
}

function keyOf({ account, priceListId }: Turn): string {
  return priceListId === null ? String(account) : `${account}:${priceListId}`
}
