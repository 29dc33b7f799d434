import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { endUndone } from '../jobs/end-job.ts'
import { findJob } from '../jobs/job-info.ts'
import { undoDraft } from './publication.ts'

/** Cancels a job that has not ended and undoes what it has not published. Throws `job-ended` for one that has. */
export const cancelJob: Handler<'cancelJob'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    // The worker's chunks lock the job, too: this waits for the running one, and the next one finds the job ended.
    const job = await trx
      .selectFrom('jobs')
      .select(['account_id', 'id', 'price_list_id', 'kind', 'status', 'attempt'])
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .forUpdate()
      .executeTakeFirst()
    if (job && job.status !== 'progress')
      throw new Problem('job-ended', `The job has ended (${job.status}); nothing was changed.`)
    if (job) {
      // A job that has not begun has nothing in the draft: what is there is another job's. A file's work is one
      // transaction, which has the list and waits for the job to see whether it may commit.
      if (job.attempt >= 0 && job.kind !== 'load-file') await undoDraft(trx, job)
      await endUndone(trx, job, 'cancelled', [])
    }
    return findJob(trx, account, params.id)
  })
