import { sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from './attempt.ts'
import { deleteFile } from './file-pieces.ts'

/** Ends a job that has loaded its file: the result has the rows that there were. */
export async function endLoaded(
  trx: Trx,
  job: CurrentJob,
  result: Schemas['FeedResult'],
): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({ result: JSON.stringify(result), total: result.rows })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
  await endDone(trx, job)
  await deleteFile(trx, job)
}

/** Ends a job that has done all it had to; its result is noted already. */
export async function endDone(trx: Trx, job: CurrentJob): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({
      status: 'done',
      finished: sql`total`,
      finished_at: sql`clock_timestamp()`,
      product_ids: null,
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
}

/** Ends a job whose changes were undone; `errorCount` where there are more rows with errors than are listed. */
export async function endUndone(
  trx: Trx,
  job: CurrentJob,
  status: 'failed' | 'cancelled',
  errors: Schemas['Job']['errors'],
  errorCount = 0,
): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({
      status,
      errors: JSON.stringify(errors),
      finished_at: sql`clock_timestamp()`,
      result: null,
      row_ids: null,
      product_ids: null,
      error: errorCount,
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
  await deleteFile(trx, job)
}
