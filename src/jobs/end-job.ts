import { sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from './attempt.ts'

/** Ends a job that has done all it had to; its result is noted already. */
export async function endDone(trx: Trx, job: CurrentJob): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({ status: 'done', finished: sql`total`, finished_at: new Date(), product_ids: null })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
}

/** Ends a job whose changes were undone. */
export async function endUndone(
  trx: Trx,
  job: CurrentJob,
  status: 'failed' | 'cancelled',
  errors: Schemas['Job']['errors'],
): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({
      ...{ status, errors: JSON.stringify(errors), finished_at: new Date() },
      ...{ result: null, row_ids: null, product_ids: null },
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
}
