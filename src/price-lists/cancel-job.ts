import { transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { findJob } from '../jobs/job-info.ts'
import { endUndone } from '../jobs/job-row.ts'
import { undoDraft } from './publication.ts'

/** Jobs that write a draft in chunks. */
const drafting = new Set(['add-products', 'remove-products', 'sync-with-catalog'])

/** Cancels a job and undoes what it has not published. Throws `job-ended` for a job that has ended. */
export const cancelJob = transaction<'cancelJob'>(async (trx, { account, params }) => {
  // The worker locks the job for each chunk: this waits for the running chunk, and the next one finds the job
  // cancelled.
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
    // A job that has not begun has no draft; any draft belongs to another job. Other kinds run in one transaction,
    // which may hold the list's lock and waits for the job's row before it commits.
    if (job.attempt >= 0 && drafting.has(job.kind)) await undoDraft(trx, job)
    await endUndone(trx, job, 'cancelled', [])
  }
  return findJob(trx, account, params.id)
})
